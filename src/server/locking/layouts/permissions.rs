//! What the user of a node must be permitted for locks of a layout, and how somebody is told what it lacks.

use super::Layout;
use crate::server::nodes::trouble::{FORBIDDEN, Missed};

/// Rules of an ACL, besides the names of the locks themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// The names beside a lock.
    pub keys: &'static [&'static str],
    /// The commands.
    pub commands: &'static [&'static str],
    /// The channels. Without them a lock is released all the same, and nobody is woken.
    pub channels: &'static [&'static str],
}

/// The name is that of the fence, which is not needed where fencing is off.
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
    /// What is needed to acquire, extend and release: what strings need, and what is added to that.
    pub fn permissions(self) -> &'static [Permissions] {
        match self {
            Self::Plain | Self::Legacy => &[STRING],
            Self::Redisson => &[STRING, HASH],
            Self::RedissonFair => &[STRING, HASH, QUEUE],
        }
    }

    /// A refusal for lack of a permission, with the permission in it: servers do not say which of the names they mean, and
    /// in a script not always which of the commands.
    pub(in crate::server::locking) fn explain(self, missed: Missed) -> Missed {
        explain(self.permissions(), missed)
    }
}

/// A refusal for lack of a permission, with what is needed of these in it.
pub(in crate::server::locking) fn explain(needed: &[Permissions], missed: Missed) -> Missed {
    match missed {
        Missed::Refused { reason } if reason.starts_with(FORBIDDEN) => Missed::Refused {
            reason: match lacks(needed, &reason) {
                Some(rules) => format!("{reason}; its user needs {rules}"),
                None => reason,
            },
        },
        other => other,
    }
}

/// What may be lacking, by the server's words; nothing where they name it.
fn lacks(needed: &[Permissions], reason: &str) -> Option<String> {
    let rules = |of: fn(&Permissions) -> &'static [&'static str]| {
        let rules: Vec<&str> = needed.iter().flat_map(of).copied().collect();
        rules.join(" ")
    };
    if reason.contains("access") && reason.contains(" key") {
        let keys = rules(|needed| needed.keys);
        Some(if keys.is_empty() {
            "the name of the lock".to_owned()
        } else {
            format!("the name of the lock, and beside it {keys}")
        })
    } else if reason.ends_with("this command or subcommand") {
        Some(rules(|needed| needed.commands))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(layout: Layout, reason: &str) -> String {
        let reason = reason.to_owned();
        layout
            .explain(Missed::Refused { reason })
            .reason()
            .to_owned()
    }

    #[test]
    fn a_name_that_may_not_be_used_is_named() {
        for words in [
            "NOPERM this user has no permissions to access one of the keys used as arguments",
            "NOPERM No permissions to access a key",
            "NOPERM The user executing the script can't access at least one of the keys mentioned in the command arguments",
        ] {
            let plain = told(Layout::Plain, words);
            assert!(plain.ends_with("beside it ~lockkeeper:fence:*"), "{plain}");
            let fair = told(Layout::RedissonFair, words);
            for name in ["fence", "latch", "queue", "timeout"] {
                assert!(fair.contains(name), "{fair}");
            }
        }
    }

    #[test]
    fn a_command_is_named_where_the_server_does_not() {
        let words = "NOPERM The user executing the script can't run this command or subcommand";
        let told_of = |layout| told(layout, words);
        assert!(told_of(Layout::Legacy).contains(" +set"));
        assert!(told_of(Layout::Redisson).contains(" +hset"));
        assert!(!told_of(Layout::Redisson).contains(" +zadd"));
        for clear in [
            "NOPERM User k has no permissions to run the 'pexpire' command",
            "no answer within 500 ms",
        ] {
            assert_eq!(told(Layout::Plain, clear), clear);
        }
    }
}
