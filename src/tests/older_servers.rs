//! Redis 6.2, the oldest supported version: change feed, acquire, extend, release and force-release
//! work as on newer servers.

use std::time::Duration;

use lockkeeper::domain::NodeOutcome;
use lockkeeper::server::stores::redis::formats::fingerprint;
use lockkeeper::server::stores::redis::locking::{
    AcquireAttempt, AcquireParams, AcquireResult, Layout, extend, release,
};
use serde_json::json;

use crate::change_feed::{config, is_change};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::{RedisNode, RedisNodes};
use crate::support::wait_until;

const TTL: Duration = Duration::from_secs(30);

#[tokio::test]
async fn every_layout_is_acquired_extended_and_released_on_redis_6_2() {
    let nodes = RedisNodes(vec![RedisNode::start_redis_6_2().await]);
    let group = nodes.group().await;
    for layout in [
        Layout::Plain,
        Layout::Legacy,
        Layout::Redisson,
        Layout::RedissonFair,
    ] {
        let key = "lock:a".into();
        let params = AcquireParams {
            layout,
            key,
            token: layout.generate_token("us"),
            ttl: TTL,
            caller_supplied: false,
        };
        let mut acquire = AcquireAttempt::new(&group, &params);
        let attempt = acquire.try_once().await;
        assert!(
            matches!(attempt.result, AcquireResult::Acquired(_)),
            "{layout:?}: {attempt:?}"
        );
        let token = attempt.token.unwrap_or_else(|| params.token.clone());
        let attempt = extend(&group, &params.key, &token, TTL * 2).await;
        assert!(
            matches!(attempt.result, AcquireResult::Acquired(_)),
            "{layout:?}: {attempt:?}"
        );
        let token = attempt.token.unwrap_or(token);
        let released = release(&group, &params.key, &token).await;
        assert_eq!(released[0].outcome, NodeOutcome::Released, "{layout:?}");
    }
}

#[tokio::test]
async fn changes_are_sent_and_a_lock_is_force_released() {
    let nodes = RedisNodes(vec![RedisNode::start_redis_6_2().await]);
    let console = TestConsole::start(vec![config(&nodes)]).await;
    let api = console.api();
    wait_until("the change feed is up", async || {
        let groups = api.get("/api/v1/groups").await.json();
        groups["groups"][0]["nodes"][0]["feed"] == "tracking"
    })
    .await;
    let mut subscriber = api.subscribe("", None).await;
    subscriber.next().await.unwrap();
    nodes.set(0, b"lock:a", b"stuck", Some(20_000)).await;
    subscriber
        .wait_for(|event| is_change(event, "appeared", "lock:a"))
        .await;
    nodes.set(0, b"lock:a", b"stuck", Some(40_000)).await;
    subscriber
        .wait_for(|event| is_change(event, "renewed", "lock:a"))
        .await;
    let body = json!({"fingerprint": fingerprint(b"stuck"), "reason": "its host is gone"});
    let path = "/api/v1/groups/orders/locks/lock%3Aa/force-release";
    let released = api.post(path, body).await;
    assert_eq!(released.status, 200, "{}", released.text);
    subscriber
        .wait_for(|event| event.data["type"] == "gone")
        .await;
}
