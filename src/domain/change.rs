//! The changes that the server streams to subscribers.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::code_tag::TaggedVariant;
use super::reason::Reason;
use super::{Fingerprint, GroupView, Lock, LockId, Timestamp};

/// Why a lock is no longer observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GoneReason {
    /// The lock disappeared before its lease ended: it was released, deleted by another client, or
    /// evicted. Redis does not report which.
    Released,
    /// The lease ended.
    Expired,
    /// The lock disappeared while the console did not observe it.
    Unknown,
}

/// A change of the index. Changes are self-contained and idempotent.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Change {
    /// A lock that was not observed before.
    Appeared {
        /// The lock after the change.
        #[schema(value_type = Lock)]
        lock: Arc<Lock>,
    },
    /// The owner renewed its lease.
    Renewed {
        /// The lock after the change.
        #[schema(value_type = Lock)]
        lock: Arc<Lock>,
    },
    /// The lock has another owner.
    OwnerChanged {
        /// The lock after the change.
        #[schema(value_type = Lock)]
        lock: Arc<Lock>,
    },
    /// The owner is the same, but the nodes, the verdict or the flags changed.
    Updated {
        /// The lock after the change.
        #[schema(value_type = Lock)]
        lock: Arc<Lock>,
    },
    /// The lock is no longer observed.
    Gone {
        /// The group and name of the lock.
        id: LockId,
        /// Why the lock is no longer observed.
        end_reason: GoneReason,
        /// When the lock was found to be absent.
        at: Timestamp,
    },
    /// An owner lost a lock that this console renewed for it, and must stop relying on the lock.
    /// This change does not modify the index state: other changes report what the nodes show.
    Lost {
        /// The group and name of the lock.
        id: LockId,
        /// The owner that lost the lock.
        fingerprint: Fingerprint,
        /// The label that the owner gave when it acquired the lock.
        label: Option<String>,
        /// When the loss was detected.
        at: Timestamp,
        /// Why the lock was lost.
        reason: Reason,
    },
    /// The health, the scan coverage or the time of the last poll of a group changed.
    Group {
        /// The group after the change.
        #[schema(value_type = GroupView)]
        group: Arc<GroupView>,
    },
}

/// Reads a [`Change`] whose variant is named outside of its fields.
///
/// The derived code for a tag reads the fields from a buffer of serde's own. It would be the only
/// code that reads a whole lock and a whole group from there (see `code_tag`).
#[derive(Deserialize)]
#[serde(remote = "Change", rename_all = "kebab-case")]
enum ChangeFields {
    Appeared {
        lock: Arc<Lock>,
    },
    Renewed {
        lock: Arc<Lock>,
    },
    OwnerChanged {
        lock: Arc<Lock>,
    },
    Updated {
        lock: Arc<Lock>,
    },
    Gone {
        id: LockId,
        end_reason: GoneReason,
        at: Timestamp,
    },
    Lost {
        id: LockId,
        fingerprint: Fingerprint,
        label: Option<String>,
        at: Timestamp,
        reason: Reason,
    },
    Group {
        group: Arc<GroupView>,
    },
}

impl<'de> Deserialize<'de> for Change {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        TaggedVariant::with_tag("type", object)
            .and_then(ChangeFields::deserialize)
            .map_err(D::Error::custom)
    }
}

impl Change {
    /// The name of the affected group.
    pub fn group(&self) -> &str {
        match self {
            Self::Appeared { lock }
            | Self::Renewed { lock }
            | Self::OwnerChanged { lock }
            | Self::Updated { lock } => &lock.id.group,
            Self::Gone { id, .. } | Self::Lost { id, .. } => &id.group,
            Self::Group { group } => &group.name,
        }
    }
}
