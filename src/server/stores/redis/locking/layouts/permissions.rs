//! The ACL permissions that each layout requires, and error messages that name the missing ones.

use super::Layout;
use crate::domain::reason::{DeniedAccess, Reason};
use crate::server::stores::redis::nodes::node_error::CallError;

/// ACL rules, besides the keys of the locks themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// Key patterns of companion keys.
    pub keys: &'static [&'static str],
    /// Commands.
    pub commands: &'static [&'static str],
    /// Channel patterns. Without them a lock is still released, but no waiter is woken.
    pub channels: &'static [&'static str],
}

/// The key pattern is that of the fencing counter, which is not needed if fencing is disabled.
const STRING: Permissions = Permissions {
    keys: &["~lockkeeper:fence:*"],
    commands: &[
        "+evalsha",
        "+script|load",
        "+type",
        "+pttl",
        "+pexpire",
        "+get",
        "+getrange",
        "+set",
        "+del",
    ],
    channels: &[],
};

const HASH: Permissions = Permissions {
    keys: &["~redisson_unlock_latch:*", "~redisson_lock_token:*"],
    commands: &[
        "+exists", "+hexists", "+hget", "+hkeys", "+hlen", "+hset", "+hincrby", "+hdel", "+incr",
        "+publish",
    ],
    channels: &["&redisson_lock__channel:*"],
};

const QUEUE: Permissions = Permissions {
    keys: &["~redisson_lock_queue:*", "~redisson_lock_timeout:*"],
    commands: &[
        "+lindex", "+lrange", "+lpop", "+lrem", "+rpush", "+zscore", "+zrange", "+zadd",
        "+zincrby", "+zrem",
    ],
    channels: &[],
};

impl Layout {
    /// The permissions to acquire, extend and release: those of strings, and those that the layout
    /// adds.
    pub fn permissions(self) -> &'static [Permissions] {
        match self {
            Self::Plain | Self::Legacy => &[STRING],
            Self::Redisson => &[STRING, HASH],
            Self::RedissonFair => &[STRING, HASH, QUEUE],
        }
    }

    /// Adds the required permissions to a permission error: servers do not report which key was
    /// denied, and within a script not always which command.
    pub(in crate::server::stores::redis::locking) fn add_required_permissions(
        self,
        error: CallError,
    ) -> CallError {
        add_required_permissions(self.permissions(), error)
    }
}

/// Adds those of the given permissions to a permission error that can be missing.
pub(in crate::server::stores::redis::locking) fn add_required_permissions(
    permissions: &[Permissions],
    error: CallError,
) -> CallError {
    match error {
        CallError::Rejected { reason } => CallError::Rejected {
            reason: explain_denial(permissions, reason),
        },
        other => other,
    }
}

/// Adds the permissions that can be missing to a permission error, unless the server named the
/// missing one.
fn explain_denial(permissions: &[Permissions], cause: Reason) -> Reason {
    let rules = |of: fn(&Permissions) -> &'static [&'static str]| -> Vec<String> {
        let rules = permissions.iter().flat_map(of);
        rules.map(|rule| (*rule).to_owned()).collect()
    };
    match cause {
        Reason::PermissionDenied {
            denied: DeniedAccess::Key,
            ..
        } => Reason::MissingKeyPermissions {
            cause: Box::new(cause),
            companion_keys: rules(|permissions| permissions.keys),
        },
        // Only within scripts: otherwise the server names the command.
        Reason::PermissionDenied {
            denied: DeniedAccess::Command,
            command: None,
            ..
        } => Reason::MissingPermissions {
            cause: Box::new(cause),
            rules: rules(|permissions| permissions.commands),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(layout: Layout, reason: Reason) -> Reason {
        let error = layout.add_required_permissions(CallError::Rejected { reason });
        error.reason().clone()
    }

    fn denial(denied: DeniedAccess, command: Option<&str>) -> Reason {
        Reason::PermissionDenied {
            text: "NOPERM".to_owned(),
            denied,
            command: command.map(str::to_owned),
        }
    }

    #[test]
    fn the_keys_that_can_be_missing_are_named() {
        let keys = |layout| match explained(layout, denial(DeniedAccess::Key, None)) {
            Reason::MissingKeyPermissions { companion_keys, .. } => companion_keys,
            other => panic!("{other}"),
        };
        assert_eq!(keys(Layout::Plain), ["~lockkeeper:fence:*"]);
        let fair = keys(Layout::RedissonFair).join(" ");
        for name in ["fence", "latch", "queue", "timeout"] {
            assert!(fair.contains(name), "{fair}");
        }
    }

    #[test]
    fn a_denied_command_is_named_if_the_server_does_not_name_it() {
        let rules = |layout| match explained(layout, denial(DeniedAccess::Command, None)) {
            Reason::MissingPermissions { rules, .. } => rules,
            other => panic!("{other}"),
        };
        let has = |layout, rule: &str| rules(layout).iter().any(|one| one == rule);
        assert!(has(Layout::Legacy, "+set"));
        assert!(has(Layout::Redisson, "+hset"));
        assert!(!has(Layout::Redisson, "+zadd"));
        for clear in [
            denial(DeniedAccess::Command, Some("pexpire")),
            denial(DeniedAccess::Other, None),
            Reason::NoReply { timeout_ms: 500 },
        ] {
            assert_eq!(explained(Layout::Plain, clear.clone()), clear);
        }
    }
}
