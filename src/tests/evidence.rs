//! The source of evidence: renewals through this console, waiters that are counted once, blocked
//! clients.

use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::change_feed::start_with_feed;
use crate::support::console::ApiClient;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

const PATH: &str = "/api/v1/groups/orders/locks/lock%3Aa";
const OWNER_FIELD: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";
const WAITER_FIELD: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:88";

async fn first_lock(api: &ApiClient) -> Value {
    let listed = api.get("/api/v1/locks").await.json();
    listed["locks"][0].clone()
}

/// The value of one kind of evidence, if the lock has it.
async fn evidence_value(api: &ApiClient, kind: &str) -> Option<u64> {
    let listed_lock = first_lock(api).await;
    let mut evidence = listed_lock["evidence"].as_array()?.iter();
    evidence.find(|item| item["kind"] == kind)?["value"].as_u64()
}

#[tokio::test]
async fn renewals_through_this_console_have_the_source_api() {
    let nodes = RedisNodes::start(1).await;
    let (_console, api) = start_with_feed(&nodes).await;
    let wait_for_renewals = async |count: u64, source: &str| {
        wait_until(source, async || {
            let observed = first_lock(&api).await["renewals"].clone();
            observed["count"] == count && observed["source"] == source
        })
        .await;
    };
    let acquired = api
        .post(&format!("{PATH}/acquire"), json!({"ttl_ms": 30_000}))
        .await
        .json();
    wait_until("the acquired lock is listed", async || {
        first_lock(&api).await["owner"]["fingerprint"] == acquired["fingerprint"]
    })
    .await;
    for ttl_ms in [60_000, 90_000] {
        let body = json!({"token": acquired["token"], "ttl_ms": ttl_ms});
        let extended = api.post(&format!("{PATH}/extend"), body).await;
        assert_eq!(extended.status, 200, "{}", extended.text);
        wait_for_renewals(if ttl_ms == 60_000 { 1 } else { 2 }, "api").await;
    }
    // Another client extends the lease directly on the node.
    let mut client = nodes.0[0].client().await;
    let () = client.pexpire("lock:a", 120_000).await.unwrap();
    wait_for_renewals(3, "feed").await;
}

#[tokio::test]
async fn auto_renewals_have_the_source_api() {
    let nodes = RedisNodes::start(1).await;
    let (_console, api) = start_with_feed(&nodes).await;
    let body = json!({"ttl_ms": 1500, "auto_renew": true});
    let acquired = api.post(&format!("{PATH}/acquire"), body).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    wait_until("several renewals", async || {
        let observed = first_lock(&api).await["renewals"].clone();
        observed["count"].as_u64() > Some(2) && observed["source"] == "api"
    })
    .await;
}

#[tokio::test]
async fn a_waiter_of_the_console_in_the_queue_of_the_node_is_counted_once() {
    let nodes = RedisNodes::start(1).await;
    let (_console, api) = start_with_feed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    let () = client.hset("lock:a", OWNER_FIELD, 1).await.unwrap();
    let () = client.pexpire("lock:a", 60_000).await.unwrap();
    let acquires: Vec<_> = (0..2)
        .map(|_| {
            let api = api.clone();
            let body = json!({"ttl_ms": 30_000, "wait_ms": 9_000, "format": "redisson-fair"});
            tokio::spawn(async move { api.post(&format!("{PATH}/acquire"), body).await })
        })
        .collect();
    let queue = "redisson_lock_queue:{lock:a}";
    wait_until("both waiters are in the queue", async || {
        client.llen::<_, u64>(queue).await.unwrap() == 2
    })
    .await;
    wait_until("two waiters are reported", async || {
        let reported = evidence_value(&api, "queue").await;
        assert!(reported <= Some(2), "{reported:?}: counted twice");
        reported == Some(2)
    })
    .await;
    // A waiter of another client. Once it is counted, the console has read the queue of the node.
    let () = client.rpush(queue, WAITER_FIELD).await.unwrap();
    let deadlines = "redisson_lock_timeout:{lock:a}";
    let far_future = 4_000_000_000_000_i64;
    let () = client
        .zadd(deadlines, WAITER_FIELD, far_future)
        .await
        .unwrap();
    wait_until("three waiters are reported", async || {
        let reported = evidence_value(&api, "queue").await;
        assert!(reported <= Some(3), "{reported:?}: counted twice");
        reported == Some(3)
    })
    .await;
    for acquire in acquires {
        acquire.abort();
    }
}

#[tokio::test]
async fn blocked_clients_are_reported_once_a_client_has_tried_to_acquire_the_lock() {
    let nodes = RedisNodes::start(1).await;
    let (_console, api) = start_with_feed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    // A worker that waits for jobs, as is usual on a production server.
    let mut worker = nodes.0[0].client().await;
    let worker_task = tokio::spawn(async move {
        let mut pop = redis::cmd("BLPOP");
        let _no_job = pop.arg("jobs").arg(60).exec_async(&mut worker).await;
    });
    let token = "sxC0yahykS7gF2Mw5Bu6WBW5";
    let () = client.set_ex("lock:a", token, 60).await.unwrap();
    wait_until("the lock is listed", async || {
        first_lock(&api).await["format"] == "python-redis-lock"
    })
    .await;
    assert_eq!(evidence_value(&api, "blocked").await, None);

    // python-redis-lock tries SET NX once, and then blocks on BLPOP until a release wakes it.
    let mut waiter = nodes.0[0].client().await;
    wait_until("the attempt is detected", async || {
        let mut set = redis::cmd("SET");
        set.arg("lock:a").arg("another").arg("NX").arg("EX").arg(60);
        let () = set.query_async(&mut waiter).await.unwrap();
        evidence_value(&api, "idle-touch").await.is_some()
    })
    .await;
    let waiter_task = tokio::spawn(async move {
        let mut pop = redis::cmd("BLPOP");
        let _woken = pop
            .arg("lock-signal:a")
            .arg(60)
            .exec_async(&mut waiter)
            .await;
    });
    wait_until("both blocked clients are reported", async || {
        evidence_value(&api, "blocked").await == Some(2)
    })
    .await;
    worker_task.abort();
    waiter_task.abort();
}

#[tokio::test]
async fn a_numeric_key_is_a_semaphore_once_a_client_subscribes_to_its_channel() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    for key in ["lock:permits", "lock:figure"] {
        let () = client.set(key, 0).await.unwrap();
    }
    let (_console, api) = start_with_feed(&nodes).await;
    let server = redis::Client::open(nodes.0[0].url().connection_info().clone()).unwrap();
    let mut waiter = server.get_async_pubsub().await.unwrap();
    waiter
        .subscribe("redisson_sc:{lock:permits}")
        .await
        .unwrap();
    wait_until("the semaphore is listed", async || {
        let listed_lock = first_lock(&api).await;
        listed_lock["key"] == "lock:permits" && listed_lock["format"] == "redisson-semaphore"
    })
    .await;
    wait_until("its subscriber is reported", async || {
        evidence_value(&api, "subscribers").await == Some(1)
    })
    .await;
    assert_eq!(api.get("/api/v1/locks").await.json()["total"], 1);
    let owner = first_lock(&api).await["owner"]["fingerprint"].clone();
    let body = json!({"fingerprint": owner, "reason": "r", "confirm": "lock:permits"});
    let path = "/api/v1/groups/orders/locks/lock%3Apermits/force-release";
    let rejected = api.post(path, body).await;
    assert_eq!(
        rejected.problem_code(),
        "not-releasable",
        "{}",
        rejected.text
    );
}
