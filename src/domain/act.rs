//! What the pages hand over and get back when a person acts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Fingerprint, Format, Lock, LockId, NodeAct, Timestamp};

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

impl Mine {
    /// How many nodes show this hold.
    pub fn nodes_that_show_it(&self, lock: &Lock) -> usize {
        // A value that tells the time is another one after each renewal, which is not heard of everywhere at once.
        let changes = lock.format == Format::LegacyTimestamp && self.auto_renew;
        let owners = lock.nodes.iter().filter_map(|node| node.answer.owner());
        owners
            .filter(|owner| changes || owner.fingerprint == self.fingerprint)
            .count()
    }
}

/// The hold that somebody saw before they decided to release it, by the lock's own fields.
///
/// The fingerprint tells owners apart; this tells one owner's holds apart, where it writes the same bytes each time. What is
/// left out is not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeenHold {
    /// `acquired_at` of the lock: refused if this console has seen the owner acquire it again since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acquired_at: Option<Timestamp>,
    /// `expires_at` of the lock: refused if a node shows a later one, for formats whose owners cannot be told from their own
    /// next hold. A renewal counts too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// `holds` of the owner: refused if it has entered more often since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<u32>,
}

impl SeenHold {
    /// With what was left out taken from what is `shown`.
    #[must_use]
    pub fn or(self, shown: Self) -> Self {
        Self {
            acquired_at: self.acquired_at.or(shown.acquired_at),
            expires_at: self.expires_at.or(shown.expires_at),
            holds: self.holds.or(shown.holds),
        }
    }
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

impl Lock {
    /// Whether this owner, who has it alone, let it go since that moment and has it again.
    pub fn was_acquired_again(&self, owner: &Fingerprint, since: Timestamp) -> bool {
        let is_alone = matches!(self.owners.as_slice(), [only] if only.fingerprint == *owner);
        is_alone && self.acquired_at > since
    }
}
