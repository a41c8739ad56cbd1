//! The `[audit]` table: whether it is written down who did what. Where, `[storage]` says.

use std::path::PathBuf;

use serde::Deserialize;

use super::{StorageConfig, StorageUrl, environment};

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

/// The file in the state directory that keeps which nodes restarted.
pub(super) fn restarts() -> PathBuf {
    usual_folder().join("restarts.json")
}

/// Where programs keep what must outlive them.
pub(super) fn usual_folder() -> PathBuf {
    // systemd names several folders with colons between them.
    let absolute = |name| {
        let folder = PathBuf::from(environment(name)?.split(':').next()?);
        folder.is_absolute().then_some(folder)
    };
    if let Some(given) = absolute("STATE_DIRECTORY") {
        return given;
    }
    if let Some(state) = absolute("XDG_STATE_HOME") {
        return state.join("lockkeeper");
    }
    if nix::unistd::geteuid().is_root() {
        return PathBuf::from("/var/lib/lockkeeper");
    }
    match absolute("HOME") {
        Some(home) => home.join(".local/state/lockkeeper"),
        None => PathBuf::from("/var/lib/lockkeeper"),
    }
}
