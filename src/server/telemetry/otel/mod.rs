//! OpenTelemetry: exports spans to a collector, in builds with the feature `otel`.

#[cfg(not(feature = "otel"))]
mod disabled;
#[cfg(feature = "otel")]
mod enabled;
#[cfg(feature = "otel")]
mod export;

#[cfg(not(feature = "otel"))]
pub use disabled::{TraceExporter, collectors, current_trace_ids, rename_current_span, set_parent};
#[cfg(feature = "otel")]
pub use enabled::{TraceExporter, current_trace_ids, rename_current_span, set_parent};
#[cfg(feature = "otel")]
pub use export::collectors;

use tracing_subscriber::{Layer, Registry};

/// A layer of the `tracing` subscriber: the logger or the tracer.
pub type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;
