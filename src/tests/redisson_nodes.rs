//! Locks in Redisson's layout on several nodes, some of which fail: no key is left over, and no
//! hold is counted twice.

use std::time::Duration;

use lockkeeper::domain::NodeOutcome;
use lockkeeper::server::stores::redis::locking::{
    AcquireAttempt, AcquireParams, AcquireResult, Layout, release,
};
use redis::AsyncCommands as _;

use crate::support::locking::assert_quorum_outcome;
use crate::support::locking::expect_acquired;
use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::redisson::{KEY, OTHER_FIELD, acquire_params, hold_count};
use crate::support::wait_until;

#[tokio::test]
async fn a_failed_redisson_acquire_leaves_no_key_on_any_node() {
    let nodes = RedisNodes::start(3).await;
    let mut config = nodes.config();
    config.locking.fencing = false;
    // Long enough that a busy machine does not delay the rollback's reply beyond it.
    config.command_timeout = Duration::from_secs(3);
    let group = TestGroup::start(config);
    group.wait_until_up().await;
    for n in [1, 2] {
        nodes
            .hset(n, KEY.as_bytes(), OTHER_FIELD.as_bytes(), b"1")
            .await;
        let mut client = nodes.0[n].client().await;
        let () = client.pexpire(KEY, 60_000).await.unwrap();
    }
    let before = nodes.dump(1).await;
    let attempt = AcquireAttempt::new(&group, &acquire_params(Layout::Redisson))
        .try_once()
        .await;
    assert!(
        matches!(
            attempt.result,
            AcquireResult::HeldByOther { owner: Some(_), .. }
        ),
        "{attempt:?}"
    );
    // The two others decide the attempt. The first node may reply before or after that.
    let outcome = &attempt.nodes[0].outcome;
    let is_rolled_back = matches!(outcome, NodeOutcome::Released | NodeOutcome::Pending);
    assert!(is_rolled_back, "{outcome:?}");
    wait_until(
        "the first node has no key of the failed acquire",
        async || nodes.dump(0).await.is_empty(),
    )
    .await;
    assert_eq!(nodes.dump(1).await, before);

    // A caller gives up while two nodes hang that acquire the lock once they resume.
    for n in [1, 2] {
        nodes.delete(n, KEY.as_bytes()).await;
        nodes.0[n].pause().await;
    }
    let params = acquire_params(Layout::Redisson);
    let mut acquire = AcquireAttempt::new(&group, &params);
    let cancelled = tokio::time::timeout(Duration::from_millis(50), acquire.try_once());
    assert!(cancelled.await.is_err());
    drop(acquire);
    for n in [1, 2] {
        nodes.0[n].resume().await;
    }
    wait_until("no node has a key", async || {
        nodes.dump(0).await.is_empty()
            && nodes.dump(1).await.is_empty()
            && nodes.dump(2).await.is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_reentrant_acquire_counts_on_a_quorum_or_is_rolled_back() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let params = acquire_params(Layout::Redisson);
    expect_acquired(AcquireAttempt::new(&group, &params).try_once().await);
    let again = AcquireParams {
        caller_supplied: true,
        ..params.clone()
    };
    expect_acquired(AcquireAttempt::new(&group, &again).try_once().await);
    let field = params.token.expose();
    wait_until("all three nodes count two holds", async || {
        for n in 0..3 {
            if hold_count(&nodes, n, field).await != Some(2) {
                return false;
            }
        }
        true
    })
    .await;

    // The lock is lost on two nodes: a third acquire fails, and the one node that counted it is
    // rolled back.
    for n in [1, 2] {
        nodes.delete(n, KEY.as_bytes()).await;
        nodes
            .hset(n, KEY.as_bytes(), OTHER_FIELD.as_bytes(), b"1")
            .await;
    }
    let attempt = AcquireAttempt::new(&group, &again).try_once().await;
    assert!(
        matches!(attempt.result, AcquireResult::HeldByOther { .. }),
        "{attempt:?}"
    );
    assert_eq!(
        attempt.nodes[0].outcome,
        NodeOutcome::Holds { hold_count: 2 }
    );
    assert_eq!(hold_count(&nodes, 0, field).await, Some(2));

    for n in [1, 2] {
        nodes.delete(n, KEY.as_bytes()).await;
        nodes.hset(n, KEY.as_bytes(), field, b"2").await;
    }
    let released = release(&group, &params.key, &params.token).await;
    assert_quorum_outcome(&released, &NodeOutcome::Holds { hold_count: 1 });
    let released = release(&group, &params.key, &params.token).await;
    assert_quorum_outcome(&released, &NodeOutcome::Released);
}

#[tokio::test]
async fn a_node_that_receives_a_release_twice_counts_it_once() {
    let nodes = RedisNodes::start(3).await;
    let mut config = nodes.config();
    config.command_timeout = Duration::from_millis(300);
    let group = TestGroup::start(config);
    group.wait_until_up().await;
    let owner = acquire_params(Layout::Redisson);
    let field = owner.token.expose();
    for n in 0..3 {
        nodes.hset(n, KEY.as_bytes(), field, b"3").await;
    }
    let script_calls = async || {
        let mut client = nodes.0[2].client().await;
        let mut info = redis::cmd("INFO");
        let stats: String = info
            .arg("commandstats")
            .query_async(&mut client)
            .await
            .unwrap();
        let calls = stats.split("cmdstat_evalsha:calls=").nth(1).unwrap_or("0");
        let calls = calls.split(',').next().unwrap();
        calls.parse::<u32>().unwrap()
    };
    let before = script_calls().await;
    nodes.0[2].pause().await;
    let released = release(&group, &owner.key, &owner.token).await;
    assert_eq!(released[0].outcome, NodeOutcome::Holds { hold_count: 2 });
    assert_eq!(released[1].outcome, NodeOutcome::Holds { hold_count: 2 });
    // The release is sent again only on a new connection, after the old one has timed out.
    group
        .wait_for_node(2, |view| view.state != lockkeeper::domain::NodeState::Up)
        .await;
    nodes.0[2].resume().await;
    wait_until("the node has received the release twice", async || {
        script_calls().await >= before + 2
    })
    .await;
    assert_eq!(hold_count(&nodes, 2, field).await, Some(2));
}
