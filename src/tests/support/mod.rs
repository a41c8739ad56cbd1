//! Test support: real Redis servers, consoles and tools, and waiting for conditions.

pub mod audit;
pub mod busy_client;
pub mod certificates;
pub mod chaos;
pub mod clusters;
pub mod console;
pub mod critical_sections;
pub mod etcd;
pub mod fake_servers;
pub mod force_release;
pub mod keys;
pub mod lock_client;
pub mod locking;
pub mod postgres;
pub mod process;
pub mod programs;
pub mod prometheus;
pub mod proxy;
pub mod redis_nodes;
pub mod redisson;
pub mod section_observer;
pub mod sentinels;
pub mod zookeeper;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use redis::FromRedisValue;
use redis::aio::ConnectionLike;

/// The maximum wait for any condition. Generous, because the machine may be busy.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// How long servers are killed while clients use them: `LOCKKEEPER_SOAK_SECONDS`, or a minute.
pub fn fault_duration() -> Duration {
    const DEFAULT_SECONDS: u64 = 60;
    let seconds = std::env::var_os("LOCKKEEPER_SOAK_SECONDS").map(|text| {
        let number = text.to_str().and_then(|text| text.parse().ok());
        number.expect("LOCKKEEPER_SOAK_SECONDS is a number")
    });
    Duration::from_secs(seconds.unwrap_or(DEFAULT_SECONDS))
}

/// Polls until `poll` returns a value. Panics with `what` after [`WAIT_TIMEOUT`].
pub async fn wait_for<T>(what: &str, mut poll: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = poll().await {
            return value;
        }
        assert!(
            started.elapsed() < WAIT_TIMEOUT,
            "timed out after {WAIT_TIMEOUT:?}: {what}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Polls until the condition is true. Panics with `what` after [`WAIT_TIMEOUT`].
pub async fn wait_until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    wait_for(what, async || condition().await.then_some(())).await;
}

/// Sends a command, split at spaces, and returns the reply.
pub async fn run_command<T: FromRedisValue>(client: &mut impl ConnectionLike, command: &str) -> T {
    let mut words = command.split(' ');
    let mut request = redis::cmd(words.next().unwrap());
    request.arg(words.collect::<Vec<_>>());
    request.query_async(client).await.unwrap()
}

/// The directory in which `make setup` installs redis-py and the newer servers.
pub fn redis_py_dir() -> PathBuf {
    tool_dir("redis-py-8.1.0")
}

/// The directory in which `make setup` installs one tool.
pub fn tool_dir(name: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || Path::new(&std::env::var_os("HOME").unwrap()).join(".cache"),
        PathBuf::from,
    );
    cache.join("lockkeeper/tools").join(name)
}
