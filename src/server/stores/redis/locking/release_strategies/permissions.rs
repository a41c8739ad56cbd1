//! The ACL permissions for force-release by strategy, in addition to those for observing locks and
//! for the keys of the locks themselves.

use crate::domain::library::ReleaseStrategy;
use crate::server::stores::redis::locking::layouts::Permissions;

/// The permissions of every strategy, which also suffice to delete a string. Servers with a
/// compare-and-delete command additionally need `+delifeq` or `+delex`.
pub const COMMON: Permissions = Permissions {
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

const NONE: Permissions = Permissions {
    keys: &[],
    commands: &[],
    channels: &[],
};

/// The additional permissions of a strategy.
pub fn for_strategy(strategy: ReleaseStrategy) -> Permissions {
    match strategy {
        ReleaseStrategy::Value
        | ReleaseStrategy::Unsupported
        | ReleaseStrategy::ZookeeperNode
        | ReleaseStrategy::EtcdKey
        | ReleaseStrategy::Row
        | ReleaseStrategy::Backend => NONE,
        ReleaseStrategy::ValueAndSignal => Permissions {
            keys: &["~lock-signal:*"],
            commands: &["+lpush", "+pexpire"],
            ..NONE
        },
        ReleaseStrategy::ValueAndPublish => Permissions {
            commands: &["+publish"],
            channels: &["&*-channel:*"],
            ..NONE
        },
        ReleaseStrategy::RedissonHash => Permissions {
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
        ReleaseStrategy::RedissonReadWrite => Permissions {
            keys: &["~*:rwlock_timeout:*"],
            commands: &[
                "+hget", "+hlen", "+hkeys", "+hset", "+hdel", "+pexpire", "+publish",
            ],
            channels: &["&redisson_rwlock:*"],
        },
        ReleaseStrategy::RedissonMulti => Permissions {
            commands: &["+hget", "+hdel", "+publish"],
            channels: &["&redisson_lock__channel:*"],
            ..NONE
        },
        ReleaseStrategy::RedissonPermit => Permissions {
            commands: &["+zscore", "+incrby", "+zrem", "+publish"],
            channels: &["&redisson_sc:*"],
            ..NONE
        },
        ReleaseStrategy::SymfonyMember => Permissions {
            commands: &["+zscore", "+zrem", "+zrange", "+pexpireat"],
            ..NONE
        },
        ReleaseStrategy::Member => Permissions {
            commands: &["+zscore", "+zrem"],
            ..NONE
        },
        ReleaseStrategy::ReaderOrWriter => Permissions {
            commands: &["+srem"],
            ..NONE
        },
        ReleaseStrategy::SidekiqJob => Permissions {
            keys: &["~uniquejobs:*"],
            commands: &["+hget", "+hdel", "+exists", "+lpush", "+pexpire", "+zrem"],
            ..NONE
        },
        ReleaseStrategy::ReturnToken => Permissions {
            keys: &["~*:AVAILABLE"],
            commands: &["+hget", "+hdel", "+lpush"],
            ..NONE
        },
        ReleaseStrategy::SuoEntry => Permissions {
            commands: &["+set"],
            ..NONE
        },
        ReleaseStrategy::HashField => Permissions {
            commands: &["+hget", "+hdel"],
            ..NONE
        },
    }
}
