//! A lock that was found by what somebody typed.

use serde::{Deserialize, Serialize};

use super::{LockId, Verdict};

/// A lock that was found: enough to name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Which lock.
    pub id: LockId,
    /// Its verdict.
    pub verdict: Verdict,
}
