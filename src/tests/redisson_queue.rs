//! The queue of Redisson's fair lock: each waiter has a position with a deadline, and leaves the
//! queue in every case.

use std::sync::Arc;
use std::time::Duration;

use lockkeeper::domain::{LockKey, NodeOutcome};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::stores::redis::formats::fingerprint;
use lockkeeper::server::stores::redis::locking::{AcquireAttempt, AcquireResult, Layout, release};
use lockkeeper::server::stores::redis::nodes::scripts::{ACQUIRE_REDISSON, AcquireReply};
use redis::AsyncCommands as _;

use crate::support::force_release::force_release;
use crate::support::locking::expect_acquired;
use crate::support::redis_nodes::{RedisNode, RedisNodes, TestGroup};
use crate::support::redisson::{
    DEADLINES, KEY, OTHER_FIELD, QUEUE, RedissonThread, acquire_params, field_name, next_message,
    queued_fields, queues_are_deleted, spawn_acquire, wait_for_queue_length,
};
use crate::support::{wait_for, wait_until};

async fn waiter_deadline(node: &RedisNode, field: &str) -> Option<f64> {
    node.client().await.zscore(DEADLINES, field).await.unwrap()
}

#[tokio::test]
async fn a_waiter_that_leaves_the_queue_moves_the_deadlines_of_those_behind_it() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let node = &nodes.0[0];
    let holder = RedissonThread::new(node, 1).await;
    assert_eq!(holder.try_lock().await, None);
    let (one, two) = (
        acquire_params(Layout::RedissonFair),
        acquire_params(Layout::RedissonFair),
    );
    let began = Clock::system().now().millis();
    let first = spawn_acquire(&group, &one, Duration::from_secs(20));
    wait_for_queue_length(node, 1).await;
    let second = spawn_acquire(&group, &two, Duration::from_secs(30));
    wait_for_queue_length(node, 2).await;
    let behind = RedissonThread::new(node, 2).await;
    assert!(behind.try_lock().await.is_some());

    // The deadline is the end of the lease plus the waiter's own wait.
    let of_one = waiter_deadline(node, &field_name(&one)).await.unwrap();
    let after = of_one - began as f64;
    assert!((79_000.0..95_000.0).contains(&after), "{after}");
    let of_two = waiter_deadline(node, &field_name(&two)).await.unwrap();
    assert_eq!(of_two, of_one + 30_000.0);
    assert_eq!(
        waiter_deadline(node, &behind.field).await,
        Some(of_two + 300_000.0)
    );

    // A cancelled waiter leaves the queue; the deadlines before it do not change.
    second.abort();
    wait_until("the waiter has left the queue", async || {
        queued_fields(node).await.len() == 2
    })
    .await;
    assert_eq!(
        queued_fields(node).await,
        [field_name(&one), behind.field.clone()]
    );
    assert_eq!(waiter_deadline(node, &field_name(&two)).await, None);
    assert_eq!(waiter_deadline(node, &field_name(&one)).await, Some(of_one));
    let end = Some(of_two + 270_000.0);
    assert_eq!(waiter_deadline(node, &behind.field).await, end);

    // A waiter that acquires the lock shortens the deadlines behind it by its own wait.
    holder.unlock().await;
    let attempt = first.await.unwrap();
    assert!(
        matches!(attempt.result, AcquireResult::Acquired(_)),
        "{attempt:?}"
    );
    let end = Some(of_two + 250_000.0);
    assert_eq!(waiter_deadline(node, &behind.field).await, end);
    assert_eq!(queued_fields(node).await, [behind.field]);
}

#[tokio::test]
async fn an_acquire_that_times_out_has_left_the_queue_when_it_returns() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    for node in &nodes.0 {
        assert_eq!(RedissonThread::new(node, 1).await.try_lock().await, None);
    }
    let attempt = spawn_acquire(
        &group,
        &acquire_params(Layout::RedissonFair),
        Duration::from_millis(200),
    )
    .await
    .unwrap();
    assert!(
        matches!(
            attempt.result,
            AcquireResult::HeldByOther { owner: Some(_), .. }
        ),
        "{attempt:?}"
    );
    assert!(queues_are_deleted(&nodes).await);
}

#[tokio::test]
async fn a_head_that_leaves_the_queue_of_a_free_lock_wakes_the_next_waiter() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let node = &nodes.0[0];
    let holder = RedissonThread::new(node, 1).await;
    assert_eq!(holder.try_lock().await, None);
    let ours = acquire_params(Layout::RedissonFair);
    let head = spawn_acquire(&group, &ours, Duration::from_secs(60));
    wait_for_queue_length(node, 1).await;
    let next = RedissonThread::new(node, 2).await;
    let next_lock = tokio::spawn({
        let next = next.clone();
        async move { next.lock().await }
    });
    wait_for_queue_length(node, 2).await;
    head.abort();
    assert!(head.await.unwrap_err().is_cancelled());
    // The next waiter is woken whether the head left before or after the lock became free.
    holder.unlock().await;
    tokio::time::timeout(Duration::from_secs(10), next_lock)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        release(&group, &ours.key, &ours.token).await[0].outcome,
        NodeOutcome::OtherOwner {
            owner: lock_owner(&group).await
        }
    );
}

async fn lock_owner(group: &TestGroup) -> Option<lockkeeper::domain::Owner> {
    let state = group.key_state(&KEY.into()).await?;
    let lock = lockkeeper::server::stores::redis::formats::detect(&state, true)?;
    Some(lock.owners[0].owner.clone())
}

#[tokio::test]
async fn waiters_past_their_deadline_do_not_block_others() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let node = &nodes.0[0];
    let mut client = node.client().await;
    let now = Clock::system().now().millis();
    let crashed = [
        "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:8",
        "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:9",
    ];
    for (n, field) in crashed.iter().enumerate() {
        let () = client.rpush(QUEUE, field).await.unwrap();
        let ago = now - 1_000 + i64::try_from(n).unwrap();
        let () = client.zadd(DEADLINES, field, ago).await.unwrap();
    }
    let ours = acquire_params(Layout::RedissonFair);
    expect_acquired(AcquireAttempt::new(&group, &ours).try_once().await);
    assert!(queues_are_deleted(&nodes).await);

    // A release skips expired waiters as well and wakes the first one that is alive.
    let alive = RedissonThread::new(node, 3).await;
    for field in crashed {
        let () = client.rpush(QUEUE, field).await.unwrap();
        let () = client.zadd(DEADLINES, field, now - 1_000).await.unwrap();
    }
    let () = client.rpush(QUEUE, &alive.field).await.unwrap();
    let () = client
        .zadd(DEADLINES, &alive.field, now + 60_000)
        .await
        .unwrap();
    let mut channel = alive.node.get_async_pubsub().await.unwrap();
    let name = format!("redisson_lock__channel:{{order:42}}:{}", alive.field);
    channel.subscribe(&name).await.unwrap();
    let mut messages = channel.on_message();
    release(&group, &ours.key, &ours.token).await;
    assert_eq!(next_message(&mut messages).await, b"0");
    assert_eq!(queued_fields(node).await, [alive.field.as_str()]);

    // A force-release does the same.
    assert_eq!(alive.try_lock().await, None);
    let () = client.rpush(QUEUE, &alive.field).await.unwrap();
    let () = client
        .zadd(DEADLINES, &alive.field, now + 60_000)
        .await
        .unwrap();
    let owner = fingerprint(alive.field.as_bytes());
    let forced = force_release(&group, &KEY.into(), &owner).await;
    assert_eq!(forced.nodes[0].outcome, NodeOutcome::Released);
    assert_eq!(next_message(&mut messages).await, b"0");
    assert_eq!(queued_fields(node).await, [alive.field]);
}

#[tokio::test]
async fn an_acquire_on_a_quorum_leaves_the_queues_of_the_other_nodes() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let theirs = RedissonThread::new(&nodes.0[2], 1).await;
    assert_eq!(theirs.try_lock().await, None);
    let ours = acquire_params(Layout::RedissonFair);
    let attempt = spawn_acquire(&group, &ours, Duration::from_secs(10))
        .await
        .unwrap();
    assert!(
        matches!(attempt.result, AcquireResult::Acquired(_)),
        "{attempt:?}"
    );
    wait_until("the queues are deleted", async || {
        queues_are_deleted(&nodes).await
    })
    .await;
    assert_eq!(
        theirs.try_lock().await,
        None,
        "the thread still holds the lock on node c"
    );
}

#[tokio::test]
async fn queues_in_different_orders_let_every_waiter_acquire() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    // The queues have different orders: a waiter may be the head on one node and not on the others.
    let waiters = (0..4).map(|_| {
        let group = Arc::clone(&group);
        tokio::spawn(async move {
            let ours = acquire_params(Layout::RedissonFair);
            let attempt = spawn_acquire(&group, &ours, Duration::from_secs(60))
                .await
                .unwrap();
            assert!(
                matches!(attempt.result, AcquireResult::Acquired(_)),
                "{attempt:?}"
            );
            release(&group, &ours.key, &ours.token).await;
        })
    });
    for waiter in futures::future::join_all(waiters).await {
        waiter.unwrap();
    }
    wait_until("the queues are deleted", async || {
        queues_are_deleted(&nodes).await
    })
    .await;
}

#[tokio::test]
async fn cancelled_waiters_leave_the_queue_of_a_hanging_node_once_it_resumes() {
    let nodes = RedisNodes::start(1).await;
    let mut config = nodes.config();
    config.command_timeout = Duration::from_millis(300);
    let group = TestGroup::start(config);
    group.wait_until_up().await;
    let node = &nodes.0[0];
    let holder = RedissonThread::new(node, 1).await;
    assert_eq!(holder.try_lock().await, None);
    let (one, two) = (
        acquire_params(Layout::RedissonFair),
        acquire_params(Layout::RedissonFair),
    );
    let first = spawn_acquire(&group, &one, Duration::from_secs(60));
    wait_for_queue_length(node, 1).await;
    node.pause().await;
    // The first waiter is queued already; whether the second one is queued is unknown.
    let second = spawn_acquire(&group, &two, Duration::from_secs(60));
    tokio::task::yield_now().await;
    first.abort();
    second.abort();
    node.resume().await;
    wait_for("the queue is deleted", async || {
        queues_are_deleted(&nodes).await.then_some(())
    })
    .await;
    let keys: Vec<LockKey> = nodes.dump(0).await.into_keys().map(LockKey::new).collect();
    assert_eq!(keys, [LockKey::from(KEY)]);
}

#[tokio::test]
async fn the_deadline_of_a_long_wait_is_at_most_five_minutes_after_the_lease() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let () = client.hset(KEY, OTHER_FIELD, 1).await.unwrap();
    let () = client.pexpire(KEY, 600_000).await.unwrap();
    let patient = acquire_params(Layout::RedissonFair);
    let waiting = spawn_acquire(&group, &patient, Duration::from_secs(3_600));
    wait_for_queue_length(&nodes.0[0], 1).await;
    let name = field_name(&patient);
    let first = waiter_deadline(&nodes.0[0], &name).await.unwrap();
    // A position is reserved for five minutes at a time, so that a crashed waiter blocks the others
    // no longer than that.
    let now = Clock::system().now().millis() as f64;
    assert!(first - now < 600_000.0 + 301_000.0, "{}", first - now);
    waiting.abort();
}

#[tokio::test]
async fn extending_a_deadline_moves_the_deadlines_behind_it_and_none_before_it() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let () = client.hset(KEY, OTHER_FIELD, 1).await.unwrap();
    let () = client.pexpire(KEY, 600_000).await.unwrap();
    let waiters = [(); 3].map(|()| acquire_params(Layout::RedissonFair));
    let try_acquire = async |n: usize, extra_wait_ms: u64| {
        let mut script = ACQUIRE_REDISSON.key(KEY);
        script.key(QUEUE).key(DEADLINES);
        script.arg(waiters[n].token.expose()).arg(60_000).arg(0);
        script.arg(Clock::system().now().millis()).arg(300_000);
        script
            .arg("redisson_lock_token:{order:42}")
            .arg(1)
            .arg(extra_wait_ms);
        let mut client = nodes.0[0].client().await;
        let reply: AcquireReply = script.invoke_async(&mut client).await.unwrap();
        assert!(matches!(reply, AcquireReply::Rejected(_)), "{reply:?}");
    };
    for n in 0..3 {
        try_acquire(n, 0).await;
    }
    let deadlines = async || {
        let mut deadlines = Vec::new();
        for waiter in &waiters {
            deadlines.push(
                waiter_deadline(&nodes.0[0], &field_name(waiter))
                    .await
                    .unwrap(),
            );
        }
        deadlines
    };
    let before = deadlines().await;
    try_acquire(1, 150_000).await;
    let moved: Vec<f64> = deadlines()
        .await
        .iter()
        .zip(before)
        .map(|(a, b)| a - b)
        .collect();
    assert_eq!(moved, [0.0, 150_000.0, 150_000.0]);
}
