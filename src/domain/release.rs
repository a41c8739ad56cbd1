//! The arguments and results of releases.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Fingerprint, Lock, NodeResult, Timestamp};

/// The state of a hold when the user decided to release it.
///
/// A fingerprint identifies an owner. These fields distinguish between holds of the same owner, for
/// formats in which an owner writes the same value every time. Absent fields are not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ObservedHold {
    /// The lock's `acquired_at`. The request is rejected if this console has observed the owner
    /// acquire the lock again since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acquired_at: Option<Timestamp>,
    /// The lock's `expires_at`. The request is rejected if a node shows a later expiry, as after a
    /// renewal. Only checked for formats whose owners reuse their value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The owner's `hold_count`. The request is rejected if the owner has entered the lock more
    /// often since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_count: Option<u32>,
}

impl ObservedHold {
    /// Fills absent fields from `shown`.
    #[must_use]
    pub fn or(self, shown: Self) -> Self {
        Self {
            acquired_at: self.acquired_at.or(shown.acquired_at),
            expires_at: self.expires_at.or(shown.expires_at),
            hold_count: self.hold_count.or(shown.hold_count),
        }
    }
}

/// The result of a release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseResult {
    /// The result on each node.
    pub nodes: Vec<NodeResult>,
    /// When the release ended.
    pub at: Timestamp,
    /// How many times the owner still holds the lock; null if it is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_count: Option<u32>,
    /// The lock as the nodes showed it immediately after the release; null if no node shows it.
    pub observed_after: Option<Lock>,
}

impl ReleaseResult {
    /// `released`, or `holds` if the owner still holds the lock.
    pub fn outcome(&self) -> &'static str {
        match self.hold_count {
            None => "released",
            Some(_) => "holds",
        }
    }
}

impl Lock {
    /// Whether this owner, as the only one, released the lock and acquired it again after `since`.
    pub fn was_reacquired_since(&self, owner: &Fingerprint, since: Timestamp) -> bool {
        let is_alone = matches!(self.owners.as_slice(), [only] if only.fingerprint == *owner);
        is_alone && self.acquired_at > since
    }
}
