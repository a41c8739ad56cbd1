//! The one tracer of the process: which spans it takes, what it is called, and how spans are sampled. What the configuration leaves open,
//! the SDK reads from the environment (`OTEL_…`).

use std::time::Duration;

use http::HeaderMap;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{TraceContextExt as _, TracerProvider as _};
use opentelemetry::{Context, InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tracing::{Level, Metadata, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{FilterFn, LevelFilter};

use super::{BoxedLayer, export};
use crate::server::config::OtlpConfig;

/// How long sending the last spans may take when the console stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// The tracer and its exporter, until it is ended.
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Begins to send spans to the collector.
    ///
    /// # Errors
    /// What is wrong with the collector's address, in the environment.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(config: &OtlpConfig) -> Result<Self, String> {
        let resource = Resource::builder()
            .with_service_name(config.service_name.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let mut provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_span_processor(export::processor(config)?);
        if let Some(ratio) = config.sample_ratio {
            let own = Sampler::TraceIdRatioBased(ratio);
            provider = provider.with_sampler(Sampler::ParentBased(Box::new(own)));
        }
        Ok(Self(provider.build()))
    }

    /// Where `tracing` hands its spans to. Only our own: no library decides what a collector is told. Events are for the log.
    pub fn layer(&self) -> BoxedLayer {
        let scope = InstrumentationScope::builder("lockkeeper")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        let is_ours = |metadata: &Metadata<'_>| {
            metadata.is_span()
                && *metadata.level() <= Level::INFO
                && metadata.target().starts_with("lockkeeper")
        };
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer_with_scope(scope))
            .with_location(false)
            .with_threads(false)
            .with_level(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(FilterFn::new(is_ours).with_max_level_hint(LevelFilter::INFO))
            .boxed()
    }

    /// Takes no spans any more and sends what is left, for a moment.
    pub async fn end(self) {
        let sending = move || self.0.shutdown_with_timeout(SHUTDOWN_TIMEOUT);
        if !matches!(tokio::task::spawn_blocking(sending).await, Ok(Ok(()))) {
            tracing::warn!("the collector did not take the last traces in time");
        }
    }
}

/// Makes a request's span, which has not begun yet, a part of the caller's trace (`traceparent`).
pub fn set_parent(span: &Span, headers: &HeaderMap) {
    let above =
        TraceContextPropagator::new().extract_with_context(&Context::new(), &TraceParent(headers));
    // It has not begun, so it can be set.
    let _set_or_disabled = span.set_parent(above);
}

/// What else the caller's vendor says (`tracestate`) is not taken over: it could be anything, and there is nobody to hand it on to.
struct TraceParent<'a>(&'a HeaderMap);

impl Extractor for TraceParent<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let sent = (key == "traceparent").then(|| self.0.get(key))?;
        sent?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent"]
    }
}

/// Calls the current span something better.
pub fn name_current(name: String) {
    Context::map_current(|context| context.span().update_name(name));
}

/// The ids of the current trace and span, as they are written everywhere, for lines of the log.
pub fn trace_of_now() -> Option<(String, String)> {
    Context::map_current(|context| {
        let span = context.span();
        let ids = span.span_context();
        ids.is_valid()
            .then(|| (ids.trace_id().to_string(), ids.span_id().to_string()))
    })
}
