//! Format detection for libraries that the tests do not install: the commands that they send, from
//! the format catalogue, run on a real server.

use lockkeeper::domain::LockKey;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::RedisUrl;
use lockkeeper::server::stores::redis::formats::{DetectedLock, detect};
use redis::aio::MultiplexedConnection;

use crate::support::redis_nodes::{RedisNodes, TestGroup};

pub const UUID_1: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05";
const UUID_2: &str = "9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6";
pub const MADELSON_1: &str = "BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015";
pub const MADELSON_2: &str = "billing-2_7_0f86d081884c7d659a2feaa0c55ad016";
const SYMFONY: &str = "+0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w=";
const VALUE: &str = "Zb1kM5c0P7mJr8xw3uVYHQ";

/// A server that receives the commands of a library.
pub struct Emulator {
    client: MultiplexedConnection,
    pub group: TestGroup,
    now: i64,
    nodes: RedisNodes,
}

impl Emulator {
    pub async fn start() -> Self {
        let nodes = RedisNodes::start(1).await;
        Self {
            client: nodes.0[0].client().await,
            group: nodes.group().await,
            now: Clock::system().now().millis(),
            nodes,
        }
    }

    /// The URL of the server.
    pub fn url(&self) -> RedisUrl {
        self.nodes.0[0].url()
    }

    /// Runs commands, one per line; `@9000` is a timestamp 9000 ms from now.
    pub async fn run(&mut self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words: Vec<String> = line.split(' ').map(|word| self.word(word)).collect();
            let mut command = redis::cmd(&words[0]);
            command.arg(&words[1..]);
            let reply: redis::Value = command.query_async(&mut self.client).await.unwrap();
            assert_ne!(reply, redis::Value::Nil, "{line}");
        }
    }

    fn word(&self, word: &str) -> String {
        match word.strip_prefix('@') {
            Some(ms) => (self.now as f64 + ms.parse::<f64>().unwrap()).to_string(),
            None => word.to_owned(),
        }
    }

    async fn try_detect(&self, key: &str) -> Option<DetectedLock> {
        let key_state = self.group.key_state(&LockKey::from(key)).await?;
        detect(&key_state, false)
    }

    /// Runs commands and describes the detected lock: format, confidence, mode and the labels of
    /// its owners.
    async fn describe_after(&mut self, key: &str, lines: &str) -> String {
        self.run(lines).await;
        let lock = self.try_detect(key).await;
        let lock = lock.unwrap_or_else(|| panic!("{key} is not recognised"));
        let labels = lock.owners.into_iter().map(|owner| owner.owner.label);
        let labels: Vec<String> = labels
            .map(|label| label.unwrap_or_else(|| "-".into()))
            .collect();
        let (confidence, mode) = (lock.confidence, lock.mode);
        format!(
            "{} {confidence:?} {mode:?} {}",
            lock.format,
            labels.join(", ")
        )
    }
}

/// Commands, the key to inspect after them, and the description of the detected lock.
const LAYOUTS: &str = "
HSET plain UUID_1:87 1 | PEXPIRE plain 30000
    => plain => redisson Sure Exclusive 6d1f0c3e thread 87
HSET fair UUID_1:87 1 | PEXPIRE fair 30000 | RPUSH redisson_lock_queue:{fair} UUID_2:1 UUID_2:2 | ZADD redisson_lock_timeout:{fair} @-5 UUID_2:1 @90000 UUID_2:2
    => fair => redisson-fair Sure Exclusive 6d1f0c3e thread 87
HSET fenced UUID_1:87 1 | PEXPIRE fenced 30000 | INCR redisson_lock_token:{fenced}
    => fenced => redisson-fenced Sure Exclusive 6d1f0c3e thread 87
HSET rw mode read UUID_1:87 1 UUID_2:3 2 | SET {rw}:UUID_1:87:rwlock_timeout:1 1 PX 30000 | PEXPIRE rw 30000
    => rw => redisson-read-write Sure Shared 6d1f0c3e thread 87, 9d0e0f5c thread 3
HSET many VALUE UUID_1:87 VALUE:UUID_1:87:expire_time @30000 VALUE:UUID_1:87:lock_count 1 | PEXPIRE many 30000
    => many => redisson-multi Sure Shared 6d1f0c3e thread 87
ZADD {gpu}:timeout @30000 0123456789abcdef @-1 1123456789abcdef | SET gpu 3
    => {gpu}:timeout => redisson-permit-semaphore Sure Shared -
SADD stock.readers MADELSON_1 MADELSON_2 | PEXPIRE stock.readers 30000 | SET stock.writer MADELSON_1_WRITERWAITING NX PX 30000
    => stock.readers => madelson-read-write Sure Shared BILLING-1 pid 812, billing-2 pid 7
ZADD permits @29000.25 MADELSON_1 @29500 MADELSON_2 | PEXPIRE permits 90000
    => permits => madelson-semaphore Sure Shared BILLING-1 pid 812, billing-2 pid 7
ZADD invoice @300000 SYMFONY @300000 __write__ | PEXPIRE invoice 300000
    => invoice => symfony Sure Exclusive -
SET DIGEST 2f3b4c5d6e7f8a9b0c1d2e3f | RPUSH DIGEST:QUEUED 2f3b4c5d6e7f8a9b0c1d2e3f | HSET DIGEST:LOCKED 2f3b4c5d6e7f8a9b0c1d2e3f 1795200485.556
    => DIGEST:LOCKED => sidekiq-unique-jobs Sure Exclusive -
SET shop:gpu:EXISTS 1 | RPUSH shop:gpu:AVAILABLE 0 | HSET shop:gpu:GRABBED 1 1795200485.5
    => shop:gpu:GRABBED => redis-semaphore-rb Sure Shared token 1
SET job-lock:default:mail ADDED:2026-11-20T18:40:00.123Z@worker-7d9f:UUID_1 NX PX 60000
    => job-lock:default:mail => shedlock Sure Exclusive worker-7d9f
SET stock MADELSON_1 NX PX 60000 => stock => madelson Sure Exclusive BILLING-1 pid 812
SET payouts VALUE== NX PX 60000 => payouts => redsync Likely Exclusive -
SET lock:report Zb1kM5c0-7mJr8xw3uVYHQ NX PX 60000 => lock:report => redislock Sure Exclusive -
SET lock:import Yk941JgLndDdI9Ec NX PX 60000 => lock:import => go-zero Likely Exclusive -
SET import Yk941JgLndDdI9Ec NX PX 60000 => import => go-zero Possible Exclusive -
SET shop-database-shop-cache-import Yk941JgLndDdI9Ec NX PX 60000
    => shop-database-shop-cache-import => laravel Likely Exclusive -
SET laravel_unique_job:Mail:7 Yk941JgLndDdI9Ec NX PX 60000
    => laravel_unique_job:Mail:7 => laravel-unique-job Sure Exclusive -
SET s-cache-framework/schedule-9f86 b:1; NX PX 60000
    => s-cache-framework/schedule-9f86 => laravel-schedule Sure Exclusive -
SET PHPREDIS_SESSION:abc_LOCK vm|17171 NX PX 60000
    => PHPREDIS_SESSION:abc_LOCK => phpredis-session Sure Exclusive vm pid 17171
SET {hangfire}:recurring-jobs UUID_1 NX PX 60000 => {hangfire}:recurring-jobs => hangfire Sure Exclusive -
SET activejob_uniqueness:mail:7 UUID_1 NX PX 60000
    => activejob_uniqueness:mail:7 => activejob-uniqueness Sure Exclusive -
SET resque:resque_scheduler_master_lock worker-3:4711 NX PX 60000
    => resque:resque_scheduler_master_lock => resque-scheduler Sure Exclusive worker-3 pid 4711
SET gitlab:exclusive_lease:a UUID_1 NX PX 60000 => gitlab:exclusive_lease:a => gitlab Sure Exclusive -
SET unacked_mutex de0643ec94ee19182e5d96ac99871f9e NX PX 60000 => unacked_mutex => node-redlock Sure Exclusive -
SET registry:lock:a UUID_1 NX PX 60000 => registry:lock:a => plain Likely Exclusive -
";

/// Keys of the same libraries that are not locks, or that belong to waiters.
const AUXILIARY_KEYS: [&str; 6] = [
    "redisson_lock_queue:{fair}",
    "redisson_lock_timeout:{fair}",
    "redisson_lock_token:{fenced}",
    "{rw}:UUID_1:87:rwlock_timeout:1",
    "stock.writer",
    "DIGEST",
];

fn expand(text: &str) -> String {
    let names = [
        ("UUID_1", UUID_1),
        ("UUID_2", UUID_2),
        ("MADELSON_2", MADELSON_2),
        ("MADELSON_1", MADELSON_1),
        ("SYMFONY", SYMFONY),
        ("VALUE", VALUE),
        ("DIGEST", "uniquejobs:9f86d081884c7d659a2feaa0c55ad015"),
    ];
    let all = names.into_iter();
    all.fold(text.to_owned(), |text, (name, value)| {
        text.replace(name, value)
    })
}

#[tokio::test]
async fn formats_are_detected_by_value_key_or_companion_keys() {
    let mut redis = Emulator::start().await;
    let layouts = expand(LAYOUTS).replace("\n    =>", " =>");
    for line in layouts.trim().lines() {
        let parts: Vec<&str> = line.split(" => ").collect();
        let commands = parts[0].replace(" | ", "\n");
        assert_eq!(
            redis.describe_after(parts[1], &commands).await,
            parts[2],
            "{line}"
        );
    }
    for key in AUXILIARY_KEYS {
        assert_eq!(redis.try_detect(&expand(key)).await, None, "{key}");
    }
    for key in ["fair", "stock.readers"] {
        assert_eq!(
            redis.try_detect(key).await.unwrap().waiter_count,
            Some(1),
            "{key}"
        );
    }
}
