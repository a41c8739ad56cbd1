//! Redisson's fair lock: waiters, Redisson's threads among them, acquire it in the order of their
//! arrival.

use std::sync::Arc;
use std::time::Duration;

use lockkeeper::domain::NodeOutcome;
use lockkeeper::server::stores::redis::formats::fingerprint;
use lockkeeper::server::stores::redis::locking::{
    AcquireAttempt, AcquireParams, AcquireResult, Layout, release,
};
use lockkeeper::server::stores::redis::nodes::Group;
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use serde_json::json;

use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::redisson::{
    RedissonThread, acquire_params, field_name, queued_fields, queues_are_deleted, spawn_acquire,
    wait_for_queue_length,
};
use crate::support::wait_until;

const PATH: &str = "/api/v1/groups/orders/locks/order%3A42";

async fn try_acquire(group: &Group, params: &AcquireParams) -> AcquireResult {
    AcquireAttempt::new(group, params).try_once().await.result
}

#[tokio::test]
async fn redisson_threads_and_lockkeeper_waiters_acquire_in_order_of_arrival() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let node = &nodes.0[0];
    let holder = RedissonThread::new(node, 1).await;
    assert_eq!(holder.try_lock().await, None);

    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut waiters = Vec::new();
    let mut arrivals = Vec::new();
    for n in 0..6 {
        let order = Arc::clone(&order);
        if n % 2 == 0 {
            let thread = RedissonThread::new(node, 100 + n).await;
            arrivals.push(thread.field.clone());
            waiters.push(tokio::spawn(async move {
                thread.lock().await;
                order.lock().unwrap().push(thread.field.clone());
                thread.unlock().await;
            }));
        } else {
            let ours = acquire_params(Layout::RedissonFair);
            arrivals.push(field_name(&ours));
            let attempt = spawn_acquire(&group, &ours, Duration::from_secs(60));
            let group = Arc::clone(&group);
            waiters.push(tokio::spawn(async move {
                let attempt = attempt.await.unwrap();
                assert!(
                    matches!(attempt.result, AcquireResult::Acquired(_)),
                    "{attempt:?}"
                );
                order.lock().unwrap().push(field_name(&ours));
                release(&group, &ours.key, &ours.token).await;
            }));
        }
        wait_for_queue_length(node, waiters.len()).await;
    }
    assert_eq!(queued_fields(node).await, arrivals);
    holder.unlock().await;
    for waiter in waiters {
        waiter.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), arrivals);
    assert!(queues_are_deleted(&nodes).await);
}

#[tokio::test]
async fn several_waiters_of_one_console_are_queued_separately() {
    let nodes = RedisNodes::start(1).await;
    let node = &nodes.0[0];
    let console = TestConsole::start(vec![nodes.config()]).await;
    let holder = RedissonThread::new(node, 1).await;
    assert_eq!(holder.try_lock().await, None);
    let spawn_acquire_request = |wait_ms: u64| {
        let api = console.api();
        let body = json!({"ttl_ms": 60_000, "wait_ms": wait_ms, "format": "redisson-fair"});
        tokio::spawn(async move { api.post(&format!("{PATH}/acquire"), body).await })
    };
    let first = spawn_acquire_request(9_000);
    wait_for_queue_length(node, 1).await;
    let thread = RedissonThread::new(node, 2).await;
    assert!(thread.try_lock().await.is_some());
    let second = spawn_acquire_request(9_000);
    wait_for_queue_length(node, 3).await;

    holder.unlock().await;
    let first = first.await.unwrap();
    assert_eq!(first.status, 201, "{}", first.text);
    assert!(thread.try_lock().await.is_some());
    let token = json!({"token": first.json()["token"]});
    let released = console.api().post(&format!("{PATH}/release"), token).await;
    assert_eq!(released.json()["outcome"], "released");
    wait_until("it is the thread's turn", async || {
        thread.try_lock().await.is_none()
    })
    .await;
    thread.unlock().await;
    assert_eq!(second.await.unwrap().status, 201);
    assert!(queues_are_deleted(&nodes).await);
    console.stop().await;
}

#[tokio::test]
async fn only_the_head_of_the_queue_acquires_and_an_acquire_without_wait_is_not_queued() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let holder = RedissonThread::new(&nodes.0[0], 1).await;
    let head = RedissonThread::new(&nodes.0[0], 2).await;
    assert_eq!(holder.try_lock().await, None);
    let AcquireResult::HeldByOther {
        owner: Some(owner), ..
    } = try_acquire(&group, &acquire_params(Layout::RedissonFair)).await
    else {
        panic!("the lock is held")
    };
    assert_eq!(owner.fingerprint, fingerprint(holder.field.as_bytes()));
    assert!(queues_are_deleted(&nodes).await);

    assert!(head.try_lock().await.is_some());
    holder.unlock().await;
    // The lock is free, but reserved for the head of the queue.
    assert_eq!(
        try_acquire(&group, &acquire_params(Layout::RedissonFair)).await,
        AcquireResult::HeldByOther {
            owner: None,
            lease_ms: None
        }
    );
    assert_eq!(queued_fields(&nodes.0[0]).await, [head.field.as_str()]);
    assert_eq!(head.try_lock().await, None);
    head.unlock().await;
    assert!(matches!(
        try_acquire(&group, &acquire_params(Layout::RedissonFair)).await,
        AcquireResult::Acquired(_)
    ));
}

#[tokio::test]
async fn an_owner_reenters_without_queueing() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let ours = acquire_params(Layout::RedissonFair);
    assert!(matches!(
        try_acquire(&group, &ours).await,
        AcquireResult::Acquired(_)
    ));
    let waiter = RedissonThread::new(&nodes.0[0], 2).await;
    assert!(waiter.try_lock().await.is_some());
    let again = AcquireParams {
        caller_supplied: true,
        ..ours.clone()
    };
    assert!(matches!(
        try_acquire(&group, &again).await,
        AcquireResult::Acquired(_)
    ));
    let released = release(&group, &ours.key, &ours.token).await;
    assert_eq!(released[0].outcome, NodeOutcome::Holds { hold_count: 1 });
    assert!(waiter.try_lock().await.is_some());
    let released = release(&group, &ours.key, &ours.token).await;
    assert_eq!(released[0].outcome, NodeOutcome::Released);
    assert_eq!(waiter.try_lock().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contending_redisson_threads_and_lockkeeper_clients_never_overlap() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let counter = nodes.0[0].client().await;
    let enter_critical_section = async |counter: &mut MultiplexedConnection| {
        assert_eq!(counter.incr::<_, _, u32>("inside", 1).await.unwrap(), 1);
        let () = counter.decr("inside", 1).await.unwrap();
    };
    let mut clients = Vec::new();
    for n in 0..3 {
        let thread = RedissonThread::new(&nodes.0[0], n).await;
        let mut counter = counter.clone();
        clients.push(tokio::spawn(async move {
            for _ in 0..10 {
                thread.lock().await;
                enter_critical_section(&mut counter).await;
                thread.unlock().await;
            }
        }));
        let (group, mut counter) = (Arc::clone(&group), nodes.0[0].client().await);
        clients.push(tokio::spawn(async move {
            for _ in 0..10 {
                let ours = acquire_params(Layout::RedissonFair);
                let attempt = spawn_acquire(&group, &ours, Duration::from_secs(60))
                    .await
                    .unwrap();
                assert!(
                    matches!(attempt.result, AcquireResult::Acquired(_)),
                    "{attempt:?}"
                );
                enter_critical_section(&mut counter).await;
                release(&group, &ours.key, &ours.token).await;
            }
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    assert!(queues_are_deleted(&nodes).await);
}
