//! What the pages hand over and get back when a person acts.

use serde::{Deserialize, Serialize};

use super::{Fingerprint, Lock, LockId, NodeAct, Timestamp};

/// A lock that was acquired from this console's pages. The token stays on the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mine {
    /// Which lock.
    pub id: LockId,
    /// What tells our hold from others.
    pub fingerprint: Fingerprint,
    /// When it was acquired.
    pub acquired_at: Timestamp,
    /// The lease it was last given, in milliseconds.
    pub ttl_ms: u64,
    /// Until when it may be relied on: drift and the time it took are already subtracted.
    pub expires_at: Timestamp,
    /// What happened on each node when it was last acquired or extended.
    pub nodes: Vec<NodeAct>,
    /// Whether its token can still be taken (once).
    pub token_available: bool,
    /// Whether the console renews it.
    pub auto_renew: bool,
    /// Its fence; nothing where fencing is off.
    pub fencing_token: Option<u64>,
    /// How often its lease was renewed, by the console or by hand.
    pub extensions: u32,
    /// Why the console renews it no more although it could still be held.
    pub rests: Option<String>,
    /// Why it is lost, if it was kept and is.
    pub lost: Option<String>,
}

/// What a release came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Released {
    /// What happened on each node.
    pub nodes: Vec<NodeAct>,
    /// When it was done.
    pub at: Timestamp,
    /// How often the owner holds it still, where it had entered it more than once; null where it is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<u32>,
    /// The lock as the nodes showed it right afterwards; null where none shows it.
    pub seen_after: Option<Lock>,
}

impl Released {
    /// `released`, or `holds` where its owner holds it still.
    pub fn outcome(&self) -> &'static str {
        match self.holds {
            None => "released",
            Some(_) => "holds",
        }
    }
}
