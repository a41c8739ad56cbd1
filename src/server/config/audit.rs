//! The `[audit]` table: where it is written down who did what, and how much of it is kept.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::file::Source;
use super::{ConfigError, environment};

/// Where acts are written down.
///
/// Without `file`, in the state folder: `$STATE_DIRECTORY` of a systemd service, `$XDG_STATE_HOME/lockkeeper`,
/// `/var/lib/lockkeeper` for root, else `~/.local/state/lockkeeper`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditConfig {
    /// `false`: nothing is written down, and acts need nothing to be.
    pub on: bool,
    /// The file; full ones are beside it.
    pub file: Option<PathBuf>,
    /// How many bytes make a file full (`largest_mb`).
    pub largest: u64,
    /// How many full files are kept; the oldest is removed first.
    pub keep: u32,
    /// (Not configured: so it is for the command line where nothing is configured) acts of owners are done also where they
    /// cannot be written down.
    pub is_lenient: bool,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            on: true,
            file: None,
            largest: 64 * 1024 * 1024,
            keep: 32,
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

    /// Written to this file.
    pub fn to(file: PathBuf) -> Self {
        Self {
            file: Some(file),
            ..Self::default()
        }
    }

    /// The file that is written; nothing where the audit is off.
    pub fn path(&self) -> Option<PathBuf> {
        let usual = || usual_folder().join("audit.jsonl");
        self.on.then(|| self.file.clone().unwrap_or_else(usual))
    }

    /// For a command that goes straight to the nodes: it works also where nothing can be written and nothing says that it must.
    #[must_use]
    pub fn for_command_line(self) -> Self {
        Self {
            is_lenient: self.file.is_none(),
            ..self
        }
    }
}

/// The table as it stands in the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    on: Option<bool>,
    file: Option<Spanned<String>>,
    largest_mb: Option<Spanned<u64>>,
    keep: Option<Spanned<u32>>,
}

/// Reads the table; what is not in it keeps its default.
pub(super) fn read(source: &Source<'_>, table: &Table) -> Result<AuditConfig, ConfigError> {
    let usual = AuditConfig::default();
    let largest = match &table.largest_mb {
        Some(mb) if !(1..=10_240).contains(mb.get_ref()) => {
            return Err(source.error(mb, "`largest_mb` must be from 1 to 10240"));
        }
        Some(mb) => mb.get_ref() * 1024 * 1024,
        None => usual.largest,
    };
    let keep = match &table.keep {
        Some(keep) if *keep.get_ref() == 0 => {
            return Err(source.error(
                keep,
                "`keep` must be at least 1: without a full file, what was just done is gone when one fills up",
            ));
        }
        Some(keep) => *keep.get_ref(),
        None => usual.keep,
    };
    let file = match &table.file {
        Some(file) if file.get_ref().is_empty() || file.get_ref().ends_with('/') => {
            return Err(source.error(file, "`file` must name a file"));
        }
        Some(file) => Some(PathBuf::from(file.get_ref())),
        None => None,
    };
    Ok(AuditConfig {
        on: table.on.unwrap_or(usual.on),
        file,
        largest,
        keep,
        is_lenient: false,
    })
}

/// Where programs keep what must outlive them.
fn usual_folder() -> PathBuf {
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

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
