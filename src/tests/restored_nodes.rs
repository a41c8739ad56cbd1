//! An extension recreates a lock on nodes that lost it, as long as a quorum still has it.

use std::time::Duration;

use lockkeeper::domain::{LockKey, NodeOutcome};
use lockkeeper::server::stores::redis::locking::{
    AcquireAttempt, AcquireParams, AcquireResult, Layout, Token, acquire, extend, release,
};
use redis::AsyncCommands as _;
use serde_json::json;

use crate::api::{group_config, lock_path};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::wait_until;

const TTL: Duration = Duration::from_secs(30);

async fn restart_empty(nodes: &mut RedisNodes, group: &TestGroup, n: usize) {
    let before = group
        .wait_for_node(n, |view| view.run_id.is_some())
        .await
        .run_id;
    nodes.0[n].restart_empty().await;
    group
        .wait_for_node(n, |view| view.run_id != before && view.reason.is_none())
        .await;
}

#[tokio::test]
async fn an_auto_renewed_lock_survives_a_rolling_restart_of_all_nodes() {
    let mut nodes = RedisNodes::start(5).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)])
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    let path = |operation| lock_path("orders", b"lock:renewed", operation);
    let body = json!({"ttl_ms": 3_000, "auto_renew": true});
    let acquired = api.post(&path("/acquire"), body).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let acquired = acquired.json();
    for n in 0..5 {
        nodes.0[n].restart_empty().await;
        let mut client = nodes.0[n].client().await;
        wait_until("the node has the lock again", async || {
            let value: Option<String> = client.get("lock:renewed").await.unwrap();
            value.as_deref() == acquired["token"].as_str()
        })
        .await;
    }
    let lock = api.get(&path("")).await.json();
    assert_eq!(lock["verdict"], "held", "{lock}");
    assert_eq!(lock["owner"]["fingerprint"], acquired["fingerprint"]);
    let rejected = api.post(&path("/acquire"), json!({"ttl_ms": 1_000})).await;
    assert_ne!(rejected.status, 201, "{}", rejected.text);
}

#[tokio::test]
async fn each_layout_is_recreated_with_the_value_of_the_other_nodes() {
    for layout in [
        Layout::Plain,
        Layout::Redisson,
        Layout::RedissonFair,
        Layout::Legacy,
    ] {
        let mut nodes = RedisNodes::start(3).await;
        let group = nodes.group().await;
        let key = LockKey::from("lock:a");
        let mut params = AcquireParams {
            layout,
            key: key.clone(),
            token: layout.generate_token("us"),
            ttl: TTL,
            caller_supplied: false,
        };
        let acquired = AcquireAttempt::new(&group, &params).try_once().await;
        assert!(
            matches!(acquired.result, AcquireResult::Acquired(_)),
            "{layout:?} {acquired:?}"
        );
        let token = acquired.token.unwrap_or(params.token.clone());
        if layout.counts_holds() {
            // A second, reentrant acquire.
            params.caller_supplied = true;
            let again = AcquireAttempt::new(&group, &params).try_once().await;
            assert!(
                matches!(again.result, AcquireResult::Acquired(_)),
                "{layout:?} {again:?}"
            );
        }
        restart_empty(&mut nodes, &group, 0).await;
        // An extension does not wait for slow nodes once it has a quorum; a later one reaches them.
        let mut token = token;
        wait_until("the lock is recreated on node a", async || {
            let extended = extend(&group, &key, &token, TTL).await;
            assert!(
                matches!(extended.result, AcquireResult::Acquired(_)),
                "{layout:?} {extended:?}"
            );
            if let Some(written) = extended.token {
                token = written;
            }
            extended.nodes[0].outcome == NodeOutcome::Acquired
        })
        .await;
        let mut dumps: Vec<String> = Vec::new();
        for node in &nodes.0 {
            let mut client = node.client().await;
            let dump = if layout.counts_holds() {
                let fields: Vec<String> = client.hgetall("lock:a").await.unwrap();
                format!("{fields:?}")
            } else {
                client.get("lock:a").await.unwrap()
            };
            let ttl: i64 = client.pttl("lock:a").await.unwrap();
            assert!(layout == Layout::Legacy || ttl > 20_000, "{layout:?} {ttl}");
            dumps.push(dump);
        }
        assert!(
            dumps.iter().all(|dump| *dump == dumps[0]),
            "{layout:?} {dumps:?}"
        );
        for _ in 0..if layout.counts_holds() { 2 } else { 1 } {
            release(&group, &key, &token).await;
        }
        for node in &nodes.0 {
            let mut client = node.client().await;
            wait_until("the lock is released on every node", async || {
                !client.exists::<_, bool>("lock:a").await.unwrap()
            })
            .await;
        }
    }
}

#[tokio::test]
async fn a_lock_is_not_recreated_without_a_quorum_or_over_another_owner() {
    let mut nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let (key, ours) = (LockKey::from("lock:a"), Token::generate("us"));
    let acquired = acquire(&group, &key, &ours, TTL).await;
    assert!(
        matches!(acquired.result, AcquireResult::Acquired(_)),
        "{acquired:?}"
    );
    nodes.set(2, b"lock:a", b"other-owner", Some(60_000)).await;
    let extended = extend(&group, &key, &ours, TTL).await;
    assert!(
        matches!(extended.result, AcquireResult::Acquired(_)),
        "{extended:?}"
    );
    let value: String = nodes.0[2].client().await.get("lock:a").await.unwrap();
    assert_eq!(value, "other-owner");
    restart_empty(&mut nodes, &group, 0).await;
    let extended = extend(&group, &key, &ours, TTL).await;
    assert!(
        !matches!(extended.result, AcquireResult::Acquired(_)),
        "{extended:?}"
    );
    assert_eq!(nodes.values(0..1, &key).await, [None]);
}
