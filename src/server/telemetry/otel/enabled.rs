//! The tracer provider of the process: which spans are exported, the service name, and sampling.
//! For settings that are absent from the configuration, the SDK reads the environment (`OTEL_…`).

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

/// The timeout for exporting the last spans at shutdown: a hanging collector must not delay a
/// restart.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// The tracer provider with its exporter; [`Self::shutdown`] flushes it.
pub struct TraceExporter(SdkTracerProvider);

impl TraceExporter {
    /// Starts the export of spans.
    ///
    /// # Errors
    /// An invalid collector URL in the environment.
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
            let root = Sampler::TraceIdRatioBased(ratio);
            provider = provider.with_sampler(Sampler::ParentBased(Box::new(root)));
        }
        Ok(Self(provider.build()))
    }

    /// The layer that passes spans of `tracing` to the tracer. Only spans of this crate are passed,
    /// because those of libraries may contain names of locks. Events go to the log only.
    pub fn layer(&self) -> BoxedLayer {
        let scope = InstrumentationScope::builder("lockkeeper")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        let is_own_span = |metadata: &Metadata<'_>| {
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
            .with_filter(FilterFn::new(is_own_span).with_max_level_hint(LevelFilter::INFO))
            .boxed()
    }

    /// Stops the provider and exports the remaining spans, for at most [`SHUTDOWN_TIMEOUT`].
    pub async fn shutdown(self) {
        let shutdown = move || self.0.shutdown_with_timeout(SHUTDOWN_TIMEOUT);
        if !matches!(tokio::task::spawn_blocking(shutdown).await, Ok(Ok(()))) {
            tracing::warn!("the last traces were not exported in time");
        }
    }
}

/// Sets the caller's span (`traceparent`) as the parent of a request's span, which must not have
/// been entered yet.
pub fn set_parent(span: &Span, headers: &HeaderMap) {
    let parent =
        TraceContextPropagator::new().extract_with_context(&Context::new(), &TraceParent(headers));
    // It fails only for a span that was entered or is disabled.
    let _set_or_disabled = span.set_parent(parent);
}

/// Reads `traceparent` only. `tracestate` is free text of the caller, and the console calls no
/// service to propagate it to.
struct TraceParent<'a>(&'a HeaderMap);

impl Extractor for TraceParent<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let value = (key == "traceparent").then(|| self.0.get(key))?;
        value?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent"]
    }
}

/// Renames the current span.
pub fn rename_current_span(name: String) {
    Context::map_current(|context| context.span().update_name(name));
}

/// The ids of the current trace and span in hexadecimal, for log lines.
pub fn current_trace_ids() -> Option<(String, String)> {
    Context::map_current(|context| {
        let span = context.span();
        let ids = span.span_context();
        ids.is_valid()
            .then(|| (ids.trace_id().to_string(), ids.span_id().to_string()))
    })
}
