//! The result of verifying the hash chain of the audit log.

use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use super::Timestamp;

/// The state of the hash chain verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChainCheck {
    /// This instance does not verify the log: it is not a file, too large, or not readable.
    Unavailable,
    /// The first verification since the start of the console is in progress.
    InProgress,
    /// The last verification ended.
    Done(ChainCheckResult),
}

/// The result of a completed verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainCheckResult {
    /// The sequence number of the first entry. It is above 1 if older files were removed.
    pub first_seq: u64,
    /// The sequence number of the last entry.
    pub last_seq: u64,
    /// The number of errors; at most 100 are counted.
    pub error_count: u32,
    /// When the verification started. Entries that were written later are not included.
    pub started_at: Timestamp,
}

/// A problem of one line of the audit log. It is serialised as its English sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChainProblem {
    /// Rows are written in transactions, so an incomplete one was modified.
    #[error("the line was cut off")]
    CutOff,
    /// The line ends early: the process was killed, or the disk was full.
    #[error("the line is incomplete")]
    Incomplete,
    #[error("the text was modified: the hash does not match")]
    HashMismatch,
    #[error("the search columns do not match the entry: they were modified")]
    ColumnsMismatch,
    #[error("number {seq} follows number {previous_seq}: lines were deleted, inserted or moved")]
    SequenceGap { seq: u64, previous_seq: u64 },
    #[error("the hash of the previous line does not match: that line was modified or replaced")]
    PreviousHashMismatch,
}

impl Serialize for ChainProblem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
