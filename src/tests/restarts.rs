//! A node that restarted may have forgotten locks whose owners rely on them: it takes no new ones for a while.

use std::time::Duration;

use lockkeeper::domain::{ActOutcome, LockKey};
use lockkeeper::server::locking::{End, Token, acquire, extend};

use crate::support::ask;
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::ours::won;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes, TestGroup};

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
    won(acquire(&group, &key, &ours, TTL).await);
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
    let mut nodes = RedisNodes(vec![
        RedisNode::start_with(&PERSISTENT).await,
        RedisNode::start_with(&PERSISTENT).await,
        RedisNode::start_with(&PERSISTENT).await,
    ]);
    let group = nodes.group().await;
    let (key, ours) = (LockKey::from("lock:a"), Token::mint("us"));
    won(acquire(&group, &key, &ours, TTL).await);
    for n in 0..3 {
        nodes.0[n].restart().await;
        let view = group.node_is(n, |view| view.restarted_at.is_some()).await;
        assert!(view.votes && view.hazard_until.is_none(), "{view:?}");
    }
    let taken = acquire(&group, &key, &Token::mint("them"), TTL).await.end;
    assert!(matches!(taken, End::Taken { .. }), "{taken:?}");
}

#[tokio::test]
async fn a_node_that_keeps_every_write_only_since_its_restart_has_forgotten_what_was_before() {
    let mut nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    for n in 0..2 {
        nodes.0[n].restart_with(&PERSISTENT).await;
        let view = group.node_is(n, |view| view.restarted_at.is_some()).await;
        assert!(!view.votes && view.hazard_until.is_some(), "{view:?}");
    }
    let end = acquire(&group, &"lock:a".into(), &Token::mint("us"), TTL)
        .await
        .end;
    assert_eq!(end, End::NoQuorum);
}

#[tokio::test]
async fn a_node_that_keeps_no_write_while_it_rewrites_its_file_is_not_one_that_keeps_every_write() {
    let relaxed = [&PERSISTENT[..], &["--no-appendfsync-on-rewrite", "yes"]].concat();
    let mut nodes = RedisNodes::start_with(3, &relaxed).await;
    let group = nodes.group().await;
    group.node_is(0, |view| view.run_id.is_some()).await;
    nodes.0[0].restart().await;
    let view = group.node_is(0, |view| view.restarted_at.is_some()).await;
    assert!(!view.votes && view.hazard_until.is_some(), "{view:?}");
}

/// Seconds since a server was started, as it says.
async fn uptime(node: &RedisNode) -> u64 {
    let info: String = ask(&mut node.client().await, "INFO server").await;
    let told = info
        .lines()
        .find_map(|line| line.strip_prefix("uptime_in_seconds:"));
    told.unwrap().parse().unwrap()
}

#[tokio::test]
async fn who_did_not_see_a_restart_goes_by_how_long_the_nodes_have_been_running() {
    let mut nodes = RedisNodes::start(3).await;
    let mut config = nodes.config();
    config.locking.longest_lease = Duration::from_secs(24);
    let (key, ttl) = (LockKey::from("lock:a"), Duration::from_secs(20));
    let fresh = TestGroup::start(config.clone());
    let attempt = acquire(&fresh, &key, &Token::mint("us"), ttl).await;
    assert!(
        matches!(attempt.end, End::Won(_)),
        "a new group works at once: {attempt:?}"
    );
    eventually_is("the group has been in use for a while", async || {
        uptime(&nodes.0[0]).await >= 5 && uptime(&nodes.0[1]).await >= 5
    })
    .await;
    nodes.0[2].restart_empty().await;

    // As every call from the command line: nothing is known yet, and nobody waits before it asks.
    let newcomer = TestGroup::start(config.clone());
    won(acquire(&newcomer, &"lock:b".into(), &Token::mint("us"), ttl).await);
    let view = newcomer.node_is(2, |view| view.run_id.is_some()).await;
    assert!(
        !view.votes && view.hazard_until.is_some() && view.restarted_at.is_none(),
        "{view:?}"
    );
    assert_eq!(nodes.values(2..3, &"lock:b".into()).await, [None]);
    for n in 0..2 {
        assert!(
            newcomer
                .node_is(n, |view| view.votes)
                .await
                .hazard_until
                .is_none()
        );
    }

    // With one of the older ones down it could make a majority of those that do not remember.
    nodes.0[0].kill().await;
    let newcomer = TestGroup::start(config);
    newcomer.first_attempts().await;
    let attempt = acquire(&newcomer, &"lock:c".into(), &Token::mint("them"), ttl).await;
    assert_eq!(attempt.end, End::NoQuorum, "{attempt:?}");
    assert_eq!(nodes.values(1..3, &"lock:c".into()).await, [None, None]);
}

#[tokio::test]
async fn the_hazard_is_shown_on_the_node_and_on_its_locks() {
    let mut nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let node = async || person.node().await;
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
    nodes
        .set_first(3, b"lock:a", b"someone", Some(60_000))
        .await;
    eventually_is("the lock is flagged", async || {
        let listed = person.get("/api/v1/locks?flag=restart-hazard").await.json();
        listed["total"] == 1
    })
    .await;
}
