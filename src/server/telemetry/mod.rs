//! What the console tells of itself: numbers for Prometheus, log lines, and a name for every request.

mod acts;
mod counts;
mod findings;
mod locks;
pub mod logs;
mod nodes;
mod page;
mod process;
mod requests;
mod times;
pub mod traces;

use crate::domain::{Checkup, GroupView, Timestamp};
use crate::otel;
use crate::server::index::Index;
pub use acts::Acts;
pub use counts::Counts;
pub use page::{CONTENT_TYPE, Page};
pub use requests::Requests;

/// What is counted while the console runs. Where every act passes, counting is one atomic number.
pub struct Telemetry {
    /// The acts, by what came of them.
    pub acts: Acts,
    /// The requests, by how long they took.
    pub requests: Requests,
    started_at: Timestamp,
}

/// What the page says besides what is counted here.
pub struct Now<'a> {
    /// The groups with the health of their nodes.
    pub groups: &'a [GroupView],
    /// What is observed.
    pub index: &'a Index,
    /// What the doctor said last, where he was asked.
    pub checkups: &'a [Checkup],
    /// How many locks this console renews for others.
    pub kept: usize,
    /// How many requests of each kind it has taken on: `requests`, `waiting`, `streams`.
    pub taken: &'a [(&'static str, u32)],
}

impl Telemetry {
    /// Nothing was counted yet.
    pub fn new<'a>(groups: impl Iterator<Item = &'a str>, started_at: Timestamp) -> Self {
        Self {
            acts: Acts::of(groups),
            requests: Requests::default(),
            started_at,
        }
    }

    /// Everything there is to say, for Prometheus. No label names a lock or an owner: each is one of a few.
    pub fn page(&self, now: &Now<'_>) -> Page {
        let mut page = Page::default();
        let at = now.index.now();
        page.gauge("lockkeeper_build_info", "The version that runs; always 1.")
            .add(&[("version", env!("CARGO_PKG_VERSION"))], 1);
        locks::write(&mut page, now, at);
        nodes::write(&mut page, now.groups, at);
        findings::write(&mut page, now.checkups, at);
        self.acts.write(&mut page, now.groups);
        self.requests.write(&mut page);
        let mut taken = page.gauge(
            "lockkeeper_requests_in_progress",
            "What the limits count right now: API requests, acquires that wait for their lock, open event streams.",
        );
        for (kind, n) in now.taken {
            taken.add(&[("kind", kind)], n);
        }
        page.gauge(
            "lockkeeper_kept_locks",
            "Locks that this console renews for their owners (auto_renew).",
        )
        .add(&[], now.kept);
        otel::write(&mut page);
        process::write(&mut page, self.started_at);
        page
    }
}
