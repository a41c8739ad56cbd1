//! What the nodes of a group show about locks: current states, changes and wait queues.

use std::collections::HashMap;

use super::{CallError, DetectedLock};
use std::time::Duration;

use crate::domain::reason::Reason;
use crate::domain::{Format, LockKey, Waiter};
use crate::server::clock::ClockReading;

/// The maximum number of entries that are read of a wait queue.
pub const MAX_QUEUE_ENTRIES: usize = 100;

/// Why locks are read.
#[derive(Clone, Copy)]
pub enum ReadCause<'a> {
    /// They may have changed.
    Routine,
    /// A write of each was just notified, so idle times tell nothing, and cached values are out of
    /// date.
    Written {
        /// The formats of those that were locks when they were read last. A store can read these
        /// in fewer requests.
        known_formats: &'a HashMap<LockKey, Format>,
    },
}

/// What the nodes of a group show about some keys, requested at one moment.
#[derive(Clone, Debug)]
pub struct LockReading {
    /// When the requests were sent.
    pub requested_at: ClockReading,
    /// One entry per configured node, in configuration order. If each key is stored on one of
    /// several nodes, one entry per node and result.
    pub nodes: Vec<NodeReading>,
}

/// What one node shows about the requested keys.
#[derive(Clone, Debug)]
pub struct NodeReading {
    /// The node's name.
    pub node: String,
    /// The node restarted recently and may have lost locks.
    pub is_restart_hazard: bool,
    /// The indexes of the keys that were requested from this node; `None` means all of them.
    pub key_indexes: Option<Vec<usize>>,
    /// How far from the time of the reading the node may have read its keys: half of the longest
    /// round trip. Zero where leases do not depend on when they were read.
    pub read_uncertainty: Duration,
    /// One reading per requested key, in request order; or why the call failed.
    pub result: Result<Vec<KeyReading>, CallError>,
}

/// What one node shows about one key.
#[derive(Clone, Debug)]
pub enum KeyReading {
    /// It does not exist.
    Absent,
    /// It exists and is not a lock.
    NotALock,
    /// It is a lock.
    Lock(DetectedLock),
}

impl NodeReading {
    /// The indexes of the keys that were requested from this node, out of `keys` in total.
    pub fn resolved_key_indexes(&self, keys: usize) -> Vec<usize> {
        match &self.key_indexes {
            Some(indexes) => indexes.clone(),
            None => (0..keys).collect(),
        }
    }
}

impl KeyReading {
    /// Whether the key exists.
    pub fn is_present(&self) -> bool {
        match self {
            Self::Absent => false,
            Self::NotALock | Self::Lock(_) => true,
        }
    }
}

/// The changes that the nodes reported since they were last taken.
#[derive(Debug, Default)]
pub struct Changes {
    /// The written keys, each with the number of writes that a quorum of the nodes reported.
    pub keys: Vec<(LockKey, u32)>,
    /// Other keys may have changed as well: all keys must be read again.
    pub is_full_resync: bool,
}

/// The wait queues of some locks on one node.
#[derive(Debug)]
pub struct NodeQueues {
    /// The node's name.
    pub node: String,
    /// One queue per requested lock, in request order; or why the node did not reply.
    pub result: Result<Vec<NodeQueue>, Reason>,
}

/// The wait queue of a lock on one node.
#[derive(Debug)]
pub struct NodeQueue {
    /// The number of waiters.
    pub length: u64,
    /// The first waiters in order, at most [`MAX_QUEUE_ENTRIES`].
    pub head: Vec<Waiter>,
}
