//! An extension puts a lock back on nodes that lost it, as long as a quorum still has it.

use std::time::Duration;

use lockkeeper::domain::{ActOutcome, LockKey};
use lockkeeper::server::locking::{Claim, End, Layout, Want, extend, release};
use redis::AsyncCommands as _;
use serde_json::json;

use crate::api::{group, lock_path};
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::{RedisNodes, TestGroup};

const TTL: Duration = Duration::from_secs(30);

async fn restart_empty(nodes: &mut RedisNodes, group: &TestGroup, n: usize) {
    let before = group.node_is(n, |view| view.run_id.is_some()).await.run_id;
    nodes.0[n].restart_empty().await;
    group
        .node_is(n, |view| view.run_id != before && view.reason.is_none())
        .await;
}

#[tokio::test]
async fn a_lock_that_is_kept_survives_a_rolling_restart_of_all_its_nodes() {
    let mut nodes = RedisNodes::start(5).await;
    let console = TestConsole::start(vec![group("orders", &nodes)])
        .await
        .connected()
        .await;
    let person = console.person();
    let path = |verb| lock_path("orders", b"lock:kept", verb);
    let wanted = json!({"ttl_ms": 3_000, "auto_renew": true});
    let kept = person.post(&path("/acquire"), wanted).await;
    assert_eq!(kept.status, 201, "{}", kept.text);
    let kept = kept.json();
    for n in 0..5 {
        nodes.0[n].restart_empty().await;
        let mut client = nodes.0[n].client().await;
        eventually_is("the lock is there again", async || {
            let value: Option<String> = client.get("lock:kept").await.unwrap();
            value.as_deref() == kept["token"].as_str()
        })
        .await;
    }
    let lock = person.get(&path("")).await.json();
    assert_eq!(lock["verdict"], "held", "{lock}");
    assert_eq!(lock["owner"]["fingerprint"], kept["fingerprint"]);
    let refused = person
        .post(&path("/acquire"), json!({"ttl_ms": 1_000}))
        .await;
    assert_ne!(refused.status, 201, "{}", refused.text);
}

#[tokio::test]
async fn each_layout_is_put_back_as_it_is_elsewhere() {
    for layout in [
        Layout::Plain,
        Layout::Redisson,
        Layout::RedissonFair,
        Layout::Legacy,
    ] {
        let mut nodes = RedisNodes::start(3).await;
        let group = nodes.group().await;
        let key = LockKey::from("lock:a");
        let mut want = Want {
            layout,
            key: key.clone(),
            token: layout.mint("us"),
            ttl: TTL,
            brought: false,
        };
        let won = Claim::new(&group, &want).try_once().await;
        assert!(matches!(won.end, End::Won(_)), "{layout:?} {won:?}");
        let token = won.token.unwrap_or(want.token.clone());
        if layout.counts() {
            // Entered once more.
            want.brought = true;
            let again = Claim::new(&group, &want).try_once().await;
            assert!(matches!(again.end, End::Won(_)), "{layout:?} {again:?}");
        }
        restart_empty(&mut nodes, &group, 0).await;
        // An extension waits for nobody once it has its quorum; the next one finds the node that was slow.
        let mut token = token;
        eventually_is("it is put back where it was lost", async || {
            let extended = extend(&group, &key, &token, TTL).await;
            assert!(
                matches!(extended.end, End::Won(_)),
                "{layout:?} {extended:?}"
            );
            if let Some(written) = extended.token {
                token = written;
            }
            extended.nodes[0].outcome == ActOutcome::Acquired
        })
        .await;
        let mut dumps: Vec<String> = Vec::new();
        for node in &nodes.0 {
            let mut client = node.client().await;
            let dump = if layout.counts() {
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
        for _ in 0..if layout.counts() { 2 } else { 1 } {
            release(&group, &key, &token).await;
        }
        for node in &nodes.0 {
            let mut client = node.client().await;
            eventually_is("it is gone everywhere", async || {
                !client.exists::<_, bool>("lock:a").await.unwrap()
            })
            .await;
        }
    }
}
