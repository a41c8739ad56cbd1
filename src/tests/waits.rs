//! Who waits for whom: this console's own waiters and Redisson's fair queues, read on real servers.

use redis::AsyncCommands as _;
use serde_json::{Value, json};

use lockkeeper::server::clock::Clock;
use lockkeeper::server::formats::fingerprint;

use crate::support::console::TestConsole;
use crate::support::redis_nodes::{RedisNode, RedisNodes};
use crate::support::redisson::{KEY, QUEUE, Thread, stand};
use crate::support::{eventually, eventually_is};

const WAITS: &str = "/api/v1/waits";

fn print_of(text: &str) -> String {
    fingerprint(text.as_bytes()).to_string()
}

/// A thread of a Redisson client that has one lock and stands in the queue of another.
async fn has_and_wants(node: &RedisNode, field: &str, has: &str, wants: &str) {
    let mut client = node.client().await;
    let () = client.hset(has, field, 1).await.unwrap();
    let () = client.pexpire(has, 600_000).await.unwrap();
    let queue = format!("redisson_lock_queue:{{{wants}}}");
    let () = client.rpush(queue, field).await.unwrap();
    let deadlines = format!("redisson_lock_timeout:{{{wants}}}");
    let until = 1_895_200_845_000_u64;
    let () = client.zadd(deadlines, field, until).await.unwrap();
}

fn field(thread: u32) -> String {
    format!("6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:{thread}")
}

/// What is told once so many locks are waited for.
async fn told(console: &TestConsole, locks: usize) -> Value {
    let person = console.person();
    eventually("the waits are told", async || {
        let waits = person.get(WAITS).await.json();
        (waits["locks"].as_array().unwrap().len() == locks).then_some(waits)
    })
    .await
}

#[tokio::test]
async fn where_nobody_waits_nothing_is_told() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let waits = person.get(&format!("{WAITS}?group=orders")).await;
    assert_eq!(waits.status, 200, "{}", waits.text);
    assert_eq!(waits.json()["locks"], json!([]));
    let unknown = person.get(&format!("{WAITS}?group=x")).await;
    unknown.is(404, "unknown-group");
    let bad = person.get(&format!("{WAITS}?grp=x")).await;
    bad.is(400, "bad-request");
    console.stop().await;
}

#[tokio::test]
async fn one_who_waits_through_this_console_is_told_by_name_until_it_hangs_up() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let path = "/api/v1/groups/orders/locks/lock%3Aa/acquire";
    let held = person.post(path, json!({"ttl_ms": 60_000})).await.json();
    let waiter = console.person();
    let waiting = tokio::spawn(async move {
        let body = json!({"ttl_ms": 60_000, "wait_ms": 9_000, "label": "deploy 7"});
        waiter.post(path, body).await
    });
    let waits = eventually("the owner is seen", async || {
        let waits = told(&console, 1).await;
        (waits["locks"][0]["owners"] != json!([])).then_some(waits)
    })
    .await;
    let lock = &waits["locks"][0];
    assert_eq!(
        (&lock["lock"]["key"], &lock["depth"]),
        (&json!("lock:a"), &json!(0))
    );
    assert_eq!(lock["owners"][0]["fingerprint"], held["fingerprint"]);
    assert_eq!(lock["deadlock"], false);
    let waiter = &lock["waiters"][0];
    assert_eq!(
        (&waiter["waits_in"], &waiter["label"]),
        (&json!("console"), &json!("deploy 7"))
    );
    assert!(waiter["since"].is_string() && waiter["fingerprint"].is_string());
    assert_eq!(waiter["holds"], json!([]));
    waiting.abort();
    told(&console, 0).await;
    console.stop().await;
}

#[tokio::test]
async fn redissons_threads_and_ours_stand_in_one_line_each_once() {
    let nodes = RedisNodes::start(1).await;
    let node = &nodes.0[0];
    let mut config = nodes.config();
    config.keys = vec!["order:*".into()];
    config.keys_are_explicit = true;
    let console = TestConsole::start(vec![config]).await;
    let holder = Thread::on(node, 1).await;
    assert_eq!(holder.try_lock().await, None);
    let thread = Thread::on(node, 2).await;
    assert!(thread.try_lock().await.is_some());
    let person = console.person();
    let waiting = tokio::spawn(async move {
        let body =
            json!({"ttl_ms": 60_000, "wait_ms": 9_000, "format": "redisson-fair", "label": "ours"});
        let path = "/api/v1/groups/orders/locks/order%3A42/acquire";
        person.post(path, body).await
    });
    stand(node, 2).await;
    let waits = eventually("both are told", async || {
        let waits = told(&console, 1).await;
        (waits["locks"][0]["waiting"] == 2).then_some(waits)
    })
    .await;
    let lock = &waits["locks"][0];
    assert_eq!(lock["owners"][0]["fingerprint"], print_of(&holder.field));
    let waiters = lock["waiters"].as_array().unwrap();
    let mut seen: Vec<_> = waiters
        .iter()
        .map(|one| {
            (
                one["waits_in"].as_str().unwrap(),
                one["label"].as_str().unwrap(),
            )
        })
        .collect();
    seen.sort_unstable();
    assert_eq!(
        seen,
        [("console", "ours"), ("redisson-queue", "6d1f5a0e thread 2")]
    );
    assert!(waiters.iter().all(|one| one["until"].is_string()), "{lock}");
    // Whoever waits writes a token: it is told to nobody.
    assert!(!waits.to_string().contains(&thread.field), "{waits}");
    waiting.abort();
    console.stop().await;
}

#[tokio::test]
async fn two_threads_that_wait_for_one_another_are_a_deadlock() {
    let nodes = RedisNodes::start(1).await;
    let node = &nodes.0[0];
    let console = TestConsole::start(vec![nodes.config()]).await;
    has_and_wants(node, &field(1), "lock:a", "lock:b").await;
    has_and_wants(node, &field(2), "lock:b", "lock:a").await;
    // Behind them another, which holds what one more waits for.
    has_and_wants(node, &field(3), "lock:c", "lock:a").await;
    let mut client = node.client().await;
    let () = client
        .rpush("redisson_lock_queue:{lock:c}", field(4))
        .await
        .unwrap();
    let waits = told(&console, 3).await;
    let told: Vec<_> = waits["locks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lock| {
            let key = lock["lock"]["key"].as_str().unwrap();
            (
                key,
                lock["depth"].as_u64().unwrap(),
                lock["deadlock"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("lock:a", 0, true),
            ("lock:b", 0, true),
            ("lock:c", 1, false)
        ]
    );
    let waiters = waits["locks"][0]["waiters"].as_array().unwrap();
    let in_circle: Vec<_> = waiters
        .iter()
        .map(|one| one["deadlock"].as_bool().unwrap())
        .collect();
    assert_eq!(in_circle, [true, false], "{waits}");
    assert_eq!(waiters[0]["holds"][0]["key"], "lock:b");
    assert_eq!(waiters[1]["holds"][0]["key"], "lock:c");

    // One of them gives up: the knot is undone.
    let () = client.del("redisson_lock_queue:{lock:b}").await.unwrap();
    eventually_is("there is no deadlock", async || {
        let waits = console.person().get(WAITS).await.json();
        let locks = waits["locks"].as_array().unwrap();
        locks.len() == 2 && locks.iter().all(|lock| lock["deadlock"] == false)
    })
    .await;
    console.stop().await;
}

#[tokio::test]
async fn the_dead_in_a_queue_neither_wait_nor_make_a_deadlock() {
    let nodes = RedisNodes::start(1).await;
    let node = &nodes.0[0];
    let console = TestConsole::start(vec![nodes.config()]).await;
    has_and_wants(node, &field(1), "lock:a", "lock:b").await;
    has_and_wants(node, &field(2), "lock:b", "lock:a").await;
    has_and_wants(node, &field(3), "lock:c", "lock:a").await;
    // Both of those who stand in the queue of the first died ten minutes ago.
    let mut client = node.client().await;
    let died = Clock::real().now().plus_millis(-600_000).millis();
    for thread in [2, 3] {
        let deadlines = "redisson_lock_timeout:{lock:a}";
        let () = client.zadd(deadlines, field(thread), died).await.unwrap();
    }
    let waits = told(&console, 1).await;
    let lock = &waits["locks"][0];
    assert_eq!(
        (&lock["lock"]["key"], &lock["waiting"], &lock["deadlock"]),
        (&json!("lock:b"), &json!(1), &json!(false)),
        "{waits}"
    );
    let person = console.person();
    let path = "/api/v1/groups/orders/locks/lock%3A";
    // The one that is waited for is known to be contended: by then the other's queue was counted as well.
    eventually_is("the waiter counts", async || {
        let lock = person.get(&format!("{path}b")).await.json();
        lock["flags"] == json!(["contended"])
    })
    .await;
    let lock = person.get(&format!("{path}a")).await.json();
    assert_eq!(
        (&lock["flags"], &lock["evidence"]),
        (&json!([]), &json!([]))
    );
    console.stop().await;
}

#[tokio::test]
async fn a_queue_that_is_none_or_far_too_large_harms_nobody() {
    let nodes = RedisNodes::start(1).await;
    let node = &nodes.0[0];
    let mut config = nodes.config();
    config.keys = vec!["order:*".into()];
    config.keys_are_explicit = true;
    let console = TestConsole::start(vec![config]).await;
    let holder = Thread::on(node, 1).await;
    assert_eq!(holder.try_lock().await, None);
    let mut client = node.client().await;
    for n in 0..250 {
        let () = client.rpush(QUEUE, field(1_000 + n)).await.unwrap();
    }
    let waits = told(&console, 1).await;
    let lock = &waits["locks"][0];
    assert_eq!(lock["lock"]["key"], KEY);
    assert_eq!(lock["waiting"], 250);
    assert_eq!(lock["waiters"].as_array().unwrap().len(), 100);

    // Two elements of a megabyte: how many stand there is told, and nothing of it is read.
    let () = client.del(QUEUE).await.unwrap();
    let () = client
        .rpush(QUEUE, vec!["x".repeat(1 << 20); 2])
        .await
        .unwrap();
    eventually_is("two wait", async || {
        let waits = console.person().get(WAITS).await.json();
        waits["locks"][0]["waiting"] == 2 && waits["locks"][0]["waiters"] == json!([])
    })
    .await;
    let () = client.del(QUEUE).await.unwrap();
    let () = client.set(QUEUE, "no list").await.unwrap();
    told(&console, 0).await;
    console.stop().await;
}

#[tokio::test]
async fn a_node_whose_queues_cannot_be_read_is_named() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    for node in &nodes.0 {
        has_and_wants(node, &field(1), "lock:a", "lock:b").await;
        has_and_wants(node, &field(2), "lock:b", "lock:c").await;
    }
    let waits = told(&console, 1).await;
    assert_eq!(waits["unread"], json!([]));
    assert_eq!(
        waits["locks"][0]["waiting"], 1,
        "once, not once for each node"
    );
    nodes.0[2].stop().await;
    eventually_is("one node is not read", async || {
        let waits = console.person().get(WAITS).await.json();
        waits["unread"]
            .as_array()
            .is_some_and(|unread| unread.len() == 1)
    })
    .await;
    nodes.0[2].go_on().await;
    console.stop().await;
}
