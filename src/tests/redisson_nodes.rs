//! Locks in Redisson's layout on several nodes, some of which fail: nothing is left, and nothing is counted twice.

use std::time::Duration;

use lockkeeper::domain::ActOutcome;
use lockkeeper::server::locking::{Claim, End, Layout, Want, release};
use redis::AsyncCommands as _;

use crate::support::eventually_is;
use crate::support::ours::is_done;
use crate::support::ours::won;
use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::redisson::{KEY, THEIRS, holds, want};

#[tokio::test]
async fn a_failed_acquire_leaves_nothing_on_any_node() {
    let nodes = RedisNodes::start(3).await;
    let mut config = nodes.config();
    config.locking.fencing = false;
    config.command_timeout = Duration::from_millis(300);
    let group = TestGroup::start(config);
    group.is_up().await;
    for n in [1, 2] {
        nodes.hash(n, KEY.as_bytes(), THEIRS.as_bytes(), b"1").await;
        let mut client = nodes.0[n].client().await;
        let () = client.pexpire(KEY, 60_000).await.unwrap();
    }
    let before = nodes.dump(1).await;
    let attempt = Claim::new(&group, &want(Layout::Redisson)).try_once().await;
    assert!(
        matches!(attempt.end, End::Taken { owner: Some(_), .. }),
        "{attempt:?}"
    );
    assert_eq!(attempt.nodes[0].outcome, ActOutcome::Released);
    assert!(nodes.dump(0).await.is_empty());
    assert_eq!(nodes.dump(1).await, before);

    // One who goes away while a node hangs that will give the lock once it goes on.
    for n in [1, 2] {
        nodes.delete(n, KEY.as_bytes()).await;
        nodes.0[n].stop().await;
    }
    let wanted = want(Layout::Redisson);
    let mut claim = Claim::new(&group, &wanted);
    let hanging_up = tokio::time::timeout(Duration::from_millis(50), claim.try_once());
    assert!(hanging_up.await.is_err());
    drop(claim);
    for n in [1, 2] {
        nodes.0[n].go_on().await;
    }
    eventually_is("nothing is left", async || {
        nodes.dump(0).await.is_empty()
            && nodes.dump(1).await.is_empty()
            && nodes.dump(2).await.is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_group_of_three_is_entered_again_on_a_quorum_or_not_at_all() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let fresh = want(Layout::Redisson);
    won(Claim::new(&group, &fresh).try_once().await);
    let again = Want {
        brought: true,
        ..fresh.clone()
    };
    won(Claim::new(&group, &again).try_once().await);
    let field = fresh.token.expose();
    eventually_is("all three count", async || {
        for n in 0..3 {
            if holds(&nodes, n, field).await != Some(2) {
                return false;
            }
        }
        true
    })
    .await;

    // It is lost on two nodes: entering a third time fails, and the one node that counted counts down again.
    for n in [1, 2] {
        nodes.delete(n, KEY.as_bytes()).await;
        nodes.hash(n, KEY.as_bytes(), THEIRS.as_bytes(), b"1").await;
    }
    let attempt = Claim::new(&group, &again).try_once().await;
    assert!(matches!(attempt.end, End::Taken { .. }), "{attempt:?}");
    assert_eq!(attempt.nodes[0].outcome, ActOutcome::Holds { holds: 2 });
    assert_eq!(holds(&nodes, 0, field).await, Some(2));

    for n in [1, 2] {
        nodes.delete(n, KEY.as_bytes()).await;
        nodes.hash(n, KEY.as_bytes(), field, b"2").await;
    }
    let released = release(&group, &fresh.key, &fresh.token).await;
    is_done(&released, &ActOutcome::Holds { holds: 1 });
    let released = release(&group, &fresh.key, &fresh.token).await;
    is_done(&released, &ActOutcome::Released);
}

#[tokio::test]
async fn a_node_that_is_told_of_a_release_twice_counts_once() {
    let nodes = RedisNodes::start(3).await;
    let mut config = nodes.config();
    config.command_timeout = Duration::from_millis(300);
    let group = TestGroup::start(config);
    group.is_up().await;
    let owner = want(Layout::Redisson);
    let field = owner.token.expose();
    for n in 0..3 {
        nodes.hash(n, KEY.as_bytes(), field, b"3").await;
    }
    let scripts_run = async || {
        let mut client = nodes.0[2].client().await;
        let mut ask = redis::cmd("INFO");
        let stats: String = ask
            .arg("commandstats")
            .query_async(&mut client)
            .await
            .unwrap();
        let calls = stats.split("cmdstat_evalsha:calls=").nth(1).unwrap_or("0");
        let calls = calls.split(',').next().unwrap();
        calls.parse::<u32>().unwrap()
    };
    let before = scripts_run().await;
    nodes.0[2].stop().await;
    let released = release(&group, &owner.key, &owner.token).await;
    assert_eq!(released[0].outcome, ActOutcome::Holds { holds: 2 });
    assert_eq!(released[1].outcome, ActOutcome::Holds { holds: 2 });
    // Until the connection is given up, nobody tells it a second time.
    group
        .node_is(2, |view| view.state != lockkeeper::domain::NodeState::Up)
        .await;
    nodes.0[2].go_on().await;
    eventually_is("it was told twice", async || {
        scripts_run().await >= before + 2
    })
    .await;
    assert_eq!(holds(&nodes, 2, field).await, Some(2));
}
