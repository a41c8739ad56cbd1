//! The lock itself: Redlock on top of `domain::quorum`. Acquire, extend, release and force-release on a whole group.
//!
//! All nodes are asked at once, over connections that nothing else uses. A node that does not answer costs its time limit
//! once; a node that is known to be down costs nothing.

mod acquire;
mod ballot;
mod claim;
mod end;
pub mod fence;
mod force;
mod hold;
pub mod keep;
mod keeping;
mod layouts;
mod meaning;
mod owners;
pub mod pace;
mod recipes;
mod stragglers;
mod suspension;
mod tidy;
mod together;
mod token;
mod transaction;
mod undo;
pub mod wait;

use std::time::Duration;

pub use acquire::acquire;
pub use claim::{Claim, Want};
pub use force::{Condemned, Forced, Refusal, force_release, force_release_on, rehearse_release};
pub use hold::{StillHeld, extend, holds_left, release, still_held};
pub use layouts::{Form, Layout, Permissions, fair_queue};
pub use recipes::permissions as force_permissions;
pub use token::Token;
pub use wait::{acquire_unless, acquire_within};

use tokio::time::Instant;

use crate::domain::{NodeAct, Owner};

/// What an acquire or extend came to.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// What happened on each configured node, in order.
    pub nodes: Vec<NodeAct>,
    /// How it ended.
    pub end: End,
    /// When that was known: what validity was left is counted from here.
    pub known_at: Instant,
    /// The fence of an acquire that was won; nothing where fencing is off.
    pub fence: Option<u64>,
    /// What the lock's value is now, where it is another than the token that was asked with: a token of the same owner.
    pub token: Option<Token>,
}

impl Attempt {
    /// Until when the lock may be relied on, if it was won: by a clock that nobody sets.
    pub fn valid_until(&self) -> Option<Instant> {
        match self.end {
            End::Won(left) => Some(self.known_at + left),
            End::Taken { .. } | End::NotHeld | End::NoQuorum | End::WrongType(_) => None,
        }
    }
}

/// How an acquire or extend ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// On a quorum, with this much validity left when it was known.
    Won(Duration),
    /// Somebody else has it: who, and how long their lease still lasts, as far as a node told.
    Taken {
        /// Who.
        owner: Option<Owner>,
        /// Milliseconds of their lease; nothing for a lock without expiry or where no node told.
        lease_ms: Option<u64>,
    },
    /// (Extend only) It is on too few nodes to be held, and nobody else's.
    NotHeld,
    /// Too few nodes took part.
    NoQuorum,
    /// The key is of another type.
    WrongType(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validity_ends_when_it_ends_however_late_somebody_asks() {
        let known_at = Instant::now();
        let attempt = |end| Attempt {
            nodes: Vec::new(),
            end,
            known_at,
            fence: None,
            token: None,
        };
        let left = Duration::from_secs(9);
        assert_eq!(attempt(End::Won(left)).valid_until(), Some(known_at + left));
        assert_eq!(attempt(End::NoQuorum).valid_until(), None);
    }
}
