//! Libraries that do not install here: what they write, by the catalogue, as plain commands on a real server.

use lockkeeper::domain::{Confidence, Format, LockKey, Mode};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::RedisUrl;
use lockkeeper::server::formats::{Recognised, recognise};
use redis::aio::MultiplexedConnection;

use crate::support::redis_nodes::{RedisNodes, TestGroup};

pub const ONE: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05";
const TWO: &str = "9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6";
pub const MACHINE: &str = "BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015";
pub const OTHER_MACHINE: &str = "billing-2_7_0f86d081884c7d659a2feaa0c55ad016";
const SYMFONY: &str = "+0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w=";
const VALUE: &str = "Zb1kM5c0P7mJr8xw3uVYHQ";

/// A server on which a library's commands are written out.
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
            now: Clock::real().now().millis(),
            nodes,
        }
    }

    /// Where the server is.
    pub fn url(&self) -> RedisUrl {
        self.nodes.0[0].url()
    }

    /// Runs commands, one per line; `@9000` is the moment in so many milliseconds.
    pub async fn run(&mut self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words: Vec<String> = line.split(' ').map(|word| self.word(word)).collect();
            let mut command = redis::cmd(&words[0]);
            command.arg(&words[1..]);
            let answer: redis::Value = command.query_async(&mut self.client).await.unwrap();
            assert_ne!(answer, redis::Value::Nil, "{line}");
        }
    }

    fn word(&self, word: &str) -> String {
        match word.strip_prefix('@') {
            Some(ms) => (self.now as f64 + ms.parse::<f64>().unwrap()).to_string(),
            None => word.to_owned(),
        }
    }

    async fn seen(&self, key: &str) -> Option<Recognised> {
        let sighting = self.group.sighting(&LockKey::from(key)).await?;
        recognise(&sighting, false)
    }

    /// Runs commands and says what became of the key: format, confidence, mode and the owners' labels.
    async fn told(
        &mut self,
        key: &str,
        lines: &str,
    ) -> (Format, Confidence, Mode, Vec<Option<String>>) {
        self.run(lines).await;
        let lock = self.seen(key).await;
        let lock = lock.unwrap_or_else(|| panic!("{key} is not recognised"));
        let labels = lock.owners.into_iter().map(|seen| seen.owner.label);
        (lock.format, lock.confidence, lock.mode, labels.collect())
    }
}

fn labels(labels: &[&str]) -> Vec<Option<String>> {
    labels
        .iter()
        .map(|label| Some((*label).to_owned()))
        .collect()
}

#[tokio::test]
async fn redissons_locks_are_told_by_what_stands_beside_them() {
    let mut redis = Emulator::start().await;
    let (sure, thread) = (Confidence::Sure, labels(&["6d1f0c3e thread 87"]));
    let hold = |key: &str| format!("HSET {key} {ONE}:87 1\nPEXPIRE {key} 30000");
    assert_eq!(
        redis.told("plain", &hold("plain")).await,
        (Format::Redisson, sure, Mode::Exclusive, thread.clone())
    );
    let fair = format!(
        "{}\nRPUSH redisson_lock_queue:{{fair}} {TWO}:1 {TWO}:2
         ZADD redisson_lock_timeout:{{fair}} @-5 {TWO}:1 @90000 {TWO}:2",
        hold("fair")
    );
    assert_eq!(
        redis.told("fair", &fair).await,
        (Format::RedissonFair, sure, Mode::Exclusive, thread.clone())
    );
    assert_eq!(redis.seen("fair").await.unwrap().waiting, Some(1));
    let fenced = format!("{}\nINCR redisson_lock_token:{{fenced}}", hold("fenced"));
    assert_eq!(
        redis.told("fenced", &fenced).await,
        (
            Format::RedissonFenced,
            sure,
            Mode::Exclusive,
            thread.clone()
        )
    );
    let read = format!(
        "HSET rw mode read {ONE}:87 1 {TWO}:3 2
         SET {{rw}}:{ONE}:87:rwlock_timeout:1 1 PX 30000
         PEXPIRE rw 30000"
    );
    assert_eq!(
        redis.told("rw", &read).await,
        (
            Format::RedissonReadWrite,
            sure,
            Mode::Shared,
            labels(&["6d1f0c3e thread 87", "9d0e0f5c thread 3"])
        )
    );
    let companions = [
        "redisson_lock_queue:{fair}".to_owned(),
        "redisson_lock_timeout:{fair}".to_owned(),
        "redisson_lock_token:{fenced}".to_owned(),
        format!("{{rw}}:{ONE}:87:rwlock_timeout:1"),
    ];
    for companion in companions {
        assert_eq!(redis.seen(&companion).await, None, "{companion}");
    }
    let multi = format!(
        "HSET many {VALUE} {ONE}:87 {VALUE}:{ONE}:87:expire_time @30000 {VALUE}:{ONE}:87:lock_count 1
         PEXPIRE many 30000"
    );
    assert_eq!(
        redis.told("many", &multi).await,
        (Format::RedissonMulti, sure, Mode::Shared, thread)
    );
    let permits = "ZADD {gpu}:timeout @30000 0123456789abcdef @-1 1123456789abcdef\nSET gpu 3";
    assert_eq!(
        redis.told("{gpu}:timeout", permits).await,
        (Format::RedissonPermits, sure, Mode::Shared, vec![None])
    );
}

#[tokio::test]
async fn readers_writers_and_permits_of_other_libraries_are_owners() {
    let mut redis = Emulator::start().await;
    let sure = Confidence::Sure;
    let readers = format!(
        "SADD stock.readers {MACHINE} {OTHER_MACHINE}\nPEXPIRE stock.readers 30000
         SET stock.writer {MACHINE}_WRITERWAITING NX PX 30000"
    );
    let both = labels(&["BILLING-1 pid 812", "billing-2 pid 7"]);
    assert_eq!(
        redis.told("stock.readers", &readers).await,
        (Format::MadelsonReadWrite, sure, Mode::Shared, both.clone())
    );
    assert_eq!(redis.seen("stock.readers").await.unwrap().waiting, Some(1));
    assert_eq!(
        redis.seen("stock.writer").await,
        None,
        "who waits holds nothing"
    );
    let semaphore =
        format!("ZADD permits @29000.25 {MACHINE} @29500 {OTHER_MACHINE}\nPEXPIRE permits 90000");
    assert_eq!(
        redis.told("permits", &semaphore).await,
        (Format::MadelsonSemaphore, sure, Mode::Shared, both)
    );
    let written =
        format!("ZADD invoice @300000 {SYMFONY} @300000 __write__\nPEXPIRE invoice 300000");
    assert_eq!(
        redis.told("invoice", &written).await,
        (Format::Symfony, sure, Mode::Exclusive, vec![None])
    );
    let digest = "uniquejobs:9f86d081884c7d659a2feaa0c55ad015";
    let job = format!(
        "SET {digest} 2f3b4c5d6e7f8a9b0c1d2e3f\nRPUSH {digest}:QUEUED 2f3b4c5d6e7f8a9b0c1d2e3f
         HSET {digest}:LOCKED 2f3b4c5d6e7f8a9b0c1d2e3f 1795200485.556"
    );
    assert_eq!(
        redis.told(&format!("{digest}:LOCKED"), &job).await,
        (Format::SidekiqUniqueJobs, sure, Mode::Exclusive, vec![None])
    );
    assert_eq!(redis.seen(digest).await, None);
    let tokens =
        "SET shop:gpu:EXISTS 1\nRPUSH shop:gpu:AVAILABLE 0\nHSET shop:gpu:GRABBED 1 1795200485.5";
    assert_eq!(
        redis.told("shop:gpu:GRABBED", tokens).await,
        (
            Format::RedisSemaphoreRb,
            sure,
            Mode::Shared,
            labels(&["token 1"])
        )
    );
}

#[tokio::test]
async fn strings_are_told_by_value_or_name() {
    let mut redis = Emulator::start().await;
    let (sure, likely, possible) = (Confidence::Sure, Confidence::Likely, Confidence::Possible);
    let shedlock = format!("ADDED:2026-11-20T18:40:00.123Z@worker-7d9f:{ONE}");
    let rows: [(&str, &str, Format, Confidence, Option<&str>); 16] = [
        (
            "job-lock:default:mail",
            &shedlock,
            Format::ShedLock,
            sure,
            Some("worker-7d9f"),
        ),
        (
            "stock",
            MACHINE,
            Format::Madelson,
            sure,
            Some("BILLING-1 pid 812"),
        ),
        (
            "payouts",
            "Zb1kM5c0P7mJr8xw3uVYHQ==",
            Format::Redsync,
            sure,
            None,
        ),
        (
            "lock:report",
            "Zb1kM5c0-7mJr8xw3uVYHQ",
            Format::Redislock,
            sure,
            None,
        ),
        (
            "lock:import",
            "Yk941JgLndDdI9Ec",
            Format::GoZero,
            likely,
            None,
        ),
        ("import", "Yk941JgLndDdI9Ec", Format::GoZero, possible, None),
        (
            "shop-database-shop-cache-import",
            "Yk941JgLndDdI9Ec",
            Format::Laravel,
            likely,
            None,
        ),
        (
            "laravel_unique_job:Mail:7",
            "Yk941JgLndDdI9Ec",
            Format::LaravelUniqueJob,
            sure,
            None,
        ),
        (
            "s-cache-framework/schedule-9f86",
            "b:1;",
            Format::LaravelSchedule,
            sure,
            None,
        ),
        (
            "PHPREDIS_SESSION:abc_LOCK",
            "vm|17171",
            Format::PhpredisSession,
            sure,
            Some("vm pid 17171"),
        ),
        (
            "{hangfire}:recurring-jobs",
            ONE,
            Format::Hangfire,
            sure,
            None,
        ),
        (
            "activejob_uniqueness:mail:7",
            ONE,
            Format::ActivejobUniqueness,
            sure,
            None,
        ),
        (
            "resque:resque_scheduler_master_lock",
            "worker-3:4711",
            Format::ResqueScheduler,
            sure,
            Some("worker-3 pid 4711"),
        ),
        ("gitlab:exclusive_lease:a", ONE, Format::Gitlab, sure, None),
        (
            "unacked_mutex",
            "de0643ec94ee19182e5d96ac99871f9e",
            Format::NodeRedlock,
            sure,
            None,
        ),
        ("registry:lock:a", ONE, Format::Plain, likely, None),
    ];
    for (key, value, format, confidence, label) in rows {
        let set = format!("SET {key} {value} NX PX 60000");
        assert_eq!(
            redis.told(key, &set).await,
            (
                format,
                confidence,
                Mode::Exclusive,
                vec![label.map(str::to_owned)]
            ),
            "{key}"
        );
    }
}
