//! A build without the feature `otel`: no spans are exported, and a configured collector is an error.

use http::HeaderMap;
use prometheus::core::Collector;
use tracing::Span;

use super::BoxedLayer;
use crate::server::config::OtlpConfig;

/// Cannot be constructed in this build.
pub enum Traces {}

impl Traces {
    /// Always fails.
    pub fn start(_: &OtlpConfig) -> Result<Self, String> {
        Err("this lockkeeper was built without OpenTelemetry".to_owned())
    }

    /// There is none.
    pub fn layer(&self) -> BoxedLayer {
        match *self {}
    }

    /// There is nothing to end.
    pub async fn end(self) {
        match self {}
    }
}

/// No metrics.
pub fn collectors() -> Vec<Box<dyn Collector>> {
    Vec::new()
}

/// Does nothing.
pub fn set_parent(_: &Span, _: &HeaderMap) {}

/// Does nothing.
pub fn name_current(_: String) {}

/// No trace.
pub fn trace_of_now() -> Option<(String, String)> {
    None
}
