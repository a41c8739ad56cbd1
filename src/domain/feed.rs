//! How a node tells of changes, and what its user is not allowed to do.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use utoipa::ToSchema;

/// How changes on a node are learnt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum FeedLevel {
    /// The server tells every change (`CLIENT TRACKING … BCAST`).
    Tracking,
    /// The server tells every change by keyspace notifications, which somebody has turned on.
    Keyspace,
    /// By looking again and again.
    #[default]
    Poll,
}

impl FeedLevel {
    /// The word in the API and in the configuration.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// Something that the node's user may not do, and that would help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MissingPermission {
    /// The command.
    pub permission: String,
    /// What is missing on the screen for lack of it.
    pub costs: String,
    /// The line that would grant it, to be given to the server by somebody who may.
    pub acl: String,
}
