//! The directory in which the console keeps what has to survive a restart.

use std::path::PathBuf;

use super::environment;

/// The file in the state directory that keeps which nodes restarted.
pub(super) fn restarts() -> PathBuf {
    state_directory().join("restarts.json")
}

/// Where programs keep what must outlive them: what systemd gives, what the XDG base directories say, or the usual place.
pub(super) fn state_directory() -> PathBuf {
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
