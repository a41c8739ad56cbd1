//! What the console reports about itself: metrics for Prometheus, log lines, and spans of requests and acts.
//!
//! Counters live as long as the console, in a registry of its own. What is observed is read when Prometheus asks, into a registry made for
//! that one scrape: the caller may be allowed to see some groups only, which a collector that is registered once could not know.

mod acts;
mod findings;
mod locks;
pub mod logs;
mod nodes;
pub mod otel;
mod process;
mod requests;
mod scrape;
pub mod traces;

use prometheus::core::Collector;
use prometheus::{Registry, TextEncoder};

use crate::domain::{Checkup, GroupView, Timestamp};
use crate::server::index::Index;
pub use acts::Acts;
pub use requests::Requests;
use scrape::Scrape;

/// What a scrape is, for the header.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is counted while the console runs.
pub struct Telemetry {
    /// The acts, by what came of them.
    pub acts: Acts,
    /// The requests, by how long they took.
    pub requests: Requests,
    counters: Registry,
    started_at: Timestamp,
}

/// What a scrape says besides what is counted.
pub struct Now<'a> {
    /// The groups with the health of their nodes: those that the caller may see.
    pub groups: &'a [GroupView],
    /// What is observed.
    pub index: &'a Index,
    /// What the doctor said last, where he was asked.
    pub checkups: &'a [Checkup],
    /// How many locks this console renews for others.
    pub kept: usize,
    /// The sequence number of the audit's last entry, where it is known.
    pub audit_head: Option<u64>,
    /// How many requests of each kind it has taken on: `requests`, `waiting`, `streams`.
    pub taken: &'a [(&'static str, u32)],
}

impl Telemetry {
    /// Nothing was counted yet.
    pub fn new<'a>(groups: impl Iterator<Item = &'a str>, started_at: Timestamp) -> Self {
        let telemetry = Self {
            acts: Acts::of(groups),
            requests: Requests::default(),
            counters: Registry::new(),
            started_at,
        };
        telemetry.register([telemetry.acts.collector()]);
        telemetry.register(telemetry.requests.collectors());
        telemetry.register(otel::collectors());
        telemetry
    }

    /// Tells of these too from now on.
    ///
    /// # Panics
    /// If there is a metric of that name.
    pub fn register(&self, collectors: impl IntoIterator<Item = Box<dyn Collector>>) {
        for collector in collectors {
            let registered = self.counters.register(collector);
            registered.expect("every metric has a name of its own");
        }
    }

    /// Everything there is to say, for Prometheus. No label names a lock or an owner: each is one of a few.
    pub fn text(&self, now: &Now<'_>) -> String {
        let at = now.index.now();
        let scrape = Scrape::default();
        scrape
            .gauges(
                "lockkeeper_build_info",
                "The version that runs; always 1.",
                &["version"],
            )
            .with_label_values(&[env!("CARGO_PKG_VERSION")])
            .set(1.0);
        locks::read(&scrape, now, at);
        nodes::read(&scrape, now.groups, at);
        findings::read(&scrape, now.checkups, at);
        let taken = scrape.gauges(
            "lockkeeper_requests_in_progress",
            "What the limits count right now: API requests, acquires that wait for their lock, open event streams.",
            &["kind"],
        );
        for (kind, n) in now.taken {
            taken.with_label_values(&[kind]).set(f64::from(*n));
        }
        scrape.gauge(
            "lockkeeper_kept_locks",
            "Locks that this console renews for their owners (auto_renew).",
            now.kept as f64,
        );
        if let Some(number) = now.audit_head {
            scrape.gauge(
                "lockkeeper_audit_head_sequence",
                "The sequence number of the audit's last entry, as this console wrote or read it last. It falls only where entries were cut off.",
                number as f64,
            );
        }
        process::read(&scrape, self.started_at);
        let counted = acts::of_groups(self.counters.gather(), now.groups);
        let families = [scrape.gather(), counted].concat();
        let text = TextEncoder::new().encode_to_string(&families);
        text.expect("a family that was gathered has a name and samples")
    }
}
