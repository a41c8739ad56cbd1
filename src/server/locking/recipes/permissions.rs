//! What the user of a node must be permitted to release others' locks, recipe by recipe, besides watching them and the names of
//! the locks themselves.

use crate::domain::library::Recipe;
use crate::server::locking::layouts::Permissions;

/// What every recipe needs: what deletes a string, too. On servers with a command of their own for that, `+delifeq` or `+delex`.
pub const EVERY: Permissions = Permissions {
    keys: &[],
    commands: &[
        "+evalsha",
        "+script|load",
        "+type",
        "+pttl",
        "+getrange",
        "+del",
    ],
    channels: &[],
};

const NO_MORE: Permissions = Permissions {
    keys: &[],
    commands: &[],
    channels: &[],
};

/// What a recipe needs besides.
pub fn of(recipe: Recipe) -> Permissions {
    match recipe {
        Recipe::Value | Recipe::Nothing => NO_MORE,
        Recipe::ValueAndSignal => Permissions {
            keys: &["~lock-signal:*"],
            commands: &["+lpush", "+pexpire"],
            ..NO_MORE
        },
        Recipe::ValueAndPublish => Permissions {
            commands: &["+publish"],
            channels: &["&*-channel:*"],
            ..NO_MORE
        },
        Recipe::RedissonHash => Permissions {
            keys: &[
                "~redisson_lock_queue:*",
                "~redisson_lock_timeout:*",
                "~redisson_lock_token:*",
            ],
            commands: &[
                "+hexists", "+hget", "+hlen", "+hkeys", "+get", "+lindex", "+zscore", "+lpop",
                "+zrem", "+publish",
            ],
            channels: &["&redisson_lock__channel:*"],
        },
        Recipe::RedissonReadWrite => Permissions {
            keys: &["~*:rwlock_timeout:*"],
            commands: &[
                "+hget", "+hlen", "+hkeys", "+hset", "+hdel", "+pexpire", "+publish",
            ],
            channels: &["&redisson_rwlock:*"],
        },
        Recipe::RedissonMulti => Permissions {
            commands: &["+hget", "+hdel", "+publish"],
            channels: &["&redisson_lock__channel:*"],
            ..NO_MORE
        },
        Recipe::RedissonPermit => Permissions {
            commands: &["+zscore", "+incrby", "+zrem", "+publish"],
            channels: &["&redisson_sc:*"],
            ..NO_MORE
        },
        Recipe::SymfonyMember => Permissions {
            commands: &["+zscore", "+zrem", "+zrange", "+pexpireat"],
            ..NO_MORE
        },
        Recipe::Member => Permissions {
            commands: &["+zscore", "+zrem"],
            ..NO_MORE
        },
        Recipe::ReaderOrWriter => Permissions {
            commands: &["+srem"],
            ..NO_MORE
        },
        Recipe::SidekiqJob => Permissions {
            keys: &["~uniquejobs:*"],
            commands: &["+hget", "+hdel", "+exists", "+lpush", "+pexpire", "+zrem"],
            ..NO_MORE
        },
        Recipe::TokenBack => Permissions {
            keys: &["~*:AVAILABLE"],
            commands: &["+hget", "+hdel", "+lpush"],
            ..NO_MORE
        },
        Recipe::SuoEntry => Permissions {
            commands: &["+set"],
            ..NO_MORE
        },
        Recipe::Field => Permissions {
            commands: &["+hget", "+hdel"],
            ..NO_MORE
        },
    }
}
