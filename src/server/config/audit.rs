//! The `[audit]` table: whether it is written down who did what. Where, `[storage]` says.

use serde::Deserialize;

use super::{StorageConfig, StorageUrl};

/// Whether operations are written down.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditConfig {
    /// `false`: nothing is written down, and operations need nothing to be.
    pub on: bool,
    /// (Not configured: so it is for the command line where no storage is configured) operations of owners are done also where they
    /// cannot be written down.
    #[serde(skip)]
    pub is_lenient: bool,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            on: true,
            is_lenient: false,
        }
    }
}

impl AuditConfig {
    /// Nothing is written down.
    pub fn off() -> Self {
        Self {
            on: false,
            ..Self::default()
        }
    }

    /// For a command that goes straight to the nodes: it works also where nothing can be written and nothing says that it must.
    #[must_use]
    pub fn for_command_line(self, storage: &StorageConfig) -> Self {
        Self {
            is_lenient: storage.url == StorageUrl::default(),
            ..self
        }
    }
}
