//! The `[audit]` table: whether operations are recorded. `[storage]` configures where.

use serde::Deserialize;

use super::{StorageConfig, StorageUrl};

/// Whether operations are recorded in the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditConfig {
    /// With `false`, operations are performed without audit entries.
    pub enabled: bool,
    /// Perform operations of lock owners even if the audit entry cannot be written. Not a field of
    /// the file: set for the command line if no storage is configured.
    #[serde(skip)]
    pub allow_unaudited: bool,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            allow_unaudited: false,
        }
    }
}

impl AuditConfig {
    /// No audit log.
    pub fn disabled() -> Self {
        Self {
            enabled: false,
            ..Self::default()
        }
    }

    /// The configuration for a command that runs without a server. Unless storage is configured, a
    /// failed audit write does not prevent the operation.
    #[must_use]
    pub fn for_command_line(self, storage: &StorageConfig) -> Self {
        Self {
            allow_unaudited: storage.url == StorageUrl::default(),
            ..self
        }
    }
}
