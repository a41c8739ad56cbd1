//! The settings that limit the names of locks in a group.

use serde::{Deserialize, Serialize};

/// The setting of a group that does not allow a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeySetting {
    /// `keys`: patterns.
    #[default]
    Keys,
    /// `roots` of ZooKeeper: paths.
    Roots,
    /// `prefixes` of etcd.
    Prefixes,
}
