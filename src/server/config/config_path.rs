//! Finds the configuration file and checks its owner and permissions.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use super::{ConfigError, env_var};

/// The file in the working directory.
const WORKING_DIRECTORY_FILE: &str = "lockkeeper.toml";

/// The path of the configuration file: `explicit`, or the first default path that exists.
pub fn find_file(explicit: Option<PathBuf>) -> Option<PathBuf> {
    explicit.or_else(|| default_paths().into_iter().find(|path| path.is_file()))
}

fn default_paths() -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::from(WORKING_DIRECTORY_FILE)];
    let user_directory = env_var("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| env_var("HOME").map(|home| PathBuf::from(home).join(".config")));
    paths.extend(user_directory.map(|directory| directory.join("lockkeeper/lockkeeper.toml")));
    paths.push(PathBuf::from("/etc/lockkeeper/lockkeeper.toml"));
    paths
}

/// Reads the file. A file at a default path (`is_default`) must be owned by the user or root and
/// not be writable by others: it decides where passwords from the environment are sent and which
/// files are written, and any user can place one in a directory such as `/tmp`.
pub(super) fn read_file(path: &Path, is_default: bool) -> Result<String, ConfigError> {
    let unreadable =
        |why: std::io::Error| ConfigError(format!("{}: cannot be read: {why}", path.display()));
    let mut file = File::open(path).map_err(unreadable)?;
    if is_default {
        // The metadata of the opened file, because the path may be replaced in the meantime.
        let opened = file.metadata().map_err(unreadable)?;
        let entry = std::fs::symlink_metadata(path).map_err(unreadable)?;
        let reason = distrust_reason(opened.uid(), opened.mode(), geteuid().as_raw())
            .or_else(|| owner_distrust_reason(entry.uid(), geteuid().as_raw()));
        if let Some(reason) = reason {
            return Err(ConfigError(format!(
                "{}: not used, because {reason}. If you trust its content, name it with --config, or correct its owner and mode with chown and `chmod go-w`",
                path.display()
            )));
        }
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// Why `user` must not trust a file with this owner and mode.
fn distrust_reason(owner: u32, mode: u32, user: u32) -> Option<String> {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    owner_distrust_reason(owner, user).or_else(|| {
        let is_writable_by_others = mode & WRITABLE_BY_OTHERS != 0;
        is_writable_by_others
            .then(|| format!("it is writable by others (mode {:04o})", mode & 0o7777))
    })
}

fn owner_distrust_reason(owner: u32, user: u32) -> Option<String> {
    (owner != user && owner != 0)
        .then(|| format!("its owner is user {owner}, neither you (user {user}) nor root"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_are_writable_by_the_user_or_root_alone_are_trusted() {
        for (owner, mode, user, is_trusted) in [
            (1000, 0o100_644, 1000, true),
            (0, 0o100_644, 1000, true),
            (0, 0o100_640, 0, true),
            (1000, 0o100_600, 0, false),
            (1001, 0o100_644, 1000, false),
            (1000, 0o100_664, 1000, false),
            (1000, 0o100_646, 1000, false),
            (0, 0o100_666, 0, false),
        ] {
            let why = distrust_reason(owner, mode, user);
            assert_eq!(
                why.is_none(),
                is_trusted,
                "{owner} {mode:o} {user}: {why:?}"
            );
        }
    }
}
