//! How many requests there were by route and status, and how long they took.

use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts};

/// The upper ends of the ranges, in seconds: an act on nodes next door takes half a millisecond, one that waits takes minutes.
const BOUNDS: [f64; 14] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

/// The requests of every route.
pub struct Requests {
    all: IntCounterVec,
    times: HistogramVec,
}

impl Default for Requests {
    fn default() -> Self {
        let all = Opts::new(
            "lockkeeper_http_requests_total",
            "Requests that were answered, by route and status.",
        );
        let times = HistogramOpts::new(
            "lockkeeper_http_request_duration_seconds",
            "From a request's head to its answer's head; an acquire that waits is waited for.",
        );
        let (all, times) = (
            IntCounterVec::new(all, &["route", "status"]),
            HistogramVec::new(times.buckets(BOUNDS.to_vec()), &["route"]),
        );
        Self {
            all: all.expect("name and labels are constants"),
            times: times.expect("name, labels and buckets are constants"),
        }
    }
}

impl Requests {
    /// A request to the route with this pattern (`/api/v1/groups/{group}/locks/{key}`) was answered. Patterns come from the router, so
    /// they are few.
    pub fn add(&self, pattern: &str, status: u16, took: Duration) {
        self.all
            .with_label_values(&[pattern, &status.to_string()])
            .inc();
        self.times
            .with_label_values(&[pattern])
            .observe(took.as_secs_f64());
    }

    /// For the registry.
    pub(super) fn collectors(&self) -> [Box<dyn Collector>; 2] {
        [Box::new(self.all.clone()), Box::new(self.times.clone())]
    }
}
