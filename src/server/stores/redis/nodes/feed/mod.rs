//! The change feed of a node: notifications of writes, received on a connection of its own. It uses
//! client tracking, else keyspace notifications if they are already enabled, else none, and then
//! keys are polled. The console never changes a server's configuration.

mod connection_loop;
mod group;
mod key_filter;
mod missing_permissions;
mod overload;
mod paced_stream;
mod permission_probe;
mod prefixes;
mod session;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

pub use crate::server::stores::change_buffer::{ChangeBuffer, WriteCounts};
pub use key_filter::{KeyClass, KeyFilter};
pub use prefixes::{from_patterns as prefixes_of, learn_prefixes};

use super::write_marks::WriteMarks;
use crate::domain::reason::Reason;
use crate::domain::{FeedLevel, MissingPermission};
use crate::server::clock::MonotonicTime;
use crate::server::stores::FeedCoverage;

/// The change feed of one node.
pub struct Feed {
    /// Where changes are collected; shared by the nodes of a group.
    changes: Arc<ChangeBuffer>,
    /// The node's index in the configuration.
    node_index: usize,
    /// Writes and own reads that the access detector must not count as contention.
    pub(super) write_marks: WriteMarks,
    is_running: AtomicBool,
    state: Mutex<FeedState>,
    /// How many gaps were found, and whether the first attempt to start the feed has completed.
    gaps: watch::Sender<Gaps>,
}

#[derive(Clone, Copy, Default)]
struct Gaps {
    count: u64,
    is_settled: bool,
}

/// The current state of a feed.
#[derive(Clone)]
pub struct FeedState {
    /// How changes are detected.
    pub level: FeedLevel,
    /// What the feed covers, or why no better level is available.
    pub reason: Option<Reason>,
    /// Which keys the feed covers.
    pub coverage: FeedCoverage,
    /// Since when no change can have been missed.
    pub complete_since: MonotonicTime,
    /// Permissions that the node's user lacks.
    pub missing_permissions: Vec<MissingPermission>,
    /// Whether the feed covers the prefixes of known locks only, or will if the server goes on
    /// writing as much.
    pub needs_prefixes: bool,
}

impl Feed {
    /// Creates a feed that is not running.
    pub(super) fn new(changes: Arc<ChangeBuffer>, node_index: usize) -> Self {
        Self {
            changes,
            node_index,
            write_marks: WriteMarks::default(),
            is_running: AtomicBool::new(false),
            state: Mutex::new(FeedState {
                level: FeedLevel::Poll,
                reason: None,
                coverage: FeedCoverage::Nothing,
                complete_since: MonotonicTime::default(),
                missing_permissions: Vec::new(),
                needs_prefixes: false,
            }),
            gaps: watch::Sender::new(Gaps::default()),
        }
    }

    /// The current state of the feed.
    pub fn state(&self) -> FeedState {
        self.lock_state().clone()
    }

    /// Records that changes before `now` may have been missed. All keys are read again, and the
    /// node is scanned once more.
    pub(super) fn record_gap(&self, now: MonotonicTime) {
        self.lock_state().complete_since = now;
        self.write_marks.mark_all();
        self.gaps.send_modify(|gaps| gaps.count += 1);
        self.changes.request_full_resync();
    }

    /// Waits until the first attempt to start the feed has succeeded or failed. Returns immediately
    /// if the feed is not running.
    pub(super) async fn wait_until_settled(&self, limit: Duration) {
        if self.is_running.load(Ordering::Relaxed) {
            let mut gaps = self.gaps.subscribe();
            let _late = tokio::time::timeout(limit, gaps.wait_for(|gaps| gaps.is_settled)).await;
        }
    }

    /// Subscribes to gaps.
    pub(super) fn gap_receiver(&self) -> GapReceiver {
        GapReceiver(self.gaps.subscribe())
    }

    fn mark_settled(&self) {
        self.gaps.send_if_modified(|gaps| {
            let was_settled = std::mem::replace(&mut gaps.is_settled, true);
            !was_settled
        });
    }

    fn lock_state(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock()
    }
}

/// Receives gaps.
pub(super) struct GapReceiver(watch::Receiver<Gaps>);

impl GapReceiver {
    /// Marks all gaps so far as handled.
    pub(super) fn mark_seen(&mut self) {
        self.0.mark_unchanged();
    }

    /// Waits for a gap that is not handled yet.
    pub(super) async fn wait_for_gap(&mut self) {
        if self.0.changed().await.is_err() {
            // The feed is gone, so there will be no further gap.
            std::future::pending::<()>().await;
        }
    }
}
