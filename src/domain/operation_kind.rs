//! The kinds and results of the operations that the audit log, webhooks and metrics report.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

/// The kind of an operation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum OperationKind {
    /// A client acquired a lock.
    Acquire,
    /// An owner extended its lease.
    Extend,
    /// An owner released its lock.
    Release,
    /// A user released a lock that another owner held.
    ForceRelease,
    /// The console completed a partial forced release on nodes that became reachable again.
    CompleteRelease,
    /// The previous owner acquired the lock again after a forced release. The console observed it;
    /// it was not requested.
    Reacquired,
    /// A user confirmed that a restarted node lost no locks.
    ClearRestartHazard,
    /// An admin pinned, excluded, named or reset a prefix of lock names.
    ChangePrefix,
    /// A user saved a view of the lock list for the team, or replaced one.
    SaveView,
    /// A user deleted a view of the team.
    DeleteView,
    /// An admin sent a test event to a webhook.
    TestWebhook,
    /// A user revealed the token of a lock that was acquired through the console's pages.
    RevealToken,
    /// The console recorded the commands of a node for some seconds (`MONITOR`).
    Monitor,
    /// A user signed in.
    SignIn,
    /// A user signed out.
    SignOut,
}

impl OperationKind {
    /// The name in the audit log, the API and the UI.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// The result of an operation.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum OperationResult {
    /// The operation succeeded.
    Done,
    /// A release reached too few nodes. The owner may still hold a quorum.
    Partial,
    /// The console or the nodes rejected the operation. No other owner's data changed.
    Refused,
    /// The operation failed. The resulting state of the nodes is not known.
    Failed,
    /// The result was not recorded, because the process was killed or the client disconnected.
    Unknown,
    /// The operation started and has not ended.
    #[default]
    InProgress,
}

impl OperationResult {
    /// The name in the audit log, the API and the UI.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}
