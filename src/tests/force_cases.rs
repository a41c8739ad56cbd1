//! The locks of `force_recipes`: what a library wrote, what comes in between, and what is left. Redisson's stand apart.

use lockkeeper::domain::Format;

/// One lock of one library. Lines are commands; `@9000` is a moment in so many milliseconds, `0x91` are bytes.
pub struct Case {
    pub name: &'static str,
    pub format: Format,
    /// The configuration has to say so.
    pub is_pinned: bool,
    pub key: &'static str,
    /// The bytes of the owner that is to go.
    pub owner: &'static str,
    pub before: &'static str,
    /// What happens between our look and our act: after it, nothing of this is ours to release.
    pub meanwhile: &'static str,
    /// Questions, and what they are answered after the release; `1..9` is any such number.
    pub after: &'static [(&'static str, &'static str)],
    /// Channel and payload of everything that is said.
    pub hears: &'static [(&'static str, &'static str)],
}

pub const NONE: Case = Case {
    name: "",
    format: Format::Plain,
    is_pinned: false,
    key: "",
    owner: "",
    before: "",
    meanwhile: "",
    after: &[],
    hears: &[],
};

pub const CASES: &[Case] = &[
    Case {
        name: "a string whose owner writes the same again",
        key: "lock:a",
        owner: "billing-1",
        before: "SET lock:a billing-1 PX 30000",
        meanwhile: "DEL lock:a\nSET lock:a billing-1 PX 40000",
        after: &[("EXISTS lock:a", "0")],
        ..NONE
    },
    Case {
        name: "a string with a fresh token",
        format: Format::NodeRedlock,
        key: "lock:a",
        owner: "de0643ec94ee09182e5d96ac99871f9e",
        before: "SET lock:a de0643ec94ee09182e5d96ac99871f9e PX 30000",
        meanwhile: "SET lock:a 9d0643ec94ee09182e5d96ac99871f9e PX 30000",
        after: &[("EXISTS lock:a", "0")],
        ..NONE
    },
    Case {
        name: "python-redis-lock",
        format: Format::PythonRedisLock,
        key: "lock:prl",
        owner: "sxC0yahykS7gF2Mw5Bu6WBW5",
        before: "SET lock:prl sxC0yahykS7gF2Mw5Bu6WBW5 EX 60\nRPUSH lock-signal:prl 1 1",
        meanwhile: "SET lock:prl sxC0yahykS7gF2Mw5Bu6WBW5 EX 90",
        after: &[
            ("EXISTS lock:prl", "0"),
            ("PTTL lock-signal:prl", "1..1000"),
            ("LRANGE lock-signal:prl 0 -1", "1"),
        ],
        ..NONE
    },
    Case {
        name: "Spring Integration",
        format: Format::SpringIntegration,
        is_pinned: true,
        key: "orders:eu:7",
        owner: "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05",
        before: "SET orders:eu:7 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05 PX 60000",
        meanwhile: "SET orders:eu:7 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05 PX 90000",
        after: &[("EXISTS orders:eu:7", "0")],
        hears: &[
            ("orders-channel:orders:eu:7", "orders:eu:7"),
            ("orders:eu-channel:orders:eu:7", "orders:eu:7"),
        ],
    },
    Case {
        name: "Symfony's writer",
        format: Format::Symfony,
        key: "invoice",
        owner: "+0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w=",
        before: "ZADD invoice @60000 +0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w= @60000 __write__\nPEXPIREAT invoice @60000",
        meanwhile: "ZADD invoice @90000 +0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w=",
        after: &[("EXISTS invoice", "0")],
        ..NONE
    },
    Case {
        name: "one of Symfony's readers",
        format: Format::Symfony,
        key: "invoice",
        owner: "+0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w=",
        before: "ZADD invoice @90000 +0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w= @50000 A0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w=\nPEXPIREAT invoice @90000",
        meanwhile: "ZREM invoice +0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w=",
        after: &[
            ("ZRANGE invoice 0 -1", "A0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w="),
            ("PEXPIREAT invoice @50000 LT", "0"),
            ("PEXPIREAT invoice @50000 GT", "0"),
        ],
        ..NONE
    },
    Case {
        name: "Symfony's string",
        format: Format::Symfony,
        key: "lock:invoice",
        owner: "+0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w=",
        before: "SET lock:invoice +0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w= PX 60000",
        meanwhile: "PEXPIRE lock:invoice 90000",
        after: &[("EXISTS lock:invoice", "0")],
        ..NONE
    },
    Case {
        name: "madelson's mutex",
        format: Format::Madelson,
        key: "stock",
        owner: "BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015",
        before: "SET stock BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015 PX 30000",
        meanwhile: "SET stock BILLING-1_812_0f86d081884c7d659a2feaa0c55ad015 PX 30000",
        after: &[("EXISTS stock", "0")],
        ..NONE
    },
    Case {
        name: "one of madelson's readers",
        format: Format::MadelsonReadWrite,
        key: "stock.readers",
        owner: "BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015",
        before: "SADD stock.readers BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015 billing-2_7_0f86d081884c7d659a2feaa0c55ad016
            PEXPIRE stock.readers 30000\nSET stock.writer billing-3_7_1f86d081884c7d659a2feaa0c55ad016_WRITERWAITING PX 30000",
        meanwhile: "SREM stock.readers BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015",
        after: &[
            ("SMEMBERS stock.readers", "billing-2_7_0f86d081884c7d659a2feaa0c55ad016"),
            ("PTTL stock.readers", "1..30000"),
            ("EXISTS stock.writer", "1"),
        ],
        ..NONE
    },
    Case {
        name: "madelson's writer",
        format: Format::MadelsonReadWrite,
        key: "stock.writer",
        owner: "BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015",
        before: "SET stock.writer BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015 PX 30000",
        meanwhile: "SET stock.writer billing-3_7_1f86d081884c7d659a2feaa0c55ad016_WRITERWAITING PX 30000",
        after: &[("EXISTS stock.writer", "0")],
        ..NONE
    },
    Case {
        name: "madelson's semaphore",
        format: Format::MadelsonSemaphore,
        key: "permits",
        owner: "BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015",
        before: "ZADD permits @30000 BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015 @20000 billing-2_7_0f86d081884c7d659a2feaa0c55ad016\nPEXPIRE permits 90000",
        meanwhile: "ZREM permits BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015",
        after: &[
            ("ZRANGE permits 0 -1", "billing-2_7_0f86d081884c7d659a2feaa0c55ad016"),
            ("PTTL permits", "60000..90000"),
        ],
        ..NONE
    },
    Case {
        name: "several permits of one owner of redis-semaphore (npm)",
        format: Format::RedisSemaphore,
        key: "semaphore:gpu",
        owner: "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05",
        before: "ZADD semaphore:gpu @-10 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05_0 @-10 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05_1 @-20 9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6
            PEXPIRE semaphore:gpu 60000",
        meanwhile: "ZADD semaphore:gpu @-5 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05_0 @-5 6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05_1",
        after: &[("ZRANGE semaphore:gpu 0 -1", "9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6")],
        ..NONE
    },
    Case {
        name: "the only job of sidekiq-unique-jobs",
        format: Format::SidekiqUniqueJobs,
        key: "uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED",
        owner: "2f3b4c5d6e7f8a9b0c1d2e3f",
        before: "SET uniquejobs:9f86d081884c7d659a2feaa0c55ad015 2f3b4c5d6e7f8a9b0c1d2e3f\nSET uniquejobs:9f86d081884c7d659a2feaa0c55ad015:INFO {}
            RPUSH uniquejobs:9f86d081884c7d659a2feaa0c55ad015:PRIMED 2f3b4c5d6e7f8a9b0c1d2e3f
            HSET uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED 2f3b4c5d6e7f8a9b0c1d2e3f 1795200485.556
            HSET uniquejobs:9f86d081884c7d659a2feaa0c55ad015:RUN:LOCKED 3f3b4c5d6e7f8a9b0c1d2e3f 1795200485.556
            ZADD uniquejobs:digests 1795200485 uniquejobs:9f86d081884c7d659a2feaa0c55ad015 1795200485 other",
        meanwhile: "HSET uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED 2f3b4c5d6e7f8a9b0c1d2e3f 1795200486.556",
        after: &[
            ("EXISTS uniquejobs:9f86d081884c7d659a2feaa0c55ad015 uniquejobs:9f86d081884c7d659a2feaa0c55ad015:INFO uniquejobs:9f86d081884c7d659a2feaa0c55ad015:PRIMED uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED", "0"),
            ("LRANGE uniquejobs:9f86d081884c7d659a2feaa0c55ad015:QUEUED 0 -1", "1"),
            ("PTTL uniquejobs:9f86d081884c7d659a2feaa0c55ad015:QUEUED", "1..5000"),
            ("ZRANGE uniquejobs:digests 0 -1", "other"),
            ("HLEN uniquejobs:9f86d081884c7d659a2feaa0c55ad015:RUN:LOCKED", "1"),
        ],
        ..NONE
    },
    Case {
        name: "one of two jobs of sidekiq-unique-jobs",
        format: Format::SidekiqUniqueJobs,
        key: "uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED",
        owner: "2f3b4c5d6e7f8a9b0c1d2e3f",
        before: "SET uniquejobs:9f86d081884c7d659a2feaa0c55ad015 2f3b4c5d6e7f8a9b0c1d2e3f
            HSET uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED 2f3b4c5d6e7f8a9b0c1d2e3f 1795200485.556 3f3b4c5d6e7f8a9b0c1d2e3f 1795200485.6
            ZADD uniquejobs:digests 1795200485 uniquejobs:9f86d081884c7d659a2feaa0c55ad015",
        meanwhile: "HDEL uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED 2f3b4c5d6e7f8a9b0c1d2e3f",
        after: &[
            ("HGETALL uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED", "3f3b4c5d6e7f8a9b0c1d2e3f 1795200485.6"),
            ("EXISTS uniquejobs:9f86d081884c7d659a2feaa0c55ad015", "1"),
            ("ZCARD uniquejobs:digests", "1"),
            ("LRANGE uniquejobs:9f86d081884c7d659a2feaa0c55ad015:QUEUED 0 -1", "1"),
        ],
        ..NONE
    },
    Case {
        name: "a token of redis-semaphore (Ruby), taken by the next one meanwhile",
        format: Format::RedisSemaphoreRb,
        key: "SEMAPHORE:gpu:GRABBED",
        owner: "0x3120313739353230303438352e35",
        before: "SET SEMAPHORE:gpu:EXISTS 1\nRPUSH SEMAPHORE:gpu:AVAILABLE 0\nHSET SEMAPHORE:gpu:GRABBED 1 1795200485.5 2 1795200480.25",
        meanwhile: "HSET SEMAPHORE:gpu:GRABBED 1 1795200486.5",
        after: &[
            ("HGETALL SEMAPHORE:gpu:GRABBED", "2 1795200480.25"),
            ("LRANGE SEMAPHORE:gpu:AVAILABLE 0 -1", "1 0"),
            ("GET SEMAPHORE:gpu:EXISTS", "1"),
        ],
        ..NONE
    },
    Case {
        name: "one of two entries of suo",
        format: Format::Suo,
        key: "report",
        owner: "Zb1kM5c0P7mJr8xw3uVYHQ==",
        before: "SET report 0x9292cb41dac02579600000b85a62316b4d35633050376d4a723878773375565948513d3d92cb41dac02578200000b84162316b4d35633050376d4a723878773375565948513d3d",
        meanwhile: "SET report 0x9392cb41dac02579600000b85a62316b4d35633050376d4a723878773375565948513d3d92cb41dac02578200000b84162316b4d35633050376d4a723878773375565948513d3d92cb41dac0257aa00000b84362316b4d35633050376d4a723878773375565948513d3d",
        after: &[("GET report", "9192cb41dac02578200000b84162316b4d35633050376d4a723878773375565948513d3d"), ("TTL report", "-1")],
        ..NONE
    },
    Case {
        name: "the only entry of suo",
        format: Format::Suo,
        key: "report",
        owner: "Zb1kM5c0P7mJr8xw3uVYHQ==",
        before: "SET report 0x9192cb41dac02579600000b85a62316b4d35633050376d4a723878773375565948513d3d",
        meanwhile: "SET report 0x9192cb41dac02578200000b84162316b4d35633050376d4a723878773375565948513d3d",
        after: &[("GET report", "90"), ("PTTL report", "1..60000")],
        ..NONE
    },
    Case {
        name: "a lock of huey's in the hash of results",
        format: Format::Huey,
        key: "huey.results.app",
        owner: "app.lock.nightly",
        before: "HSET huey.results.app app.lock.nightly 1 app.lock.daily 1 task-7 done",
        meanwhile: "HSET huey.results.app app.lock.nightly 2",
        after: &[("HKEYS huey.results.app", "app.lock.daily task-7")],
        ..NONE
    },
    Case {
        name: "a lock of huey's in a string",
        format: Format::Huey,
        key: "huey.r.eu.eu.lock.nightly",
        owner: "1",
        before: "SET huey.r.eu.eu.lock.nightly 1 PX 30000",
        meanwhile: "PEXPIRE huey.r.eu.eu.lock.nightly 40000",
        after: &[("EXISTS huey.r.eu.eu.lock.nightly", "0")],
        ..NONE
    },
];
