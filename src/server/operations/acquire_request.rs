//! The request and the response of an acquire.

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::millis;
use crate::domain::{Fingerprint, Format, NodeResult, Timestamp};

/// An acquire request. It has no `Debug`, because it may contain a token.
#[derive(Clone)]
pub struct AcquireRequest {
    /// The lease, in milliseconds.
    pub ttl_ms: u64,
    /// The maximum time to wait for the lock, in milliseconds.
    pub wait_ms: u64,
    /// The readable name of the owner. It becomes part of the token, so every console shows it.
    pub label: Option<String>,
    /// The format to write.
    pub format: Format,
    /// The caller's own token. If it already holds the lock, the lock is extended (for Redisson,
    /// its hold count is incremented).
    pub token: Option<String>,
    /// Renew the lease automatically until the lock is released or a limit of the group is reached.
    pub auto_renew: bool,
}

/// An acquired lock.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Acquired)]
pub struct AcquiredLock {
    /// The secret with which the lock is extended and released. Only the response to the acquire
    /// contains it.
    pub token: String,
    /// Identifies this hold; not a secret.
    pub fingerprint: Fingerprint,
    /// The fencing token. It increases with every acquire of this lock, so that a resource that
    /// stores the largest one can reject earlier holders. Null if fencing is disabled in the
    /// configuration.
    pub fencing_token: Option<u64>,
    /// How long the lock is valid: `ttl − elapsed − drift`.
    pub validity_ms: u64,
    /// The end of the validity.
    pub expires_at: Timestamp,
    /// The outcome on each node.
    pub nodes: Vec<NodeResult>,
    /// The same time on the monotonic clock; `None` in a response from another console.
    #[serde(skip)]
    pub valid_until: Option<Instant>,
}

impl AcquiredLock {
    /// Returns this response with another end of validity, for a replay.
    pub(super) fn with_valid_until(&self, valid_until: Instant, now: Timestamp) -> Self {
        let left = valid_until.saturating_duration_since(Instant::now());
        Self {
            validity_ms: millis(left),
            expires_at: now.plus(left),
            valid_until: Some(valid_until),
            ..self.clone()
        }
    }

    /// Returns this response with the validity that remains now.
    pub(super) fn with_remaining_validity(&self, now: Timestamp) -> Self {
        let left = match self.valid_until {
            Some(until) => millis(until.saturating_duration_since(Instant::now())),
            None => millis(self.expires_at.since(now)),
        };
        Self {
            validity_ms: left.min(self.validity_ms),
            ..self.clone()
        }
    }
}
