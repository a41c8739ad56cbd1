//! Counts HTTP requests by route and status, and measures their duration.

use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts};

/// The upper bounds of the histogram buckets, in seconds: an operation on nearby nodes takes half a
/// millisecond, a queued acquire takes minutes.
const DURATION_BUCKETS: [f64; 14] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

/// The metrics of HTTP requests.
pub struct RequestMetrics {
    responses: IntCounterVec,
    durations: HistogramVec,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        let responses = Opts::new(
            "lockkeeper_http_requests_total",
            "HTTP responses by route and status.",
        );
        let durations = HistogramOpts::new(
            "lockkeeper_http_request_duration_seconds",
            "Time from request head to response head, including the time that an acquire waits for its lock.",
        );
        let (responses, durations) = (
            IntCounterVec::new(responses, &["route", "status"]),
            HistogramVec::new(durations.buckets(DURATION_BUCKETS.to_vec()), &["route"]),
        );
        Self {
            responses: responses.expect("name and labels are constants"),
            durations: durations.expect("name, labels and buckets are constants"),
        }
    }
}

impl RequestMetrics {
    /// Records a response. `pattern` is the route of the router
    /// (`/api/v1/groups/{group}/locks/{key}`), not the path, so the number of labels is bounded.
    pub fn record(&self, pattern: &str, status: u16, took: Duration) {
        self.responses
            .with_label_values(&[pattern, &status.to_string()])
            .inc();
        self.durations
            .with_label_values(&[pattern])
            .observe(took.as_secs_f64());
    }

    /// The collectors, for the registry.
    pub(super) fn collectors(&self) -> [Box<dyn Collector>; 2] {
        [
            Box::new(self.responses.clone()),
            Box::new(self.durations.clone()),
        ]
    }
}
