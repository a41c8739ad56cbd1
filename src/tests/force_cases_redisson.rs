//! Redisson's locks, for `force_recipes`.

use lockkeeper::domain::Format;

use crate::force_cases::{Case, NONE};

pub const CASES: &[Case] = &[
    Case {
        name: "Redisson, entered again meanwhile",
        format: Format::Redisson,
        key: "order:42",
        owner: "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87",
        before: "HSET order:42 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87 2\nPEXPIRE order:42 30000",
        meanwhile: "HINCRBY order:42 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87 1",
        after: &[("EXISTS order:42", "0")],
        hears: &[("redisson_lock__channel:{order:42}", "0")],
        ..NONE
    },
    Case {
        name: "Redisson, acquired again meanwhile by the same thread",
        format: Format::Redisson,
        key: "order:42",
        owner: "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87",
        before: "HSET order:42 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87 1\nPEXPIRE order:42 20000",
        meanwhile: "DEL order:42\nHSET order:42 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87 1\nPEXPIRE order:42 30000",
        after: &[("EXISTS order:42", "0")],
        hears: &[("redisson_lock__channel:{order:42}", "0")],
        ..NONE
    },
    Case {
        name: "Redisson's fair lock",
        format: Format::RedissonFair,
        key: "fair",
        owner: "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87",
        before: "HSET fair 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87 1\nPEXPIRE fair 30000
            RPUSH redisson_lock_queue:{fair} 9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:1 9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:2
            ZADD redisson_lock_timeout:{fair} @-5 9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:1 @90000 9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:2",
        meanwhile: "DEL fair\nHSET fair 9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:2 1\nPEXPIRE fair 30000
            DEL redisson_lock_queue:{fair} redisson_lock_timeout:{fair}",
        after: &[
            ("EXISTS fair", "0"),
            ("LRANGE redisson_lock_queue:{fair} 0 -1", "9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:2"),
            ("ZRANGE redisson_lock_timeout:{fair} 0 -1", "9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:2"),
        ],
        hears: &[
            ("redisson_lock__channel:{fair}:9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:2", "0"),
        ],
        ..NONE
    },
    Case {
        name: "Redisson's fenced lock",
        format: Format::RedissonFenced,
        key: "fenced",
        owner: "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87",
        before: "HSET fenced 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87 1\nPEXPIRE fenced 30000\nSET redisson_lock_token:{fenced} 41",
        meanwhile: "DEL fenced\nHSET fenced 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87 1\nPEXPIRE fenced 20000\nINCR redisson_lock_token:{fenced}",
        after: &[("EXISTS fenced", "0"), ("GET redisson_lock_token:{fenced}", "41")],
        hears: &[("redisson_lock__channel:{fenced}", "0")],
        ..NONE
    },
    Case {
        name: "one of two readers of Redisson's",
        format: Format::RedissonReadWrite,
        key: "rw",
        owner: "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87",
        before: "HSET rw mode read 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87 2 9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:3 1
            PEXPIRE rw 60000
            SET {rw}:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:rwlock_timeout:1 1 PX 60000
            SET {rw}:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:rwlock_timeout:2 1 PX 60000
            SET {rw}:9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:3:rwlock_timeout:1 1 PX 19999",
        meanwhile: "HINCRBY rw 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87 1",
        after: &[
            ("HGETALL rw", "mode read 9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:3 1"),
            ("PTTL rw", "1..19999"),
            ("EXISTS {rw}:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:rwlock_timeout:1 {rw}:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:rwlock_timeout:2", "0"),
            ("EXISTS {rw}:9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:3:rwlock_timeout:1", "1"),
        ],
        ..NONE
    },
    Case {
        name: "the last reader of Redisson's",
        format: Format::RedissonReadWrite,
        key: "rw",
        owner: "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87",
        before: "HSET rw mode read 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87 1\nPEXPIRE rw 30000
            SET {rw}:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:rwlock_timeout:1 1 PX 30000",
        meanwhile: "PEXPIRE rw 40000",
        after: &[("DBSIZE", "0")],
        hears: &[("redisson_rwlock:{rw}", "0")],
        ..NONE
    },
    Case {
        name: "a writer of Redisson's that reads too",
        format: Format::RedissonReadWrite,
        key: "rw",
        owner: "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:write",
        before: "HSET rw mode write 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:write 1 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87 1
            PEXPIRE rw 30000\nSET {rw}:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:rwlock_timeout:1 1 PX 30000",
        meanwhile: "HDEL rw 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:write\nHSET rw mode read",
        after: &[("DBSIZE", "0")],
        hears: &[("redisson_rwlock:{rw}", "1")],
        ..NONE
    },
    Case {
        name: "one value of Redisson's multi-lock",
        format: Format::RedissonMulti,
        key: "many",
        owner: "Zb1kM5c0P7mJr8xw3uVYHQ:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87",
        before: "HSET many Zb1kM5c0P7mJr8xw3uVYHQ 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87 \
Zb1kM5c0P7mJr8xw3uVYHQ:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:expire_time @30000 \
Zb1kM5c0P7mJr8xw3uVYHQ:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:lock_count 1 \
Ab1kM5c0P7mJr8xw3uVYHQ 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87 \
Ab1kM5c0P7mJr8xw3uVYHQ:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:expire_time @30000 \
Ab1kM5c0P7mJr8xw3uVYHQ:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:lock_count 1\nPEXPIRE many 30000",
        meanwhile: "HSET many Zb1kM5c0P7mJr8xw3uVYHQ:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:expire_time @40000",
        after: &[
            ("HLEN many", "3"),
            ("HGET many Ab1kM5c0P7mJr8xw3uVYHQ", "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87"),
        ],
        hears: &[("redisson_lock__channel:{many}", "0")],
        ..NONE
    },
    Case {
        name: "a permit of Redisson's",
        format: Format::RedissonPermits,
        key: "{gpu}:timeout",
        owner: "0123456789abcdef",
        before: "ZADD {gpu}:timeout @30000 0123456789abcdef @20000 1123456789abcdef\nSET gpu 3",
        meanwhile: "ZREM {gpu}:timeout 0123456789abcdef\nINCR gpu",
        after: &[("ZRANGE {gpu}:timeout 0 -1", "1123456789abcdef"), ("GET gpu", "4")],
        hears: &[("redisson_sc:{gpu}", "4")],
        ..NONE
    },
];
