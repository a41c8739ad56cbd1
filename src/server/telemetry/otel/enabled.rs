//! The tracer provider of the process: which spans are exported, the service name, and sampling. The SDK reads what the configuration
//! does not set from the environment (`OTEL_…`).

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

/// How long exporting the last spans may take when the console stops: a collector that hangs must not delay a restart.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// The tracer provider with its exporter; [`Traces::end`] flushes it.
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

    /// The layer that passes spans of `tracing` to the tracer. Only spans of this crate: those of libraries may contain names of locks.
    /// Events go to the log only.
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

    /// Stops the provider and exports the remaining spans, for at most [`SHUTDOWN_TIMEOUT`].
    pub async fn end(self) {
        let sending = move || self.0.shutdown_with_timeout(SHUTDOWN_TIMEOUT);
        if !matches!(tokio::task::spawn_blocking(sending).await, Ok(Ok(()))) {
            tracing::warn!("the collector did not take the last traces in time");
        }
    }
}

/// Sets the caller's span (`traceparent`) as the parent of a request's span, which must not have been entered yet.
pub fn set_parent(span: &Span, headers: &HeaderMap) {
    let above =
        TraceContextPropagator::new().extract_with_context(&Context::new(), &TraceParent(headers));
    // It fails only for a span that was entered or is disabled.
    let _set_or_disabled = span.set_parent(above);
}

/// Reads `traceparent` only. `tracestate` is ignored: it is free text of the caller, and the console calls nobody it could be passed to.
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

/// Renames the current span.
pub fn name_current(name: String) {
    Context::map_current(|context| context.span().update_name(name));
}

/// The ids of the current trace and span in hexadecimal, for log lines.
pub fn trace_of_now() -> Option<(String, String)> {
    Context::map_current(|context| {
        let span = context.span();
        let ids = span.span_context();
        ids.is_valid()
            .then(|| (ids.trace_id().to_string(), ids.span_id().to_string()))
    })
}
