//! Change detection of a node, and the permissions that its user lacks.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use utoipa::ToSchema;

/// How the console detects changes on a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum FeedLevel {
    /// Client-side caching invalidations (`CLIENT TRACKING … BCAST`).
    Tracking,
    /// Keyspace notifications. They must be enabled on the server.
    Keyspace,
    /// Watches of the service, which report each change in order (ZooKeeper, etcd).
    Watch,
    /// Periodic polling.
    #[default]
    Poll,
}

impl FeedLevel {
    /// The name in the API and in the configuration.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// An optional permission that the node's user lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MissingPermission {
    /// The command.
    pub permission: String,
    /// The information that is missing without the permission.
    pub impact: String,
    /// The ACL rule that grants the permission.
    pub acl: String,
}
