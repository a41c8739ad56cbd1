//! Groups behind sentinels: the primary is followed wherever it goes, with locks held all the while.

use std::time::{Duration, Instant};

use lockkeeper::domain::NodeState;
use lockkeeper::server::config::NodeConfig;
use redis::AsyncCommands as _;
use serde_json::json;

use crate::support::busy::Busy;
use crate::support::console::TestConsole;
use crate::support::fake_servers::FakeServer;
use crate::support::redis_nodes::{RedisNode, TestGroup, url};
use crate::support::sentinels::Watched;
use crate::support::{eventually, eventually_is};

/// What the console may take, after Redis is well again, to be well itself.
const RECOVERS_WITHIN: Duration = Duration::from_secs(5);

fn path(name: &str, act: &str) -> String {
    format!("/api/v1/groups/orders/locks/lock%3A{name}/{act}")
}

#[tokio::test]
async fn a_failover_while_locks_are_taken_is_followed_within_five_seconds() {
    let mut watched = Watched::start().await;
    let console = TestConsole::start(vec![watched.config()]).await;
    let person = console.person();
    let kept = json!({"ttl_ms": 60_000, "auto_renew": true});
    let kept = eventually("the primary is found", async || {
        let kept = person.post(&path("kept", "acquire"), kept.clone()).await;
        (kept.status == 201).then_some(kept)
    })
    .await;
    let busy = Busy::at(&person);
    busy.takes(20).await;

    let before = watched.servers[0].port();
    // What the replicas have not got yet is lost with the primary.
    let mut replica = watched.servers[1].client().await;
    eventually_is("the kept lock is replicated", async || {
        replica.exists("lock:kept").await.unwrap()
    })
    .await;
    watched.servers[0].kill().await;
    eventually_is("the console notices", async || {
        person.node().await["state"] == "down"
    })
    .await;
    watched.primary_other_than(before).await;
    let well_again = Instant::now();
    busy.takes(1).await;
    let took = well_again.elapsed();
    assert!(took < RECOVERS_WITHIN, "{took:?}");
    println!("locks were taken again {took:?} after the new primary took writes");

    // On a busy machine there may be one failover more.
    let node = eventually("the console shows what happened", async || {
        let (node, address) = (person.node().await, watched.address().await?);
        (node["state"] == "up" && node["address"] == address).then_some(node)
    })
    .await;
    assert_ne!(node["address"], format!("127.0.0.1:{before}"));
    assert!(node["moved"]["from"].is_string(), "{node}");
    assert!(
        node["hazard_until"].is_string(),
        "it may have forgotten locks: {node}"
    );
    let lock = eventually("the kept lock is seen there", async || {
        let lock = person.get("/api/v1/groups/orders/locks/lock%3Akept").await;
        (lock.status == 200).then(|| lock.json())
    })
    .await;
    assert_eq!(lock["owner"]["fingerprint"], kept.json()["fingerprint"]);
    assert_eq!(lock["verdict"], "held");
    let acts = busy.was_written_down(&console).await;
    println!("{acts} acts, each with its line");
}

#[tokio::test]
async fn a_failover_that_somebody_asks_for_is_followed_though_the_old_primary_lives_on() {
    let watched = Watched::start().await;
    let group = TestGroup::start(watched.config());
    group.is_up().await;
    let before = watched.servers[0].port();
    watched.sentinels[0].fail_over().await;
    let now = watched.primary_other_than(before).await;
    let view = group
        .node_is(0, |view| {
            view.state == NodeState::Up && view.address == format!("127.0.0.1:{now}")
        })
        .await;
    assert_eq!(view.moved.unwrap().from, format!("127.0.0.1:{before}"));
}

#[tokio::test]
async fn without_any_sentinel_the_last_known_primary_is_kept_and_an_unknown_one_is_told() {
    let mut watched = Watched::start().await;
    let group = TestGroup::start(watched.config());
    group.is_up().await;
    for sentinel in &mut watched.sentinels {
        sentinel.kill().await;
    }
    let met_later = TestGroup::start(watched.config());
    let view = met_later
        .node_is(0, |view| {
            view.reason
                .as_deref()
                .is_some_and(|why| why.contains("refused"))
        })
        .await;
    assert!(
        view.reason
            .unwrap()
            .contains("no sentinel tells where the primary \"mymaster\" is")
    );
    assert_eq!(view.address, "mymaster");
    assert_eq!(group.nodes()[0].state, NodeState::Up);
}

#[tokio::test]
async fn one_sentinel_that_lies_sends_nobody_anywhere() {
    let watched = Watched::start().await;
    let another = RedisNode::start().await;
    let liar = FakeServer::sentinel_naming(another.port()).await;
    let mut config = watched.config();
    config.sentinels[0] = NodeConfig::new("s0", url(&liar.url()));
    let console = TestConsole::start(vec![config]).await;
    let person = console.person();
    eventually_is("a lock is taken", async || {
        let body = json!({"ttl_ms": 60_000});
        person.post(&path("a", "acquire"), body).await.status == 201
    })
    .await;
    let mut primary = watched.servers[0].client().await;
    assert!(primary.exists::<_, bool>("lock:a").await.unwrap());
    let mut elsewhere = another.client().await;
    assert!(!elsewhere.exists::<_, bool>("lock:a").await.unwrap());
    assert_eq!(
        person.node().await["address"],
        format!("127.0.0.1:{}", watched.servers[0].port())
    );
}
