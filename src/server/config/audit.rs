//! The `[audit]` table: where it is written down who did what, and how much of it is kept.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::source::Source;
use super::{ConfigError, environment};

/// Where acts are written down.
///
/// Without `file`, in the state folder: `$STATE_DIRECTORY` of a systemd service, `$XDG_STATE_HOME/lockkeeper`,
/// `/var/lib/lockkeeper` for root, else `~/.local/state/lockkeeper`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditConfig {
    /// `false`: nothing is written down, and acts need nothing to be.
    pub on: bool,
    /// Written to the stream that several consoles share (`to = "state"`), and to no file.
    pub is_shared: bool,
    /// (In the stream) so many lines are kept, about; all of them where it is not said (`most_lines`).
    pub most_lines: Option<u64>,
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
            is_shared: false,
            most_lines: None,
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

    /// Written to the stream that several consoles share.
    pub fn shared() -> Self {
        Self {
            is_shared: true,
            ..Self::default()
        }
    }

    /// The file that is written; nothing where the audit is off, or in no file.
    pub fn path(&self) -> Option<PathBuf> {
        let usual = || usual_folder().join("audit.jsonl");
        let in_file = self.on && !self.is_shared;
        in_file.then(|| self.file.clone().unwrap_or_else(usual))
    }

    /// For a command that goes straight to the nodes: it works also where nothing can be written and nothing says that it must.
    #[must_use]
    pub fn for_command_line(self) -> Self {
        Self {
            is_lenient: self.file.is_none() && !self.is_shared,
            ..self
        }
    }
}

/// The table as it stands in the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    on: Option<bool>,
    to: Option<Spanned<To>>,
    most_lines: Option<Spanned<u64>>,
    file: Option<Spanned<String>>,
    largest_mb: Option<Spanned<u64>>,
    keep: Option<Spanned<u32>>,
}

/// Where it is written.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum To {
    #[default]
    File,
    State,
}

/// Reads the table; what is not in it keeps its default.
pub(super) fn read(
    source: &Source<'_>,
    table: &Table,
    has_state: bool,
) -> Result<AuditConfig, ConfigError> {
    let is_shared = match &table.to {
        Some(to) if *to.get_ref() == To::State && !has_state => {
            return Err(source.error(
                to,
                "there is no [state]: name the Redis that the consoles share, or write to a file",
            ));
        }
        Some(to) => *to.get_ref() == To::State,
        None => false,
    };
    check_kind(source, table, is_shared)?;
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
        is_shared,
        most_lines: table.most_lines.as_ref().map(|most| *most.get_ref()),
        file,
        largest,
        keep,
        is_lenient: false,
    })
}

/// Refuses what is said of the one and belongs to the other.
fn check_kind(source: &Source<'_>, table: &Table, is_shared: bool) -> Result<(), ConfigError> {
    let of_files = "this is said of files, and the audit is a stream in [state]";
    match &table.most_lines {
        Some(most) if !is_shared => {
            return Err(source.error(most, "`most_lines` is said of `to = \"state\"` only"));
        }
        Some(most) if *most.get_ref() < 1_000 => {
            return Err(source.error(most, "`most_lines` must be at least 1000"));
        }
        Some(_) | None => {}
    }
    if !is_shared {
        return Ok(());
    }
    if let Some(file) = &table.file {
        return Err(source.error(file, of_files));
    }
    if let Some(largest) = &table.largest_mb {
        return Err(source.error(largest, of_files));
    }
    match &table.keep {
        Some(keep) => Err(source.error(keep, of_files)),
        None => Ok(()),
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

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
