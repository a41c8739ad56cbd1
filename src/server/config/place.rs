//! Where the configuration file is, and whether it is believed.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use super::{ConfigError, environment};

/// The file in the working folder.
const HERE: &str = "lockkeeper.toml";

/// The file that the configuration is in: the one that is named, or the first of the usual ones that exists.
pub fn path(named: Option<PathBuf>) -> Option<PathBuf> {
    named.or_else(|| usual_places().into_iter().find(|path| path.is_file()))
}

fn usual_places() -> Vec<PathBuf> {
    let mut places = vec![PathBuf::from(HERE)];
    let users = environment("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| environment("HOME").map(|home| PathBuf::from(home).join(".config")));
    places.extend(users.map(|folder| folder.join("lockkeeper/lockkeeper.toml")));
    places.push(PathBuf::from("/etc/lockkeeper/lockkeeper.toml"));
    places
}

/// Reads the file. One that was found, and not named on the command line, is believed only where it belongs to the user or root and
/// nobody else may write it: it says where passwords from the environment are sent, and which files are written. Anybody may have
/// left one in a folder such as `/tmp`.
pub(super) fn read(path: &Path, is_found: bool) -> Result<String, ConfigError> {
    let cannot =
        |why: std::io::Error| ConfigError(format!("{}: cannot be read: {why}", path.display()));
    let mut file = File::open(path).map_err(cannot)?;
    if is_found {
        // Of the file that was opened: another one may stand under its name a moment later.
        let opened = file.metadata().map_err(cannot)?;
        let entry = std::fs::symlink_metadata(path).map_err(cannot)?;
        let objection = objection(opened.uid(), opened.mode(), geteuid().as_raw())
            .or_else(|| owner_objection(entry.uid(), geteuid().as_raw()));
        if let Some(why) = objection {
            return Err(ConfigError(format!(
                "{}: is not used: {why}. Name it with --config if you trust what is in it, or run `chmod go-w` and `chown` on it",
                path.display()
            )));
        }
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(cannot)?;
    Ok(text)
}

/// Why a file with this owner and mode is not believed by this user.
fn objection(owner: u32, mode: u32, user: u32) -> Option<String> {
    const WRITTEN_BY_OTHERS: u32 = 0o022;
    owner_objection(owner, user).or_else(|| {
        let is_open = mode & WRITTEN_BY_OTHERS != 0;
        is_open.then(|| format!("others may write it (mode {:04o})", mode & 0o7777))
    })
}

fn owner_objection(owner: u32, user: u32) -> Option<String> {
    (owner != user && owner != 0)
        .then(|| format!("it belongs to user {owner}, neither to you (user {user}) nor to root"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_believed_that_only_the_user_or_root_can_have_written() {
        for (owner, mode, user, is_believed) in [
            (1000, 0o100_644, 1000, true),
            (0, 0o100_644, 1000, true),
            (0, 0o100_640, 0, true),
            (1000, 0o100_600, 0, false),
            (1001, 0o100_644, 1000, false),
            (1000, 0o100_664, 1000, false),
            (1000, 0o100_646, 1000, false),
            (0, 0o100_666, 0, false),
        ] {
            let why = objection(owner, mode, user);
            assert_eq!(
                why.is_none(),
                is_believed,
                "{owner} {mode:o} {user}: {why:?}"
            );
        }
    }
}
