//! What a short recording of everything that clients ask of one node says about who wants which lock.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{LockKey, Timestamp};

/// What was recorded on one node. Which values and tokens were sent is not kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MonitorSample {
    /// The node.
    pub node: String,
    /// When the recording began.
    pub began_at: Timestamp,
    /// How long it ran, in milliseconds.
    pub took_ms: u64,
    /// So many bytes came.
    pub bytes: u64,
    /// So many commands.
    pub commands: u64,
    /// Why it ended before its time; null where it did not.
    pub cut_short: Option<String>,
    /// Why failed attempts cannot be told from successful ones of `SET … NX`; null where they can.
    pub failures_unknown: Option<String>,
    /// The locks that somebody tried to take, those with the most failed attempts first; at most 1,000.
    pub locks: Vec<SampledLock>,
}

/// Who tried to take one lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SampledLock {
    /// Its name.
    #[serde(flatten)]
    pub key: LockKey,
    /// How often somebody tried to take it.
    pub attempts: u64,
    /// How many of those failed: exact but for tries within one turn of the server (about 0.3 %).
    pub failed: u64,
    /// From where, as the server sees it: at most 20 addresses.
    pub clients: Vec<String>,
}
