//! What tests stand on: real Redis servers, and waiting for what other processes do.

pub mod audit;
pub mod busy;
pub mod certificates;
pub mod clusters;
pub mod console;
pub mod fake_servers;
pub mod force;
pub mod keys;
pub mod ours;
pub mod postgres;
pub mod process;
pub mod programs;
pub mod prometheus;
pub mod proxy;
pub mod redis_nodes;
pub mod redisson;
pub mod sections;
pub mod sentinels;
pub mod storm;
pub mod witness;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use redis::FromRedisValue;
use redis::aio::ConnectionLike;

/// How long anything that should happen may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Asks again and again until there is an answer.
pub async fn eventually<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "waited {PATIENCE:?} in vain: {what}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Asks again and again until it is so.
pub async fn eventually_is(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    eventually(what, async || is_so().await.then_some(())).await;
}

/// What a server answers to a command, whose words stand apart by spaces.
pub async fn ask<T: FromRedisValue>(client: &mut impl ConnectionLike, command: &str) -> T {
    let mut words = command.split(' ');
    let mut asked = redis::cmd(words.next().unwrap());
    asked.arg(words.collect::<Vec<_>>());
    asked.query_async(client).await.unwrap()
}

/// Where `make setup` puts redis-py and the servers that the system does not have.
pub fn tools() -> PathBuf {
    installed("redis-py-8.1.0")
}

/// Where `make setup` puts one of the things it installs.
pub fn installed(folder: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || Path::new(&std::env::var_os("HOME").unwrap()).join(".cache"),
        PathBuf::from,
    );
    cache.join("lockkeeper/tools").join(folder)
}
