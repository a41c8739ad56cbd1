//! A result of the quick search.

use serde::{Deserialize, Serialize};

use super::{LockId, Verdict};

/// A lock that matches the search text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchHit {
    /// The group and name of the lock.
    pub id: LockId,
    /// The current verdict.
    pub verdict: Verdict,
}
