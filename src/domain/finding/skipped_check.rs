//! Checks that were not possible, with their English texts.

use crate::domain::reason::Reason;

/// A check that was not possible. It yields neither a finding nor an all-clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedCheck {
    /// The node.
    pub node: String,
    /// The missing data.
    pub unavailable: UnavailableData,
}

/// Data that a node does not provide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnavailableData {
    /// All data: the node does not reply.
    All(Reason),
    /// The output of `INFO`.
    ServerInfo {
        /// The user without the permission.
        user: String,
    },
    /// The settings (`CONFIG GET`).
    Config,
    /// The permissions of the console's user.
    Permissions,
    /// The leases of some locks: the scan did not complete.
    Leases,
}

impl UnavailableData {
    /// The check that was not possible, in English.
    pub fn check(&self) -> &'static str {
        match self {
            Self::All(_) => {
                "everything that the node reports: persistence, memory, replication, permissions"
            }
            Self::ServerInfo { .. } => "persistence, memory, replicas, clients, restarts",
            Self::Config => {
                "persistence settings (appendfsync, save), buffer limits, notifications"
            }
            Self::Permissions => "the permissions of its user",
            Self::Leases => "the leases of all its locks",
        }
    }

    /// Why the check was not possible, and how to enable it, in English.
    pub fn reason(&self) -> String {
        match self {
            Self::All(reason) => reason.to_string(),
            Self::ServerInfo { user } => {
                format!("INFO is not permitted; to grant it: ACL SETUSER {user} +info")
            }
            // CONFIG GET also returns passwords, so granting it is not recommended.
            Self::Config => "CONFIG GET is not permitted. It also reveals passwords, so in doubt do not grant it and check the settings manually".to_owned(),
            Self::Permissions => {
                "no connection for the permission check could be opened".to_owned()
            }
            Self::Leases => "it was not scanned completely: timeout (see --timeout), missing permission, or too many keys".to_owned(),
        }
    }
}
