//! The real node-redisson and Lockkeeper on the same locks: they exclude each other and wake each
//! other's waiters.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lockkeeper::domain::{Format, NodeOutcome};
use lockkeeper::server::stores::redis::formats::{self, fingerprint};
use lockkeeper::server::stores::redis::locking::wait_queue::WaitQueues;
use lockkeeper::server::stores::redis::locking::{
    AcquireAttempt, AcquireParams, AcquireResult, Layout, acquire_within, extend, release,
};
use lockkeeper::server::stores::redis::nodes::Group;
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;

use crate::support::locking::expect_acquired;
use crate::support::locking::outcomes;
use crate::support::redis_nodes::RedisNodes;
use crate::support::redisson::{KEY, NodeRedisson, TTL, acquire_params, hold_count, node_script};
use crate::support::wait_for;

#[tokio::test]
async fn node_redisson_and_lockkeeper_exclude_each_other() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut theirs = NodeRedisson::start(&nodes.0[0]);
    let field = theirs.call("field order:42").await;

    let ours = acquire_params(Layout::Redisson);
    let attempt = AcquireAttempt::new(&group, &ours).try_once().await;
    assert!(
        matches!(attempt.result, AcquireResult::Acquired(_)),
        "{attempt:?}"
    );
    assert!(attempt.fence.is_some());
    let state = group.key_state(&KEY.into()).await.unwrap();
    let lock = formats::detect(&state, false).unwrap();
    assert_eq!(lock.format, Format::Redisson);
    assert_eq!(lock.owners[0].bytes.expose(), ours.token.expose());
    assert_eq!(lock.owners[0].owner.hold_count, Some(1));
    assert_eq!(theirs.call("try order:42 30000").await, "false");
    assert_eq!(theirs.call("unlock order:42").await, "RedissonLockError");

    let released = release(&group, &ours.key, &ours.token).await;
    assert_eq!(outcomes(&released), [NodeOutcome::Released]);
    assert_eq!(theirs.call("try order:42 30000").await, "true");
    assert_eq!(theirs.call("try order:42 30000").await, "true");
    let AcquireResult::HeldByOther {
        owner: Some(owner),
        lease_ms: Some(20_000..=30_000),
    } = AcquireAttempt::new(&group, &ours).try_once().await.result
    else {
        panic!("node-redisson holds the lock")
    };
    assert_eq!(owner.fingerprint, fingerprint(field.as_bytes()));
    assert_eq!(
        extend(&group, &ours.key, &ours.token, TTL).await.nodes[0].outcome,
        NodeOutcome::OtherOwner { owner: Some(owner) }
    );
    let released = release(&group, &ours.key, &ours.token).await;
    assert!(matches!(
        released[0].outcome,
        NodeOutcome::OtherOwner { owner: Some(_) }
    ));
    assert_eq!(hold_count(&nodes, 0, field.as_bytes()).await, Some(2));

    assert_eq!(theirs.call("unlock order:42").await, "ok");
    assert_eq!(theirs.call("unlock order:42").await, "ok");
    expect_acquired(AcquireAttempt::new(&group, &ours).try_once().await);
}

#[tokio::test]
async fn a_release_wakes_node_redisson_at_once() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut theirs = NodeRedisson::start(&nodes.0[0]);
    let ours = acquire_params(Layout::Redisson);
    // The second name is one for which Redisson and node-redisson use different channels.
    for (name, channel) in [
        (KEY, "redisson_lock__channel:{order:42}"),
        ("a:{b}", "redisson_lock__channel:{a:{b}}"),
    ] {
        let ours = AcquireParams {
            key: name.into(),
            ..ours.clone()
        };
        expect_acquired(AcquireAttempt::new(&group, &ours).try_once().await);
        theirs.send(&format!("lock {name} 30000")).await;
        theirs.wait_until_listening(&nodes.0[0], channel).await;
        let began = Instant::now();
        release(&group, &ours.key, &ours.token).await;
        assert_eq!(theirs.receive().await, "locked");
        // Without the wake-up it would retry only when the lease that it read has expired.
        assert!(began.elapsed() < Duration::from_secs(10), "{began:?}");
    }
}

/// Acquires the lock this many times. Returns how many clients were inside the critical section
/// each time.
async fn contend(group: Arc<Group>, counter: MultiplexedConnection, times: u32) -> Vec<u32> {
    let mut counter = counter;
    let mut counts = Vec::new();
    for _ in 0..times {
        let params = AcquireParams {
            ttl: Duration::from_secs(5),
            ..acquire_params(Layout::Redisson)
        };
        let position = WaitQueues::default().join(&params.key);
        expect_acquired(acquire_within(&group, &params, Duration::from_secs(60), position).await);
        counts.push(counter.incr("inside", 1).await.unwrap());
        let () = counter.decr("inside", 1).await.unwrap();
        release(&group, &params.key, &params.token).await;
    }
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contending_node_redisson_and_lockkeeper_clients_never_overlap() {
    const TIMES: u32 = 8;
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let counter = nodes.0[0].client().await;
    let ours: Vec<_> = (0..3)
        .map(|_| tokio::spawn(contend(Arc::clone(&group), counter.clone(), TIMES)))
        .collect();
    let theirs: Vec<_> = (0..2)
        .map(|_| {
            let times = TIMES.to_string();
            let arguments = [KEY, &times, "2000"];
            let child = node_script("node_redisson_contend.mjs", nodes.0[0].port(), &arguments);
            tokio::spawn(async move {
                let mut child = child;
                let output = child.output().await.unwrap();
                assert!(output.status.success(), "{output:?}");
                let printed = String::from_utf8(output.stdout).unwrap();
                printed.lines().map(|line| line.parse().unwrap()).collect()
            })
        })
        .collect();
    let all: Vec<_> = ours.into_iter().chain(theirs).collect();
    for counts in futures::future::join_all(all).await {
        let counts: Vec<u32> = counts.unwrap();
        assert_eq!(counts, vec![1; TIMES as usize]);
    }
    let left = wait_for("the lock is free", async || {
        let () = counter.clone().del("inside").await.unwrap();
        let keys: Vec<Vec<u8>> = nodes.dump(0).await.into_keys().collect();
        (!keys.contains(&KEY.as_bytes().to_vec())).then_some(keys)
    })
    .await;
    // The fencing counter expires after an hour, the record of releases after a minute.
    assert!(
        left.iter().all(|key| {
            key.starts_with(b"lockkeeper:fence:") || key.starts_with(b"redisson_unlock_latch:")
        }),
        "{left:?}"
    );
}
