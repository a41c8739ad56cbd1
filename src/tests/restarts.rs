//! A node that restarted may have forgotten locks whose owners rely on them: it takes no new ones for a while.

use std::time::Duration;

use lockkeeper::domain::{ActOutcome, LockKey};
use lockkeeper::server::locking::{End, Token, acquire, extend};

use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::{RedisNode, RedisNodes, TestGroup};

const TTL: Duration = Duration::from_secs(30);

async fn restart_empty(nodes: &mut RedisNodes, group: &TestGroup, n: usize) {
    let before = group.node_is(n, |view| view.run_id.is_some()).await.run_id;
    nodes.0[n].restart_empty().await;
    group
        .node_is(n, |view| view.run_id != before && view.reason.is_none())
        .await;
}

#[tokio::test]
async fn forgotten_locks_are_not_given_to_a_second_owner() {
    let mut nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let (key, ours, theirs) = (
        LockKey::from("lock:a"),
        Token::mint("us"),
        Token::mint("them"),
    );
    let attempt = acquire(&group, &key, &ours, TTL).await;
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
    for n in [0, 1] {
        restart_empty(&mut nodes, &group, n).await;
    }
    // Two of three know nothing of it, which would be a quorum.
    let attempt = acquire(&group, &key, &theirs, TTL).await;
    assert_eq!(attempt.end, End::NoQuorum, "{attempt:?}");
    let ActOutcome::Failed { reason } = &attempt.nodes[0].outcome else {
        panic!("{attempt:?}")
    };
    assert!(reason.contains("restarted"), "{reason}");
    assert_eq!(nodes.values(0..2, &key).await, [None, None]);
    assert_eq!(
        extend(&group, &key, &ours, TTL).await.end,
        End::NotHeld,
        "its owner learns that it was forgotten"
    );
}

#[tokio::test]
async fn a_restarted_node_takes_locks_again_when_the_longest_lease_is_over() {
    let mut nodes = RedisNodes::start(1).await;
    let mut config = nodes.config();
    config.locking.delayed_restart = true;
    config.locking.longest_lease = Duration::from_secs(2);
    let group = TestGroup::start(config);
    group.is_up().await;
    restart_empty(&mut nodes, &group, 0).await;
    let view = group.node_is(0, |view| !view.votes).await;
    assert!(view.hazard_until.is_some());
    let ttl = Duration::from_secs(1);
    let end = async || {
        acquire(&group, &"lock:a".into(), &Token::mint("us"), ttl)
            .await
            .end
    };
    assert_eq!(end().await, End::NoQuorum);
    group.node_is(0, |view| view.votes).await;
    assert!(matches!(end().await, End::Won(_)));
}

#[tokio::test]
async fn a_node_that_keeps_every_write_is_trusted_at_once() {
    let safe = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut nodes = RedisNodes(vec![
        RedisNode::start_with(&safe).await,
        RedisNode::start_with(&safe).await,
        RedisNode::start_with(&safe).await,
    ]);
    let group = nodes.group().await;
    let (key, ours) = (LockKey::from("lock:a"), Token::mint("us"));
    let attempt = acquire(&group, &key, &ours, TTL).await;
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
    for n in 0..3 {
        nodes.0[n].restart().await;
        let view = group.node_is(n, |view| view.restarted_at.is_some()).await;
        assert!(view.votes && view.hazard_until.is_none(), "{view:?}");
    }
    let taken = acquire(&group, &key, &Token::mint("them"), TTL).await.end;
    assert!(matches!(taken, End::Taken { .. }), "{taken:?}");
}

#[tokio::test]
async fn the_hazard_is_shown_on_the_node_and_on_its_locks() {
    let mut nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let node = async || {
        let groups = person.get("/api/v1/groups").await.json();
        groups["groups"][0]["nodes"][0].clone()
    };
    eventually_is("the node is known", async || {
        node().await["run_id"].is_string()
    })
    .await;
    assert!(node().await["hazard_until"].is_null());
    nodes.0[0].restart_empty().await;
    eventually_is("the restart was seen", async || {
        let node = node().await;
        node["hazard_until"].is_string() && node["votes"] == false && node["state"] == "up"
    })
    .await;
    for n in 0..3 {
        nodes.set(n, b"lock:a", b"someone", Some(60_000)).await;
    }
    eventually_is("the lock is flagged", async || {
        let listed = person.get("/api/v1/locks?flag=restart-hazard").await.json();
        listed["total"] == 1
    })
    .await;
}
