//! Locking while nodes are down, hang or recover.

use std::time::{Duration, Instant};

use lockkeeper::domain::reason::Reason;
use lockkeeper::domain::{LockKey, NodeOutcome, NodeState};
use lockkeeper::server::stores::redis::locking::{
    AcquireAttempt, AcquireParams, AcquireResult, Token, acquire, extend, release,
};
use redis::AsyncCommands as _;

use crate::support::locking::expect_acquired;
use crate::support::locking::outcomes;
use crate::support::redis_nodes::{RedisNodes, TestGroup, config_for_urls};
use crate::support::wait_until;

const TTL: Duration = Duration::from_secs(30);

#[tokio::test]
async fn locking_works_without_a_minority_and_fails_without_a_majority_leaving_no_key() {
    let mut nodes = RedisNodes::start(5).await;
    let group = nodes.group().await;
    let key = LockKey::from("lock:a");
    nodes.0[3].kill().await;
    nodes.0[4].kill().await;
    let token = Token::generate("us");
    let attempt = acquire(&group, &key, &token, TTL).await;
    assert!(
        matches!(attempt.result, AcquireResult::Acquired(_)),
        "{attempt:?}"
    );
    assert!(matches!(
        &attempt.nodes[4].outcome,
        NodeOutcome::Failed { .. }
    ));
    expect_acquired(extend(&group, &key, &token, TTL).await);
    assert_eq!(
        outcomes(&release(&group, &key, &token).await)[..3],
        vec![NodeOutcome::Released; 3]
    );

    nodes.0[2].kill().await;
    let attempt = acquire(&group, &key, &Token::generate("us"), TTL).await;
    assert_eq!(attempt.result, AcquireResult::NoQuorum);
    assert_eq!(
        outcomes(&attempt.nodes)[..2],
        vec![NodeOutcome::Released; 2]
    );
    assert_eq!(nodes.values(0..2, &key).await, [None, None]);
}

#[tokio::test]
async fn an_inspection_and_an_acquire_time_out_when_all_nodes_hang() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    for node in &nodes.0 {
        node.pause().await;
    }
    let key = [LockKey::from("lock:a")];
    let token = Token::generate("us");
    let began = Instant::now();
    let (inspection, attempt) =
        tokio::join!(group.inspect(&key), acquire(&group, &key[0], &token, TTL));
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    assert!(inspection.nodes.iter().all(|node| node.result.is_err()));
    assert_eq!(attempt.result, AcquireResult::NoQuorum);
}

#[tokio::test]
async fn keys_of_the_first_attempt_are_rolled_back_although_no_node_replies_to_the_second() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let key = LockKey::from("lock:a");
    for node in [0, 2] {
        let mut client = nodes.0[node].client().await;
        let () = client.pset_ex("lock:a", "another", 60_000).await.unwrap();
    }
    nodes.0[1].pause().await;

    let params = AcquireParams {
        caller_supplied: true,
        ..AcquireParams::plain(&key, &Token::generate("us"), Duration::from_mins(10))
    };
    let mut attempts = AcquireAttempt::new(&group, &params);
    let first = attempts.try_once().await;
    assert!(
        matches!(first.result, AcquireResult::HeldByOther { .. }),
        "{first:?}"
    );
    nodes.0[0].pause().await;
    nodes.0[2].pause().await;
    assert_eq!(attempts.try_once().await.result, AcquireResult::NoQuorum);
    drop(attempts);
    // The requests of the first attempt arrive only now.
    for node in &nodes.0 {
        node.resume().await;
    }
    group.wait_until_up().await;
    let another = Some(b"another".to_vec());
    wait_until("the console's value is on no node", async || {
        nodes.values(0..3, &key).await == [another.clone(), None, another.clone()]
    })
    .await;
}

#[tokio::test]
async fn an_acquire_fails_at_once_when_no_node_was_ever_reachable() {
    let urls: Vec<String> = (0..3)
        .map(|_| {
            format!(
                "redis://127.0.0.1:{}",
                crate::support::redis_nodes::free_port()
            )
        })
        .collect();
    let group = TestGroup::start(config_for_urls(&urls));
    let began = Instant::now();
    let attempt = acquire(&group, &"lock:a".into(), &Token::generate("us"), TTL).await;
    assert_eq!(attempt.result, AcquireResult::NoQuorum);
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        attempt.nodes[0].outcome,
        NodeOutcome::Failed {
            reason: Reason::ConnectionRefused
        }
    );
}

#[tokio::test]
async fn a_repeated_release_does_not_release_a_later_hold_with_the_same_token() {
    let nodes = RedisNodes::start(3).await;
    let mut config = nodes.config();
    config.command_timeout = Duration::from_millis(300);
    let group = TestGroup::start(config);
    group.wait_until_up().await;
    let (key, token) = (LockKey::from("lock:a"), Token::generate("us"));
    let params = AcquireParams {
        caller_supplied: true,
        ..AcquireParams::plain(&key, &token, TTL)
    };
    acquire(&group, &key, &token, TTL).await;
    nodes.0[2].pause().await;
    release(&group, &key, &token).await;
    nodes.0[2].resume().await;
    wait_until("the node receives the release", async || {
        nodes.get(2, key.as_bytes()).await.is_none()
    })
    .await;
    group
        .wait_for_node(2, |view| view.state == NodeState::Up)
        .await;
    expect_acquired(AcquireAttempt::new(&group, &params).try_once().await);
    wait_until("all three nodes have the lock", async || {
        let values = nodes.values(0..3, &key).await;
        values.iter().all(Option::is_some)
    })
    .await;
    // A node that reports `not-held` receives the release again, at growing intervals, for longer
    // than these two seconds.
    nodes.set(2, b"timer", b"", Some(2_000)).await;
    wait_until("two seconds have passed", async || {
        nodes.get(2, b"timer").await.is_none()
    })
    .await;
    let values = nodes.values(0..3, &key).await;
    assert!(values.iter().all(Option::is_some), "{values:?}");
}
