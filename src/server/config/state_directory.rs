//! The state directory, for data that must survive a restart.

use std::path::PathBuf;

use super::env_var;

/// The file with the restart history of nodes.
pub(super) fn restarts_file() -> PathBuf {
    state_directory().join("restarts.json")
}

/// `STATE_DIRECTORY` (systemd), else `$XDG_STATE_HOME/lockkeeper`, else
/// `~/.local/state/lockkeeper`, or `/var/lib/lockkeeper` for root.
pub(super) fn state_directory() -> PathBuf {
    // systemd separates several directories with colons.
    let absolute = |name| {
        let directory = PathBuf::from(env_var(name)?.split(':').next()?);
        directory.is_absolute().then_some(directory)
    };
    if let Some(directory) = absolute("STATE_DIRECTORY") {
        return directory;
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
