//! What can happen to a board: the words that server and browser exchange.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Fingerprint, GroupView, Lock, LockId, Timestamp};

/// How a lock left the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It was gone before its lease was over: released, deleted by somebody else, or evicted. Nodes do not tell these apart.
    Released,
    /// Its lease was over.
    Expired,
    /// It went away while nobody was looking.
    Unknown,
}

/// One change of the board. Each carries all that is needed to apply it; applying it twice changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Change {
    /// A lock that was not on the board.
    Appeared {
        /// The lock.
        #[schema(value_type = Lock)]
        lock: Arc<Lock>,
    },
    /// The same owner with a later deadline.
    Renewed {
        /// The lock.
        #[schema(value_type = Lock)]
        lock: Arc<Lock>,
    },
    /// Another owner.
    ChangedHands {
        /// The lock.
        #[schema(value_type = Lock)]
        lock: Arc<Lock>,
    },
    /// The same owner seen differently: another node, verdict or flag.
    Updated {
        /// The lock.
        #[schema(value_type = Lock)]
        lock: Arc<Lock>,
    },
    /// It is not observed any more.
    Gone {
        /// Which lock.
        id: LockId,
        /// How it went.
        ending: Ending,
        /// When that was seen.
        at: Timestamp,
    },
    /// A lock that this console kept for its owner is lost to that owner, who must not rely on it any more. The board stays
    /// as it is: what the nodes show of the lock is told by the other changes.
    Lost {
        /// Which lock.
        id: LockId,
        /// Whose hold of it.
        fingerprint: Fingerprint,
        /// What the owner called itself when it acquired the lock.
        label: Option<String>,
        /// When it was found to be lost.
        at: Timestamp,
        /// Why, as a sentence.
        why: String,
    },
    /// A group's health, coverage, or the moment it was last looked at.
    Group {
        /// The group.
        #[schema(value_type = GroupView)]
        group: Arc<GroupView>,
    },
}

impl Change {
    /// The group that the change is about.
    pub fn group(&self) -> &str {
        match self {
            Self::Appeared { lock }
            | Self::Renewed { lock }
            | Self::ChangedHands { lock }
            | Self::Updated { lock } => &lock.id.group,
            Self::Gone { id, .. } | Self::Lost { id, .. } => &id.group,
            Self::Group { group } => &group.name,
        }
    }
}
