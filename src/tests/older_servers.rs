//! Redis 6.2, the oldest that is watched: it tells of changes, and its locks are taken, renewed, seen and freed as on newer ones.

use std::time::Duration;

use lockkeeper::domain::ActOutcome;
use lockkeeper::server::formats::fingerprint;
use lockkeeper::server::locking::{Claim, End, Layout, Want, extend, release};
use serde_json::json;

use crate::feed::{config, is_about};
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::{RedisNode, RedisNodes};

const TTL: Duration = Duration::from_secs(30);

#[tokio::test]
async fn locks_live_and_end_as_on_newer_servers() {
    let nodes = RedisNodes(vec![RedisNode::start_old().await]);
    let group = nodes.group().await;
    for layout in [
        Layout::Plain,
        Layout::Legacy,
        Layout::Redisson,
        Layout::RedissonFair,
    ] {
        let key = "lock:a".into();
        let want = Want {
            layout,
            key,
            token: layout.mint("us"),
            ttl: TTL,
            brought: false,
        };
        let mut claim = Claim::new(&group, &want);
        let attempt = claim.try_once().await;
        assert!(
            matches!(attempt.end, End::Won(_)),
            "{layout:?}: {attempt:?}"
        );
        let token = attempt.token.unwrap_or_else(|| want.token.clone());
        let attempt = extend(&group, &want.key, &token, TTL * 2).await;
        assert!(
            matches!(attempt.end, End::Won(_)),
            "{layout:?}: {attempt:?}"
        );
        let token = attempt.token.unwrap_or(token);
        let released = release(&group, &want.key, &token).await;
        assert_eq!(released[0].outcome, ActOutcome::Released, "{layout:?}");
    }
}

#[tokio::test]
async fn changes_are_told_and_a_lock_is_freed_for_its_owner() {
    let nodes = RedisNodes(vec![RedisNode::start_old().await]);
    let console = TestConsole::start(vec![config(&nodes)]).await;
    let person = console.person();
    eventually_is("it tells of changes", async || {
        let groups = person.get("/api/v1/groups").await.json();
        groups["groups"][0]["nodes"][0]["feed"] == "tracking"
    })
    .await;
    let mut viewer = person.watch("", None).await;
    viewer.next().await.unwrap();
    nodes.set(0, b"lock:a", b"stuck", Some(20_000)).await;
    viewer
        .until(|told| is_about(told, "appeared", "lock:a"))
        .await;
    nodes.set(0, b"lock:a", b"stuck", Some(40_000)).await;
    viewer
        .until(|told| is_about(told, "renewed", "lock:a"))
        .await;
    let body = json!({"fingerprint": fingerprint(b"stuck"), "reason": "its host is gone"});
    let path = "/api/v1/groups/orders/locks/lock%3Aa/force-release";
    let released = person.post(path, body).await;
    assert_eq!(released.status, 200, "{}", released.text);
    viewer.until(|told| told.data["type"] == "gone").await;
}
