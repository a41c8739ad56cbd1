//! A restarted node may have lost locks that are still valid: it does not count for the quorum for
//! a while.

use std::time::Duration;

use lockkeeper::domain::reason::Reason;
use lockkeeper::domain::{LockKey, NodeOutcome};
use lockkeeper::server::stores::redis::locking::{AcquireResult, Token, acquire, extend};

use crate::support::console::TestConsole;
use crate::support::locking::expect_acquired;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes, TestGroup};
use crate::support::run_command;
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
async fn lost_locks_are_not_given_to_a_second_owner() {
    let mut nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let (key, ours, theirs) = (
        LockKey::from("lock:a"),
        Token::generate("us"),
        Token::generate("them"),
    );
    expect_acquired(acquire(&group, &key, &ours, TTL).await);
    for n in [0, 1] {
        restart_empty(&mut nodes, &group, n).await;
    }
    // Two of three nodes have lost the lock and would be a quorum for another owner.
    let attempt = acquire(&group, &key, &theirs, TTL).await;
    assert_eq!(attempt.result, AcquireResult::NoQuorum, "{attempt:?}");
    assert!(
        matches!(
            attempt.nodes[0].outcome,
            NodeOutcome::Failed {
                reason: Reason::RestartHazard { .. }
            }
        ),
        "{attempt:?}"
    );
    assert_eq!(nodes.values(0..2, &key).await, [None, None]);
    assert_eq!(
        extend(&group, &key, &ours, TTL).await.result,
        AcquireResult::NotHeld,
        "the owner's extend reports the loss"
    );
}

#[tokio::test]
async fn a_restarted_node_is_eligible_again_after_the_longest_lease() {
    let mut nodes = RedisNodes::start(1).await;
    let mut config = nodes.config();
    config.locking.delayed_restart = true;
    config.locking.max_lease = Duration::from_secs(2);
    let group = TestGroup::start(config);
    group.wait_until_up().await;
    restart_empty(&mut nodes, &group, 0).await;
    let view = group.wait_for_node(0, |view| !view.quorum_eligible).await;
    assert!(view.hazard_until.is_some());
    let ttl = Duration::from_secs(1);
    let try_acquire = async || {
        acquire(&group, &"lock:a".into(), &Token::generate("us"), ttl)
            .await
            .result
    };
    assert_eq!(try_acquire().await, AcquireResult::NoQuorum);
    group.wait_for_node(0, |view| view.quorum_eligible).await;
    assert!(matches!(try_acquire().await, AcquireResult::Acquired(_)));
}

#[tokio::test]
async fn a_node_that_persists_every_write_is_eligible_at_once_after_a_restart() {
    let mut nodes = RedisNodes(vec![
        RedisNode::start_with(&PERSISTENT).await,
        RedisNode::start_with(&PERSISTENT).await,
        RedisNode::start_with(&PERSISTENT).await,
    ]);
    let group = nodes.group().await;
    let (key, ours) = (LockKey::from("lock:a"), Token::generate("us"));
    expect_acquired(acquire(&group, &key, &ours, TTL).await);
    for n in 0..3 {
        nodes.0[n].restart().await;
        let view = group
            .wait_for_node(n, |view| view.restarted_at.is_some())
            .await;
        assert!(
            view.quorum_eligible && view.hazard_until.is_none(),
            "{view:?}"
        );
    }
    let result = acquire(&group, &key, &Token::generate("them"), TTL)
        .await
        .result;
    assert!(
        matches!(result, AcquireResult::HeldByOther { .. }),
        "{result:?}"
    );
}

#[tokio::test]
async fn a_node_that_persists_every_write_only_since_its_restart_is_excluded() {
    let mut nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    for n in 0..2 {
        nodes.0[n].restart_with(&PERSISTENT).await;
        let view = group
            .wait_for_node(n, |view| view.restarted_at.is_some())
            .await;
        assert!(
            !view.quorum_eligible && view.hazard_until.is_some(),
            "{view:?}"
        );
    }
    let result = acquire(&group, &"lock:a".into(), &Token::generate("us"), TTL)
        .await
        .result;
    assert_eq!(result, AcquireResult::NoQuorum);
}

#[tokio::test]
async fn a_node_with_no_appendfsync_on_rewrite_is_excluded_after_a_restart() {
    let relaxed = [&PERSISTENT[..], &["--no-appendfsync-on-rewrite", "yes"]].concat();
    let mut nodes = RedisNodes::start_with(3, &relaxed).await;
    let group = nodes.group().await;
    group.wait_for_node(0, |view| view.run_id.is_some()).await;
    nodes.0[0].restart().await;
    let view = group
        .wait_for_node(0, |view| view.restarted_at.is_some())
        .await;
    assert!(
        !view.quorum_eligible && view.hazard_until.is_some(),
        "{view:?}"
    );
}

/// The uptime that a server reports.
async fn uptime_seconds(node: &RedisNode) -> u64 {
    let info: String = run_command(&mut node.client().await, "INFO server").await;
    let uptime = info
        .lines()
        .find_map(|line| line.strip_prefix("uptime_in_seconds:"));
    uptime.unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_console_that_did_not_observe_a_restart_relies_on_the_uptimes_of_the_nodes() {
    let mut nodes = RedisNodes::start(3).await;
    let mut config = nodes.config();
    config.locking.max_lease = Duration::from_secs(24);
    let (key, ttl) = (LockKey::from("lock:a"), Duration::from_secs(20));
    let fresh = TestGroup::start(config.clone());
    let attempt = acquire(&fresh, &key, &Token::generate("us"), ttl).await;
    assert!(
        matches!(attempt.result, AcquireResult::Acquired(_)),
        "a group of new nodes can be used at once: {attempt:?}"
    );
    wait_until("two nodes have been up for 5 s", async || {
        uptime_seconds(&nodes.0[0]).await >= 5 && uptime_seconds(&nodes.0[1]).await >= 5
    })
    .await;
    nodes.0[2].restart_empty().await;

    // Like a CLI command: the group has no record of restarts and acquires immediately.
    let new_group = TestGroup::start(config.clone());
    expect_acquired(acquire(&new_group, &"lock:b".into(), &Token::generate("us"), ttl).await);
    let view = new_group
        .wait_for_node(2, |view| view.run_id.is_some())
        .await;
    assert!(
        !view.quorum_eligible && view.hazard_until.is_some() && view.restarted_at.is_none(),
        "{view:?}"
    );
    assert_eq!(nodes.values(2..3, &"lock:b".into()).await, [None]);
    for n in 0..2 {
        assert!(
            new_group
                .wait_for_node(n, |view| view.quorum_eligible)
                .await
                .hazard_until
                .is_none()
        );
    }

    // With one of the older nodes down, the restarted node would complete a majority without the
    // lost locks.
    nodes.0[0].kill().await;
    let new_group = TestGroup::start(config);
    new_group.wait_for_first_attempts().await;
    let attempt = acquire(&new_group, &"lock:c".into(), &Token::generate("them"), ttl).await;
    assert_eq!(attempt.result, AcquireResult::NoQuorum, "{attempt:?}");
    assert_eq!(nodes.values(1..3, &"lock:c".into()).await, [None, None]);
}

#[tokio::test]
async fn a_restart_hazard_is_shown_on_the_node_and_on_its_locks() {
    let mut nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let node = async || api.first_node().await;
    wait_until("the node is up", async || {
        node().await["run_id"].is_string()
    })
    .await;
    assert!(node().await["hazard_until"].is_null());
    nodes.0[0].restart_empty().await;
    wait_until("the restart is detected", async || {
        let node = node().await;
        node["hazard_until"].is_string()
            && node["quorum_eligible"] == false
            && node["state"] == "up"
    })
    .await;
    nodes
        .set_on_first(3, b"lock:a", b"owner", Some(60_000))
        .await;
    wait_until("the lock is flagged", async || {
        let listed = api.get("/api/v1/locks?flag=restart-hazard").await.json();
        listed["total"] == 1
    })
    .await;
}
