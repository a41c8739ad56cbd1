//! Numbers say where they come from: renewals through this console, waiters that are counted once, clients that block.

use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::feed::fed;
use crate::support::console::Person;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

const PATH: &str = "/api/v1/groups/orders/locks/lock%3Aa";
const THEIRS: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";
const BEHIND: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:88";

async fn lock(person: &Person) -> Value {
    let listed = person.get("/api/v1/locks").await.json();
    listed["locks"][0].clone()
}

/// The figure of one kind of evidence; nothing where there is none.
async fn figure(person: &Person, kind: &str) -> Option<u64> {
    let lock = lock(person).await;
    let mut evidence = lock["evidence"].as_array()?.iter();
    evidence.find(|one| one["kind"] == kind)?["value"].as_u64()
}

#[tokio::test]
async fn renewals_that_went_through_this_console_say_so() {
    let nodes = RedisNodes::start(1).await;
    let (_console, person) = fed(&nodes).await;
    let renewals = async |count: u64, source: &str| {
        eventually_is(source, async || {
            let renewals = lock(&person).await["renewals"].clone();
            renewals["count"] == count && renewals["source"] == source
        })
        .await;
    };
    let acquired = person
        .post(&format!("{PATH}/acquire"), json!({"ttl_ms": 30_000}))
        .await
        .json();
    eventually_is("it is seen as it was acquired", async || {
        lock(&person).await["owner"]["fingerprint"] == acquired["fingerprint"]
    })
    .await;
    for ttl_ms in [60_000, 90_000] {
        let body = json!({"token": acquired["token"], "ttl_ms": ttl_ms});
        let extended = person.post(&format!("{PATH}/extend"), body).await;
        assert_eq!(extended.status, 200, "{}", extended.text);
        renewals(if ttl_ms == 60_000 { 1 } else { 2 }, "api").await;
    }
    // Somebody else has the token, too.
    let mut client = nodes.0[0].client().await;
    let () = client.pexpire("lock:a", 120_000).await.unwrap();
    renewals(3, "feed").await;
}

#[tokio::test]
async fn so_do_those_of_a_lock_that_the_console_keeps() {
    let nodes = RedisNodes::start(1).await;
    let (_console, person) = fed(&nodes).await;
    let body = json!({"ttl_ms": 900, "auto_renew": true});
    let acquired = person.post(&format!("{PATH}/acquire"), body).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    eventually_is("several renewals", async || {
        let renewals = lock(&person).await["renewals"].clone();
        renewals["count"].as_u64() > Some(2) && renewals["source"] == "api"
    })
    .await;
}

#[tokio::test]
async fn whoever_waits_through_the_console_in_the_nodes_queue_is_one() {
    let nodes = RedisNodes::start(1).await;
    let (_console, person) = fed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    let () = client.hset("lock:a", THEIRS, 1).await.unwrap();
    let () = client.pexpire("lock:a", 60_000).await.unwrap();
    let asks: Vec<_> = (0..2)
        .map(|_| {
            let person = person.clone();
            let body = json!({"ttl_ms": 30_000, "wait_ms": 9_000, "format": "redisson-fair"});
            tokio::spawn(async move { person.post(&format!("{PATH}/acquire"), body).await })
        })
        .collect();
    let queue = "redisson_lock_queue:{lock:a}";
    eventually_is("both stand in the queue", async || {
        client.llen::<_, u64>(queue).await.unwrap() == 2
    })
    .await;
    eventually_is("two are told of", async || {
        let told = figure(&person, "queue").await;
        assert!(told <= Some(2), "{told:?}: counted twice");
        told == Some(2)
    })
    .await;
    // One more who has nothing to do with us: once it counts, the node was asked.
    let () = client.rpush(queue, BEHIND).await.unwrap();
    let deadlines = "redisson_lock_timeout:{lock:a}";
    let far = 4_000_000_000_000_i64;
    let () = client.zadd(deadlines, BEHIND, far).await.unwrap();
    eventually_is("three are told of", async || {
        let told = figure(&person, "queue").await;
        assert!(told <= Some(3), "{told:?}: counted twice");
        told == Some(3)
    })
    .await;
    for ask in asks {
        ask.abort();
    }
}

#[tokio::test]
async fn clients_that_block_are_told_of_once_somebody_came_for_the_lock() {
    let nodes = RedisNodes::start(1).await;
    let (_console, person) = fed(&nodes).await;
    let mut client = nodes.0[0].client().await;
    // A worker that waits for jobs, as most servers have some.
    let mut worker = nodes.0[0].client().await;
    let waits = tokio::spawn(async move {
        let mut pop = redis::cmd("BLPOP");
        let _no_job = pop.arg("jobs").arg(60).exec_async(&mut worker).await;
    });
    let token = "sxC0yahykS7gF2Mw5Bu6WBW5";
    let () = client.set_ex("lock:a", token, 60).await.unwrap();
    eventually_is("it is seen", async || {
        lock(&person).await["format"] == "python-redis-lock"
    })
    .await;
    assert_eq!(figure(&person, "blocked").await, None);

    // python-redis-lock: it tries, and then blocks until it is woken.
    let mut waiter = nodes.0[0].client().await;
    eventually_is("it is seen to try", async || {
        let mut take = redis::cmd("SET");
        take.arg("lock:a")
            .arg("another")
            .arg("NX")
            .arg("EX")
            .arg(60);
        let () = take.query_async(&mut waiter).await.unwrap();
        figure(&person, "idle-touch").await.is_some()
    })
    .await;
    let blocks = tokio::spawn(async move {
        let mut pop = redis::cmd("BLPOP");
        let _woken = pop
            .arg("lock-signal:a")
            .arg(60)
            .exec_async(&mut waiter)
            .await;
    });
    eventually_is("both are told of", async || {
        figure(&person, "blocked").await == Some(2)
    })
    .await;
    waits.abort();
    blocks.abort();
}

#[tokio::test]
async fn a_number_is_a_semaphore_once_somebody_waits_for_a_permit() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    for key in ["lock:permits", "lock:figure"] {
        let () = client.set(key, 0).await.unwrap();
    }
    let (_console, person) = fed(&nodes).await;
    let server = redis::Client::open(nodes.0[0].url().connection().clone()).unwrap();
    let mut waiter = server.get_async_pubsub().await.unwrap();
    waiter
        .subscribe("redisson_sc:{lock:permits}")
        .await
        .unwrap();
    eventually_is("it is known", async || {
        let lock = lock(&person).await;
        lock["key"] == "lock:permits" && lock["format"] == "redisson-semaphore"
    })
    .await;
    eventually_is("with who waits for it", async || {
        figure(&person, "subscribers").await == Some(1)
    })
    .await;
    assert_eq!(person.get("/api/v1/locks").await.json()["total"], 1);
    let owner = lock(&person).await["owner"]["fingerprint"].clone();
    let body = json!({"fingerprint": owner, "reason": "r", "confirm": "lock:permits"});
    let path = "/api/v1/groups/orders/locks/lock%3Apermits/force-release";
    let refused = person.post(path, body).await;
    assert_eq!(refused.code(), "not-releasable", "{}", refused.text);
}
