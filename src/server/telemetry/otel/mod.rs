//! OpenTelemetry: hands the spans on to a collector, in a build with the feature `otel`.

#[cfg(not(feature = "otel"))]
mod disabled;
#[cfg(feature = "otel")]
mod enabled;
#[cfg(feature = "otel")]
mod export;

#[cfg(not(feature = "otel"))]
pub use disabled::{Traces, collectors, name_current, set_parent, trace_of_now};
#[cfg(feature = "otel")]
pub use enabled::{Traces, name_current, set_parent, trace_of_now};
#[cfg(feature = "otel")]
pub use export::collectors;

use tracing_subscriber::{Layer, Registry};

/// What the logger and the tracer are to `tracing`.
pub type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;
