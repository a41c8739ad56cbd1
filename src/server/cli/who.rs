//! Who runs this: the label of locks taken from the command line.

use super::text::visible;
use crate::server::config;

/// `user@host`, as far as that is known. Others read it in lists and in the audit: what would hide or forge something there is made
/// visible.
pub fn am_i() -> String {
    let user = ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| config::variable(name)?.into_string().ok())
        .filter(|user| !user.is_empty())
        // Not its name: looking that up may ask the network.
        .unwrap_or_else(|| format!("uid{}", nix::unistd::getuid()));
    let host = nix::unistd::gethostname()
        .ok()
        .and_then(|host| host.into_string().ok())
        .unwrap_or_default();
    // Operations refuse a label that is too long for a lock's owner.
    visible(&format!("{user}@{host}"))
        .chars()
        .take(48)
        .collect()
}
