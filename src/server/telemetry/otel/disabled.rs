//! A build without the feature `otel`: no spans are exported, and a configured collector is an
//! error.

use http::HeaderMap;
use prometheus::core::Collector;
use tracing::Span;

use super::BoxedLayer;
use crate::server::config::OtlpConfig;

/// Cannot be constructed in this build.
pub enum TraceExporter {}

impl TraceExporter {
    /// Always fails.
    pub fn start(_: &OtlpConfig) -> Result<Self, String> {
        Err(
            "this build of lockkeeper does not support OpenTelemetry (cargo feature `otel`)"
                .to_owned(),
        )
    }

    /// Cannot be called.
    pub fn layer(&self) -> BoxedLayer {
        match *self {}
    }

    /// Cannot be called.
    pub async fn shutdown(self) {
        match self {}
    }
}

/// No collectors.
pub fn collectors() -> Vec<Box<dyn Collector>> {
    Vec::new()
}

/// Does nothing.
pub fn set_parent(_: &Span, _: &HeaderMap) {}

/// Does nothing.
pub fn rename_current_span(_: String) {}

/// No trace.
pub fn current_trace_ids() -> Option<(String, String)> {
    None
}
