//! Locks whose owners have crashed. Each is created once, so that it stays released after a user
//! releases it.

use std::time::Duration;

use super::{ClientNodes, pause, tokens};
use crate::domain::Timestamp;
use crate::server::clock::Clock;

/// A nightly report acquired its lock with redis-py, which sets no TTL by default, and crashed.
pub async fn nightly_report(nodes: ClientNodes) {
    let last_night = ago(Duration::from_secs(7 * 3600 + 42 * 60));
    create_abandoned(
        nodes,
        "lock:nightly-report",
        tokens::redis_py(last_night, "0242ac110007"),
    )
    .await;
}

/// An import with a timestamp lock, whose value is its own deadline: 20 minutes ago.
pub async fn legacy_import(nodes: ClientNodes) {
    let expired_at = ago(Duration::from_secs(20 * 60)).millis();
    create_abandoned(
        nodes,
        "lock:import:legacy",
        format!("{}.{:03}", expired_at / 1000, expired_at % 1000),
    )
    .await;
}

fn ago(span: Duration) -> Timestamp {
    Clock::system()
        .now()
        .plus_millis(-i64::try_from(span.as_millis()).unwrap_or(0))
}

/// Creates a key without TTL as soon as the node replies.
async fn create_abandoned(mut nodes: ClientNodes, key: &str, token: String) {
    let mut set = redis::cmd("SET");
    set.arg(key).arg(token).arg("NX");
    while nodes
        .query_each::<redis::Value>(&set)
        .await
        .iter()
        .all(Option::is_none)
    {
        pause(500..1_000).await;
    }
}
