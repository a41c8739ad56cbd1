//! Lock attempts in a short recording of a node's commands (`MONITOR`).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::reason::Reason;
use super::{LockKey, Timestamp};

/// The result of a recording on a node. Values and tokens are not kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MonitorSample {
    /// The name of the node.
    pub node: String,
    /// When the recording started.
    pub started_at: Timestamp,
    /// The duration of the recording in milliseconds.
    pub duration_ms: u64,
    /// The number of received bytes.
    pub bytes: u64,
    /// The number of recorded commands.
    pub commands: u64,
    /// Why the recording ended early; null if it did not.
    pub truncated_reason: Option<Reason>,
    /// Why failed attempts of `SET … NX` cannot be distinguished from successful ones; null if they
    /// can.
    pub failures_unavailable_reason: Option<Reason>,
    /// The locks with attempts, those with the most failed attempts first; at most 1,000.
    pub locks: Vec<SampledLock>,
}

/// The attempts to acquire a lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SampledLock {
    /// The name of the lock.
    #[serde(flatten)]
    pub key: LockKey,
    /// The number of attempts.
    pub attempts: u64,
    /// The number of failed attempts. Attempts within one event loop iteration of the server can be
    /// misclassified (about 0.3 %).
    pub failed: u64,
    /// The client addresses that the server reports; at most 20.
    pub clients: Vec<String>,
}
