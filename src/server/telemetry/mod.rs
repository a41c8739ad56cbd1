//! Metrics for Prometheus, logs, and traces of requests and operations.
//!
//! Counters live in a registry for the lifetime of the console. Observed state is read at each
//! scrape into a registry for that scrape, because the caller may be permitted to see only some
//! groups and a permanently registered collector does not know the caller.

mod findings;
mod locks;
pub mod logs;
mod nodes;
mod operations;
pub mod otel;
mod process;
mod requests;
mod scrape;
pub mod traces;

use prometheus::core::Collector;
use prometheus::{Registry, TextEncoder};

use crate::domain::{GroupDiagnosis, GroupView, Timestamp};
use crate::server::index::Index;
pub use operations::OperationMetrics;
pub use requests::RequestMetrics;
use scrape::Scrape;

/// The content type of the Prometheus text format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The counters of the console.
pub struct Telemetry {
    /// Operations by result.
    pub operations: OperationMetrics,
    /// Requests by route, status and duration.
    pub requests: RequestMetrics,
    counters: Registry,
    started_at: Timestamp,
}

/// The state that a scrape reports besides the counters.
pub struct ScrapeContext<'a> {
    /// The groups that the caller may see, with the health of their nodes.
    pub groups: &'a [GroupView],
    /// The index of observed locks.
    pub index: &'a Index,
    /// The last results of the doctor; empty before its first run.
    pub checkups: &'a [GroupDiagnosis],
    /// The number of locks that this console renews for clients.
    pub auto_renewed_locks: usize,
    /// The sequence number of the last audit entry, if known.
    pub audit_head: Option<u64>,
    /// The number of requests in flight by kind: `requests`, `waiting`, `streams`.
    pub requests_in_flight: &'a [(&'static str, u32)],
}

impl Telemetry {
    /// Creates the counters.
    pub fn new<'a>(groups: impl Iterator<Item = &'a str>, started_at: Timestamp) -> Self {
        let telemetry = Self {
            operations: OperationMetrics::new(groups),
            requests: RequestMetrics::default(),
            counters: Registry::new(),
            started_at,
        };
        telemetry.register([telemetry.operations.collector()]);
        telemetry.register(telemetry.requests.collectors());
        telemetry.register(otel::collectors());
        telemetry
    }

    /// Registers further collectors.
    ///
    /// # Panics
    /// If a metric with the same name is registered.
    pub fn register(&self, collectors: impl IntoIterator<Item = Box<dyn Collector>>) {
        for collector in collectors {
            let registered = self.counters.register(collector);
            registered.expect("metric names are unique");
        }
    }

    /// Renders all metrics in the Prometheus text format. Labels never contain names of locks or
    /// owners, which would be unbounded.
    pub fn render(&self, context: &ScrapeContext<'_>) -> String {
        let now = context.index.now();
        let scrape = Scrape::default();
        scrape
            .gauges(
                "lockkeeper_build_info",
                "Version of the running binary; always 1.",
                &["version"],
            )
            .with_label_values(&[env!("CARGO_PKG_VERSION")])
            .set(1.0);
        locks::record(&scrape, context, now);
        nodes::record(&scrape, context.groups);
        findings::record(&scrape, context.checkups);
        let in_flight = scrape.gauges(
            "lockkeeper_requests_in_flight",
            "Requests in flight as counted by the limits: API requests, queued acquires, open event streams.",
            &["kind"],
        );
        for (kind, n) in context.requests_in_flight {
            in_flight.with_label_values(&[kind]).set(f64::from(*n));
        }
        scrape.gauge(
            "lockkeeper_auto_renewed_locks",
            "Locks that this console renews for their owners (auto_renew).",
            context.auto_renewed_locks as f64,
        );
        if let Some(number) = context.audit_head {
            scrape.gauge(
                "lockkeeper_audit_head_sequence",
                "Sequence number of the last audit entry that this console wrote or read. It decreases only if entries were removed from the end.",
                number as f64,
            );
        }
        process::record(&scrape, self.started_at);
        let counters = operations::retain_groups(self.counters.gather(), context.groups);
        let families = [scrape.gather(), counters].concat();
        let text = TextEncoder::new().encode_to_string(&families);
        text.expect("gathered metric families have a name and samples")
    }
}
