//! What the observer reports to the recorder of the history: holds, flags and node states. The
//! observer never waits: a record that does not fit into the queue is counted and dropped.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::domain::{Fingerprint, Flag, LockId, NodeState, RecordedHold, Timestamp};

/// Records in the queue. After its start the console reports every lock that it finds, which is
/// far more than it reports later. The queue uses memory only for the records in it.
const MAX_QUEUED_RECORDS: usize = 150_000;

/// One fact about the history.
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryRecord {
    /// A hold began, or was observed first.
    HoldStarted(OpenHoldRecord),
    /// A hold was renewed, or more attempts were observed.
    HoldRenewed(OpenHoldRecord),
    /// A hold ended.
    HoldEnded(RecordedHold),
    /// A hold that was reported as ended was released by force.
    HoldForced {
        /// The lock.
        id: LockId,
        /// Its former owner.
        owner: Fingerprint,
        /// The end that was reported.
        ended_at: Timestamp,
    },
    /// A flag of a lock was raised or ended.
    Flag {
        /// The lock.
        id: LockId,
        /// The flag.
        flag: Flag,
        /// Whether it was raised.
        is_raised: bool,
        /// When this was observed.
        at: Timestamp,
    },
    /// A node entered a state.
    Node {
        /// The group of the node.
        group: String,
        /// The name of the node.
        node: String,
        /// The state.
        state: NodeState,
        /// When this was observed first.
        at: Timestamp,
    },
    /// A group is no longer configured.
    GroupRemoved {
        /// The name of the group.
        group: String,
        /// When it was removed.
        at: Timestamp,
    },
}

/// A hold that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenHoldRecord {
    /// The hold.
    pub hold: RecordedHold,
    /// When the lease ends; `None` without expiry.
    pub expires_at: Option<Timestamp>,
}

/// Records that were dropped because the queue was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostRecords {
    /// The number of records.
    pub count: u64,
    /// When the first of them was reported.
    pub from: Timestamp,
}

/// The sending half. Without a receiver, nothing is recorded.
#[derive(Debug, Default)]
pub(in super::super) struct RecordFeed {
    queue: OnceLock<mpsc::Sender<HistoryRecord>>,
    lost: Mutex<Option<LostRecords>>,
}

/// The receiving half.
pub struct RecordStream {
    queue: mpsc::Receiver<HistoryRecord>,
    feed: Arc<RecordFeed>,
}

impl RecordFeed {
    /// Starts recording. `None` if it was started before.
    pub fn start(self: &Arc<Self>) -> Option<RecordStream> {
        let (sender, queue) = mpsc::channel(MAX_QUEUED_RECORDS);
        self.queue.set(sender).ok()?;
        Some(RecordStream {
            queue,
            feed: Arc::clone(self),
        })
    }

    /// Whether the history is recorded.
    pub fn is_started(&self) -> bool {
        self.queue.get().is_some()
    }

    /// Reports a record that was observed at `at`. Never waits.
    pub fn send(&self, record: HistoryRecord, at: Timestamp) {
        let Some(queue) = self.queue.get() else {
            return;
        };
        match queue.try_send(record) {
            // The recorder ends with the console.
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => {}
            Err(mpsc::error::TrySendError::Full(_)) => {
                let mut lost = self.lost.lock();
                let lost = lost.get_or_insert(LostRecords { count: 0, from: at });
                lost.count += 1;
            }
        }
    }
}

impl RecordStream {
    /// Receives at most `max` records; none when the observer has stopped.
    pub async fn receive(&mut self, records: &mut Vec<HistoryRecord>, max: usize) -> usize {
        self.queue.recv_many(records, max).await
    }

    /// Takes a record that waits; `None` if there is none.
    pub fn try_receive(&mut self) -> Option<HistoryRecord> {
        self.queue.try_recv().ok()
    }

    /// Whether no record waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The records that were dropped since the last call.
    pub fn take_lost(&self) -> Option<LostRecords> {
        self.feed.lost.lock().take()
    }
}
