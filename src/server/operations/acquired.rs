//! What an acquire asks for, and what it is answered.

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::millis;
use crate::domain::{Fingerprint, Format, NodeAct, Timestamp};

/// What an acquire asks for. It has no `Debug`: a token may be in it.
#[derive(Clone)]
pub struct AcquireRequest {
    /// The lease, in milliseconds.
    pub ttl_ms: u64,
    /// How long to wait for it, in milliseconds.
    pub wait_ms: u64,
    /// Who wants it, readable: becomes part of the token, so that every console shows it.
    pub label: Option<String>,
    /// The layout to write.
    pub format: Format,
    /// One's own token: a lock that it already holds is extended (Redisson's is entered once more).
    pub token: Option<String>,
    /// Renew the lease again and again until it is released or the longest hold is over.
    pub auto_renew: bool,
}

/// A lock that was acquired.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct Acquired {
    /// The secret with which the lock is extended and released. Shown in the answer to the acquire, and nowhere else.
    pub token: String,
    /// What tells this hold from others; not a secret.
    pub fingerprint: Fingerprint,
    /// Rises with every acquire of this lock: a resource that remembers the largest can refuse the late ones. Null where
    /// fencing is off in the configuration.
    pub fencing_token: Option<u64>,
    /// For how long the lock may be relied on: `ttl − elapsed − drift`.
    pub validity_ms: u64,
    /// Until when that is.
    pub expires_at: Timestamp,
    /// What happened on each node.
    pub nodes: Vec<NodeAct>,
    /// The same moment by a clock that nobody sets; missing in what another console answered.
    #[serde(skip)]
    pub valid_until: Option<Instant>,
}

impl Acquired {
    /// The same answer, given again: the lock may be relied on until then.
    pub(super) fn until(&self, valid_until: Instant, now: Timestamp) -> Self {
        let left = valid_until.saturating_duration_since(Instant::now());
        Self {
            validity_ms: millis(left),
            expires_at: now.plus(left),
            valid_until: Some(valid_until),
            ..self.clone()
        }
    }

    /// The answer with what is left by now of the validity that was promised.
    pub(super) fn by_now(&self, now: Timestamp) -> Self {
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
