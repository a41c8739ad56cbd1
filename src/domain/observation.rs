//! The observation of a lock on a node, and the result of an operation on a node.
//!
//! Both are kept per node, because an operator needs to know which node differs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::reason::Reason;
use super::{Lease, Owner};

/// What a node shows of a lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Observation {
    /// The node has the key.
    Holds {
        /// The owner according to the value.
        owner: Owner,
        /// The lease on this node.
        #[serde(flatten)]
        lease: Lease,
        /// Further owners of a shared lock on this node.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<Owner>,
    },
    /// The node replied that the key does not exist.
    Absent,
    /// The node is unreachable or did not reply in time.
    Unreachable {
        /// The error.
        reason: Reason,
    },
}

impl Observation {
    /// An observation of a single owner.
    pub fn held_by(owner: Owner, lease: Lease) -> Self {
        Self::Holds {
            owner,
            lease,
            others: Vec::new(),
        }
    }

    /// All owners that the node shows.
    pub fn owners(&self) -> impl Iterator<Item = &Owner> {
        let others: &[Owner] = match self {
            Self::Holds { others, .. } => others,
            Self::Absent | Self::Unreachable { .. } => &[],
        };
        self.owner().into_iter().chain(others)
    }

    /// Mutable references to all owners that the node shows.
    pub fn owners_mut(&mut self) -> impl Iterator<Item = &mut Owner> {
        let (owner, others) = match self {
            Self::Holds { owner, others, .. } => (Some(owner), others.as_mut_slice()),
            Self::Absent | Self::Unreachable { .. } => (None, &mut [][..]),
        };
        owner.into_iter().chain(others)
    }

    /// Whether the node shows this owner. Only fingerprints are compared.
    pub fn has_owner(&self, owner: &Owner) -> bool {
        self.owners()
            .any(|shown| shown.fingerprint == owner.fingerprint)
    }

    /// The owner that the node shows, or the first one of several.
    pub fn owner(&self) -> Option<&Owner> {
        match self {
            Self::Holds { owner, .. } => Some(owner),
            Self::Absent | Self::Unreachable { .. } => None,
        }
    }

    /// Whether the node replied.
    pub fn is_reachable(&self) -> bool {
        match self {
            Self::Holds { .. } | Self::Absent => true,
            Self::Unreachable { .. } => false,
        }
    }
}

/// The observation of a lock on a named node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeObservation {
    /// The node's name in the configuration.
    pub node: String,
    /// What the node shows of the lock.
    #[serde(flatten)]
    pub observation: Observation,
}

/// The outcome of an operation on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum NodeOutcome {
    /// The lock was acquired.
    Acquired,
    /// The lease was extended.
    Extended,
    /// The lock of the expected owner was released.
    Released,
    /// Dry run: the node has the lock of the expected owner. Nothing was changed.
    Releasable,
    /// The hold count was decremented. The owner still holds the lock.
    Holds {
        /// How many times the owner still holds the lock.
        hold_count: u32,
    },
    /// The node does not have the lock.
    NotHeld,
    /// Another owner holds the lock. Nothing was changed.
    OtherOwner {
        /// The owner on this node.
        #[serde(skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
    },
    /// The owner is the expected one, but it has renewed, re-entered or re-acquired the lock since.
    /// Nothing was changed.
    OtherHold,
    /// The node had not replied when the other nodes decided the round. The console removes the
    /// lock from it, unless the node counts towards the quorum.
    Pending,
    /// The node is unreachable or returned an error. Its state is not known.
    Failed {
        /// The error.
        reason: Reason,
    },
}

impl NodeOutcome {
    /// A failure that certainly had no effect.
    pub fn nothing_changed(cause: Reason) -> Self {
        Self::Failed {
            reason: Reason::NothingChanged {
                cause: Box::new(cause),
            },
        }
    }
}

/// The outcome of an operation on a named node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeResult {
    /// The node's name in the configuration.
    pub node: String,
    /// The outcome on this node.
    #[serde(flatten)]
    pub outcome: NodeOutcome,
}

impl NodeResult {
    /// The other owner that holds the lock on this node, if it is known.
    pub fn other_owner(&self) -> Option<&Owner> {
        match &self.outcome {
            NodeOutcome::OtherOwner { owner } => owner.as_ref(),
            NodeOutcome::Acquired
            | NodeOutcome::Extended
            | NodeOutcome::Released
            | NodeOutcome::Releasable
            | NodeOutcome::Holds { .. }
            | NodeOutcome::NotHeld
            | NodeOutcome::OtherHold
            | NodeOutcome::Pending
            | NodeOutcome::Failed { .. } => None,
        }
    }
}
