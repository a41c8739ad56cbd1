//! Locks whose owners are long dead. They are put there once: when a visitor frees one, it stays free.

use std::time::Duration;

use super::{Nodes, pause, tokens};
use crate::domain::Timestamp;
use crate::server::clock::Clock;

/// The night's report took its lock with redis-py, which sets no TTL unless told to, and crashed.
pub async fn nightly_report(nodes: Nodes) {
    let last_night = ago(Duration::from_secs(7 * 3600 + 42 * 60));
    leave(
        nodes,
        "lock:nightly-report",
        tokens::redis_py(last_night, "0242ac110007"),
    )
    .await;
}

/// An import with a lock of the old kind, whose value is the moment until which it wanted to be done: 20 minutes ago.
pub async fn import(nodes: Nodes) {
    let until = ago(Duration::from_secs(20 * 60)).millis();
    leave(
        nodes,
        "lock:import:legacy",
        format!("{}.{:03}", until / 1000, until % 1000),
    )
    .await;
}

fn ago(span: Duration) -> Timestamp {
    Clock::real()
        .now()
        .plus_millis(-i64::try_from(span.as_millis()).unwrap_or(0))
}

/// Puts a key without TTL on the node, as soon as the node answers.
async fn leave(mut nodes: Nodes, key: &str, token: String) {
    let mut set = redis::cmd("SET");
    set.arg(key).arg(token).arg("NX");
    while nodes
        .each::<redis::Value>(&set)
        .await
        .iter()
        .all(Option::is_none)
    {
        pause(500..1_000).await;
    }
}
