//! What one node said or did about one lock. Never folded into a bool: an operator needs to know which node.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Lease, Owner};

/// What a node shows of a lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Answer {
    /// The key is there.
    Holds {
        /// Who its value says holds it.
        owner: Owner,
        /// Until when, on this node.
        #[serde(flatten)]
        lease: Lease,
        /// Who holds a shared lock at the same time on this node: further readers, other permits.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<Owner>,
    },
    /// The node answered: no such lock.
    Absent,
    /// The node could not be asked, or did not answer in time.
    Unreachable {
        /// Why, in words.
        reason: String,
    },
}

impl Answer {
    /// A node that shows one owner.
    pub fn held_by(owner: Owner, lease: Lease) -> Self {
        Self::Holds {
            owner,
            lease,
            others: Vec::new(),
        }
    }

    /// Every owner that the node shows.
    pub fn owners(&self) -> impl Iterator<Item = &Owner> {
        let others: &[Owner] = match self {
            Self::Holds { others, .. } => others,
            Self::Absent | Self::Unreachable { .. } => &[],
        };
        self.owner().into_iter().chain(others)
    }

    /// The same, to be changed.
    pub fn owners_mut(&mut self) -> impl Iterator<Item = &mut Owner> {
        let (owner, others) = match self {
            Self::Holds { owner, others, .. } => (Some(owner), others.as_mut_slice()),
            Self::Absent | Self::Unreachable { .. } => (None, &mut [][..]),
        };
        owner.into_iter().chain(others)
    }

    /// Whether the node shows this owner, whatever it says of it beyond that.
    pub fn shows(&self, owner: &Owner) -> bool {
        self.owners()
            .any(|here| here.fingerprint == owner.fingerprint)
    }

    /// The owner that the node shows; the first of several.
    pub fn owner(&self) -> Option<&Owner> {
        match self {
            Self::Holds { owner, .. } => Some(owner),
            Self::Absent | Self::Unreachable { .. } => None,
        }
    }

    /// Whether the node answered at all.
    pub fn is_answer(&self) -> bool {
        match self {
            Self::Holds { .. } | Self::Absent => true,
            Self::Unreachable { .. } => false,
        }
    }
}

/// One node's answer, with the node's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeAnswer {
    /// The node's name in the configuration.
    pub node: String,
    /// What it said.
    #[serde(flatten)]
    pub answer: Answer,
}

/// What an act did on one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum ActOutcome {
    /// The lock was taken there.
    Acquired,
    /// Its lease was renewed there.
    Extended,
    /// It was there with the expected owner and is gone now.
    Released,
    /// It is there with the expected owner: a release would take it from there. Nothing was touched.
    Releasable,
    /// It was released once there, and its owner holds it still: it had entered more often.
    Holds {
        /// How often.
        holds: u32,
    },
    /// It was not there.
    NotHeld,
    /// Somebody else's; nothing was touched.
    OtherOwner {
        /// Who holds it on this node.
        #[serde(skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
    },
    /// The owner is the one that was seen, but its hold is another: renewed, entered or acquired again since. Nothing was touched.
    AnotherHold,
    /// It was asked, and had not answered yet when the others had decided; what is left there is cleared away unless it counts.
    Pending,
    /// The node could not be asked, or gave an error; what happened there is not known.
    Failed {
        /// Why, in words.
        reason: String,
    },
}

/// What an act did on one node, with the node's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeAct {
    /// The node's name in the configuration.
    pub node: String,
    /// What happened there.
    #[serde(flatten)]
    pub outcome: ActOutcome,
}

impl NodeAct {
    /// Who else holds the lock there, where that was found and could be told.
    pub fn other_owner(&self) -> Option<&Owner> {
        match &self.outcome {
            ActOutcome::OtherOwner { owner } => owner.as_ref(),
            ActOutcome::Acquired
            | ActOutcome::Extended
            | ActOutcome::Released
            | ActOutcome::Releasable
            | ActOutcome::Holds { .. }
            | ActOutcome::NotHeld
            | ActOutcome::AnotherHold
            | ActOutcome::Pending
            | ActOutcome::Failed { .. } => None,
        }
    }
}
