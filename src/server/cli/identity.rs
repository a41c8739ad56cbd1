//! The user of the command line, as label of locks and in the audit log.

use super::text::escape_invisible;
use crate::server::config;

/// `user@host`. It is shown to others in lists and in the audit log, so control characters are
/// escaped.
pub fn user_at_host() -> String {
    let user = ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| config::os_env_var(name)?.into_string().ok())
        .filter(|user| !user.is_empty())
        // The numeric id, because looking up the name may query a directory service.
        .unwrap_or_else(|| format!("uid{}", nix::unistd::getuid()));
    let host = nix::unistd::gethostname()
        .ok()
        .and_then(|host| host.into_string().ok())
        .unwrap_or_default();
    // Operations reject labels above the maximum length.
    escape_invisible(&format!("{user}@{host}"))
        .chars()
        .take(48)
        .collect()
}
