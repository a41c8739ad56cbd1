//! Fencing tokens on real nodes: they increase across clock differences, restarts and other
//! consoles.

use std::time::Duration;

use lockkeeper::domain::{LockKey, NodeOutcome};
use lockkeeper::server::stores::redis::locking::{
    AcquireOutcome, AcquireResult, Token, acquire, fence,
};
use lockkeeper::server::stores::redis::nodes::Group;
use redis::AsyncCommands as _;

use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::run_command;

const TTL: Duration = Duration::from_secs(30);

async fn acquire_token(group: &Group, key: &LockKey) -> (Token, u64) {
    let token = Token::generate("owner-a");
    let attempt = acquire(group, key, &token, TTL).await;
    assert!(
        matches!(attempt.result, AcquireResult::Acquired(_)),
        "{attempt:?}"
    );
    (token, attempt.fence.expect("fencing is on"))
}

/// The counter of each node.
async fn counters(nodes: &RedisNodes, key: &LockKey) -> Vec<Option<u64>> {
    let mut counters = Vec::new();
    for node in &nodes.0 {
        counters.push(
            node.client()
                .await
                .get(fence::counter_key(key))
                .await
                .unwrap(),
        );
    }
    counters
}

async fn set_counter(nodes: &RedisNodes, node: usize, key: &LockKey, value: u64) {
    let mut client = nodes.0[node].client().await;
    let () = client.set(fence::counter_key(key), value).await.unwrap();
}

#[tokio::test]
async fn a_token_is_stored_on_a_quorum_before_it_is_returned() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let key = LockKey::from("lock:a");
    // Counters of consoles whose clocks were years ahead, each on another node.
    let (ahead, further) = (4_000_000_000_000_000, 5_000_000_000_000_000);
    set_counter(&nodes, 0, &key, ahead).await;
    set_counter(&nodes, 1, &key, further).await;
    let (_, fence) = acquire_token(&group, &key).await;
    assert!(fence > ahead, "{fence}");
    let counters = counters(&nodes, &key).await;
    let at_least = counters
        .iter()
        .filter(|counter| **counter >= Some(fence))
        .count();
    assert!(at_least >= 2, "{fence} in {counters:?}");
}

#[tokio::test]
async fn without_fencing_no_counter_is_written() {
    let nodes = RedisNodes::start(1).await;
    let mut config = nodes.config();
    config.locking.fencing = false;
    let group = TestGroup::start(config);
    group.wait_until_up().await;
    let key = LockKey::from("lock:a");
    let attempt = acquire(&group, &key, &Token::generate("owner-a"), TTL).await;
    assert!(
        matches!(attempt.result, AcquireResult::Acquired(_)),
        "{attempt:?}"
    );
    assert_eq!(attempt.fence, None);
    let keys: u64 = run_command(&mut nodes.0[0].client().await, "DBSIZE").await;
    assert_eq!(keys, 1);
}

#[tokio::test]
async fn an_unusable_counter_is_reported_and_no_lock_is_acquired() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let assert_rejected = async |key: &LockKey| -> AcquireOutcome {
        let attempt = acquire(&group, key, &Token::generate("owner-a"), TTL).await;
        assert_eq!(attempt.result, AcquireResult::NoQuorum);
        assert_eq!(nodes.values(0..1, key).await, [None], "no key is left");
        attempt
    };
    for (name, value) in [("lock:text", "many"), ("lock:huge", "9007199254740992")] {
        let key = LockKey::from(name);
        let () = client.set(fence::counter_key(&key), value).await.unwrap();
        let attempt = assert_rejected(&key).await;
        let NodeOutcome::Failed { reason } = &attempt.nodes[0].outcome else {
            panic!("{attempt:?}")
        };
        assert!(reason.to_string().contains("fencing counter"), "{reason}");
    }
    let key = LockKey::from("lock:list");
    let () = client.rpush(fence::counter_key(&key), "x").await.unwrap();
    assert_rejected(&key).await;
}

#[tokio::test]
async fn counters_expire_and_are_never_listed_as_locks() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let key = LockKey::from("lock:a");
    acquire_token(&group, &key).await;
    let ttl_ms: i64 = nodes.0[0]
        .client()
        .await
        .pttl(fence::counter_key(&key))
        .await
        .unwrap();
    let hour = i64::try_from(Duration::from_hours(1).as_millis()).unwrap();
    assert!((hour - 60_000..=hour).contains(&ttl_ms), "{ttl_ms}");

    let console = crate::support::console::TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    crate::support::wait_until("the lock is listed", async || {
        let listed = api.get("/api/v1/locks").await.json();
        assert!(listed["total"].as_u64().unwrap() <= 1, "{listed}");
        listed["total"] == 1
    })
    .await;
}
