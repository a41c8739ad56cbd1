//! Format detection of locks that real libraries write to a real server.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use lockkeeper::domain::{Confidence, Format, LockKey, Mode};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::stores::redis::formats::{DetectedLock, detect};

use crate::support::programs::{self, node, python};
use crate::support::redis_nodes::{RedisNodes, TestGroup};

#[tokio::test]
async fn redis_py_tokens_contain_host_and_time() {
    let server = Server::start().await;
    let before = Clock::system().now();
    let tokens = run(&python(), "redis_py.py", &[&server.port()]);
    assert_eq!(tokens.len(), 3);
    for (key, token) in tokens {
        let lock = server.detect_lock(&key).await;
        assert_eq!(
            (lock.format, lock.owners[0].bytes.expose()),
            (Format::RedisPy, token.as_bytes())
        );
        let claimed_at = lock.claimed_at.unwrap();
        assert!(
            claimed_at.millis_since(before) > -1000,
            "{key}: {claimed_at} is before {before}"
        );
        assert!(
            claimed_at <= Clock::system().now().plus_millis(1000),
            "{key}: {claimed_at} is in the future"
        );
        assert_eq!(lock.lease.expires_at().is_some(), key != "nightly");
    }
}

#[tokio::test]
async fn both_versions_of_node_redlock_write_the_same_format() {
    for package in ["redlock", "redlock4"] {
        let server = Server::start().await;
        let tokens = run(
            &node(package),
            "node_redlock.mjs",
            &[&server.port(), package],
        );
        assert_eq!(tokens.len(), 2);
        for (key, token) in tokens {
            let lock = server.detect_lock(&key).await;
            assert_eq!(
                (lock.format, lock.owners[0].bytes.expose()),
                (Format::NodeRedlock, token.as_bytes())
            );
            assert!(lock.lease.expires_at().is_some());
        }
    }
}

#[tokio::test]
async fn node_redisson_writes_a_hash_with_a_hold_count() {
    let server = Server::start().await;
    let fields = run(
        &node("node-redisson"),
        "node_redisson.mjs",
        &[&server.port()],
    );
    let lock = server.detect_lock("order:42").await;
    assert_eq!((lock.format, lock.owners.len()), (Format::Redisson, 1));
    assert_eq!(lock.owners[0].bytes.expose(), fields["order:42"].as_bytes());
    assert_eq!(lock.owners[0].owner.hold_count, Some(2));
    assert!(lock.lease.expires_at().is_some());
}

#[tokio::test]
async fn rslock_writes_binary_tokens() {
    let server = Server::start().await;
    let manager = rslock::LockManager::new(vec![format!("redis://127.0.0.1:{}/", server.port())]);
    let acquired = manager
        .acquire_no_guard("payouts", Duration::from_secs(30))
        .await
        .unwrap();
    let lock = server.detect_lock("payouts").await;
    assert_eq!(
        (lock.format, lock.owners[0].bytes.expose()),
        (Format::Rslock, acquired.val.as_slice())
    );
}

#[tokio::test]
async fn each_python_library_is_detected() {
    let server = Server::start().await;
    let tokens = run(
        &programs::python_with_lock_clients(),
        "python_libraries.py",
        &[&server.port()],
    );
    let expected = [
        (":1:dlock", Format::DjangoRedis, Confidence::Sure),
        ("huey.r.eu.eu.lock.nightly", Format::Huey, Confidence::Sure),
        ("huey.results.app", Format::Huey, Confidence::Sure),
        ("lock:payouts", Format::RedlockPy, Confidence::Likely),
        ("lock:prl", Format::PythonRedisLock, Confidence::Sure),
        ("redbeat::lock", Format::Redbeat, Confidence::Sure),
        ("redlock:printer", Format::Pottery, Confidence::Likely),
        ("rq:scheduler-lock:default", Format::Rq, Confidence::Sure),
    ];
    assert!(
        tokens
            .keys()
            .map(String::as_str)
            .eq(expected.map(|row| row.0))
    );
    for (key, format, confidence) in expected {
        let lock = server.detect_lock(key).await;
        // One in sixteen tokens of redlock-py has the shape of a bsm/redislock token.
        let is_ambiguous = lock.format == Format::Redislock && format == Format::RedlockPy;
        assert!(
            lock.format == format || is_ambiguous,
            "{key}: {}",
            lock.format
        );
        assert!(lock.confidence == confidence || is_ambiguous, "{key}");
        let bytes = lock.owners[0].bytes.expose();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, tokens[key], "{key}");
    }
}

#[tokio::test]
async fn the_job_locks_of_bull_workers_are_detected() {
    for (package, format) in [("bullmq", Format::Bullmq), ("bull", Format::Bull)] {
        let server = Server::start().await;
        let tokens = run(&node(package), "bull.mjs", &[&server.port(), package]);
        let (key, token) = tokens.first_key_value().unwrap();
        let lock = server.detect_lock(key).await;
        assert_eq!(
            (lock.format, lock.confidence, lock.owners[0].bytes.expose()),
            (format, Confidence::Sure, token.as_bytes())
        );
        let label = format!("worker {}", &token[..8]);
        assert_eq!(lock.owners[0].owner.label, Some(label));
        // The timestamps next to a job lock are not locks.
        assert_eq!(server.try_detect("bull:mail:stalled-check").await, None);
    }
}

#[tokio::test]
async fn redis_semaphore_reports_every_owner_of_permits() {
    let server = Server::start().await;
    let tokens = run(
        &node("redis-semaphore"),
        "redis_semaphore.mjs",
        &[&server.port()],
    );
    let mutex = server.detect_lock("mutex:report").await;
    assert_eq!(mutex.format, Format::RedisSemaphore);
    assert_eq!(
        mutex.owners[0].bytes.expose(),
        tokens["mutex:report"].as_bytes()
    );
    let permits = server.detect_lock("semaphore:gpu").await;
    assert_eq!(
        (permits.format, permits.mode),
        (Format::RedisSemaphore, Mode::Shared)
    );
    let owners: Vec<(String, Option<u32>)> = permits
        .owners
        .iter()
        .map(|owner| {
            let id = String::from_utf8(owner.bytes.expose().to_vec()).unwrap();
            (id, owner.owner.hold_count)
        })
        .collect();
    let (first, second) = tokens["semaphore:gpu"].split_once(',').unwrap();
    for expected in [(first.to_owned(), None), (second.to_owned(), Some(2))] {
        assert!(owners.contains(&expected), "{expected:?} in {owners:?}");
    }
    assert_eq!(owners.len(), 2);
}

/// Runs a client script to completion and parses the keys and tokens that it prints.
pub fn run(program: &Path, script: &str, arguments: &[&str]) -> BTreeMap<String, String> {
    run_script(program, script, arguments)
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(key, token)| (key.to_owned(), token.to_owned()))
        .collect()
}

/// Runs a script in `src/tests/clients` and returns what it prints.
pub fn run_script(program: &Path, script: &str, arguments: &[&str]) -> String {
    let script = programs::client_script(script);
    let output = Command::new(program)
        .arg(&script)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let output = output.unwrap_or_else(|error| {
        panic!(
            "{} does not start ({error}); `make setup` installs it",
            program.display()
        )
    });
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}: {printed}{}",
        script.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    printed
}

/// A real server and a group that observes it.
struct Server {
    nodes: RedisNodes,
    group: TestGroup,
}

impl Server {
    async fn start() -> Self {
        let nodes = RedisNodes::start(1).await;
        let group = nodes.group().await;
        Self { nodes, group }
    }

    fn port(&self) -> String {
        self.nodes.0[0].port().to_string()
    }

    async fn detect_lock(&self, key: &str) -> DetectedLock {
        let lock = self.try_detect(key).await;
        lock.unwrap_or_else(|| panic!("{key} is not recognised"))
    }

    /// The lock detected at the key, if any.
    async fn try_detect(&self, key: &str) -> Option<DetectedLock> {
        let key_state = self.group.key_state(&LockKey::from(key)).await.unwrap();
        detect(&key_state, false)
    }
}
