//! The wait-for graph: the console's own waiters and the queues of Redisson's fair lock, on real
//! servers.

use redis::AsyncCommands as _;
use serde_json::{Value, json};

use lockkeeper::server::clock::Clock;
use lockkeeper::server::stores::redis::formats::fingerprint;

use crate::support::console::TestConsole;
use crate::support::redis_nodes::{RedisNode, RedisNodes};
use crate::support::redisson::{KEY, QUEUE, RedissonThread, wait_for_queue_length};
use crate::support::{wait_for, wait_until};

const WAITS: &str = "/api/v1/waits";

fn fingerprint_text(text: &str) -> String {
    fingerprint(text.as_bytes()).to_string()
}

/// Creates the keys of a Redisson thread that holds one lock and is queued for another.
async fn hold_and_queue(node: &RedisNode, field: &str, held: &str, awaited: &str) {
    let mut client = node.client().await;
    let () = client.hset(held, field, 1).await.unwrap();
    let () = client.pexpire(held, 600_000).await.unwrap();
    let queue = format!("redisson_lock_queue:{{{awaited}}}");
    let () = client.rpush(queue, field).await.unwrap();
    let deadlines = format!("redisson_lock_timeout:{{{awaited}}}");
    let deadline = 1_895_200_845_000_u64;
    let () = client.zadd(deadlines, field, deadline).await.unwrap();
}

fn field(thread: u32) -> String {
    format!("6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:{thread}")
}

/// Returns the response once it has this many awaited locks.
async fn wait_for_awaited_locks(console: &TestConsole, locks: usize) -> Value {
    let api = console.api();
    wait_for("the awaited locks are listed", async || {
        let waits = api.get(WAITS).await.json();
        (waits["locks"].as_array().unwrap().len() == locks).then_some(waits)
    })
    .await
}

#[tokio::test]
async fn without_waiters_the_list_is_empty() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let waits = api.get(&format!("{WAITS}?group=orders")).await;
    assert_eq!(waits.status, 200, "{}", waits.text);
    assert_eq!(waits.json()["locks"], json!([]));
    let unknown = api.get(&format!("{WAITS}?group=x")).await;
    unknown.assert_problem(404, "unknown-group");
    let bad = api.get(&format!("{WAITS}?grp=x")).await;
    bad.assert_problem(400, "bad-request");
    console.stop().await;
}

#[tokio::test]
async fn a_waiter_of_the_console_is_listed_with_its_label_until_it_disconnects() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let path = "/api/v1/groups/orders/locks/lock%3Aa/acquire";
    let held = api.post(path, json!({"ttl_ms": 60_000})).await.json();
    let waiter = console.api();
    let waiting = tokio::spawn(async move {
        let body = json!({"ttl_ms": 60_000, "wait_ms": 9_000, "label": "deploy 7"});
        waiter.post(path, body).await
    });
    let waits = wait_for("the owner is listed", async || {
        let waits = wait_for_awaited_locks(&console, 1).await;
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
        (&waiter["queue"], &waiter["label"]),
        (&json!("console"), &json!("deploy 7"))
    );
    assert!(waiter["waiting_since"].is_string() && waiter["fingerprint"].is_string());
    assert_eq!(waiter["held_locks"], json!([]));
    waiting.abort();
    wait_for_awaited_locks(&console, 0).await;
    console.stop().await;
}

#[tokio::test]
async fn redisson_threads_and_the_consoles_waiters_are_listed_once_each() {
    let nodes = RedisNodes::start(1).await;
    let node = &nodes.0[0];
    let mut config = nodes.config();
    config.keys = vec!["order:*".into()];
    config.keys_are_explicit = true;
    let console = TestConsole::start(vec![config]).await;
    let holder = RedissonThread::new(node, 1).await;
    assert_eq!(holder.try_lock().await, None);
    let thread = RedissonThread::new(node, 2).await;
    assert!(thread.try_lock().await.is_some());
    let api = console.api();
    let waiting = tokio::spawn(async move {
        let body =
            json!({"ttl_ms": 60_000, "wait_ms": 9_000, "format": "redisson-fair", "label": "ours"});
        let path = "/api/v1/groups/orders/locks/order%3A42/acquire";
        api.post(path, body).await
    });
    wait_for_queue_length(node, 2).await;
    let waits = wait_for("both waiters are listed", async || {
        let waits = wait_for_awaited_locks(&console, 1).await;
        (waits["locks"][0]["waiter_count"] == 2).then_some(waits)
    })
    .await;
    let lock = &waits["locks"][0];
    assert_eq!(
        lock["owners"][0]["fingerprint"],
        fingerprint_text(&holder.field)
    );
    let waiters = lock["waiters"].as_array().unwrap();
    let mut listed: Vec<_> = waiters
        .iter()
        .map(|waiter| {
            (
                waiter["queue"].as_str().unwrap(),
                waiter["label"].as_str().unwrap(),
            )
        })
        .collect();
    listed.sort_unstable();
    assert_eq!(
        listed,
        [("console", "ours"), ("redisson-queue", "6d1f5a0e thread 2")]
    );
    assert!(
        waiters
            .iter()
            .all(|waiter| waiter["expires_at"].is_string()),
        "{lock}"
    );
    // The queue contains the waiters' tokens, which must not be in the response.
    assert!(!waits.to_string().contains(&thread.field), "{waits}");
    waiting.abort();
    console.stop().await;
}

#[tokio::test]
async fn two_threads_that_wait_for_each_other_are_a_deadlock() {
    let nodes = RedisNodes::start(1).await;
    let node = &nodes.0[0];
    let console = TestConsole::start(vec![nodes.config()]).await;
    hold_and_queue(node, &field(1), "lock:a", "lock:b").await;
    hold_and_queue(node, &field(2), "lock:b", "lock:a").await;
    // Thread 3 waits behind them and holds a lock that thread 4 waits for.
    hold_and_queue(node, &field(3), "lock:c", "lock:a").await;
    let mut client = node.client().await;
    let () = client
        .rpush("redisson_lock_queue:{lock:c}", field(4))
        .await
        .unwrap();
    let waits = wait_for_awaited_locks(&console, 3).await;
    let listed: Vec<_> = waits["locks"]
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
        listed,
        [
            ("lock:a", 0, true),
            ("lock:b", 0, true),
            ("lock:c", 1, false)
        ]
    );
    let waiters = waits["locks"][0]["waiters"].as_array().unwrap();
    let in_cycle: Vec<_> = waiters
        .iter()
        .map(|waiter| waiter["deadlock"].as_bool().unwrap())
        .collect();
    assert_eq!(in_cycle, [true, false], "{waits}");
    assert_eq!(waiters[0]["held_locks"][0]["key"], "lock:b");
    assert_eq!(waiters[1]["held_locks"][0]["key"], "lock:c");

    // One of them leaves the queue: the deadlock is resolved.
    let () = client.del("redisson_lock_queue:{lock:b}").await.unwrap();
    wait_until("there is no deadlock", async || {
        let waits = console.api().get(WAITS).await.json();
        let locks = waits["locks"].as_array().unwrap();
        locks.len() == 2 && locks.iter().all(|lock| lock["deadlock"] == false)
    })
    .await;
    console.stop().await;
}

#[tokio::test]
async fn expired_waiters_are_not_listed_and_form_no_deadlock() {
    let nodes = RedisNodes::start(1).await;
    let node = &nodes.0[0];
    let console = TestConsole::start(vec![nodes.config()]).await;
    hold_and_queue(node, &field(1), "lock:a", "lock:b").await;
    hold_and_queue(node, &field(2), "lock:b", "lock:a").await;
    hold_and_queue(node, &field(3), "lock:c", "lock:a").await;
    // The deadlines of both waiters in the queue of `lock:a` passed ten minutes ago.
    let mut client = node.client().await;
    let expired_at = Clock::system().now().plus_millis(-600_000).millis();
    for thread in [2, 3] {
        let deadlines = "redisson_lock_timeout:{lock:a}";
        let () = client
            .zadd(deadlines, field(thread), expired_at)
            .await
            .unwrap();
    }
    let waits = wait_for_awaited_locks(&console, 1).await;
    let lock = &waits["locks"][0];
    assert_eq!(
        (
            &lock["lock"]["key"],
            &lock["waiter_count"],
            &lock["deadlock"]
        ),
        (&json!("lock:b"), &json!(1), &json!(false)),
        "{waits}"
    );
    let api = console.api();
    let path = "/api/v1/groups/orders/locks/lock%3A";
    // Once `lock:b` has the flag, the queue of `lock:a` has been read as well.
    wait_until("the waiter is counted", async || {
        let lock = api.get(&format!("{path}b")).await.json();
        lock["flags"] == json!(["contended"])
    })
    .await;
    let lock = api.get(&format!("{path}a")).await.json();
    assert_eq!(
        (&lock["flags"], &lock["evidence"]),
        (&json!([]), &json!([]))
    );
    console.stop().await;
}

#[tokio::test]
async fn an_invalid_or_oversized_queue_is_not_read() {
    let nodes = RedisNodes::start(1).await;
    let node = &nodes.0[0];
    let mut config = nodes.config();
    config.keys = vec!["order:*".into()];
    config.keys_are_explicit = true;
    let console = TestConsole::start(vec![config]).await;
    let holder = RedissonThread::new(node, 1).await;
    assert_eq!(holder.try_lock().await, None);
    let mut client = node.client().await;
    for n in 0..250 {
        let () = client.rpush(QUEUE, field(1_000 + n)).await.unwrap();
    }
    let waits = wait_for_awaited_locks(&console, 1).await;
    let lock = &waits["locks"][0];
    assert_eq!(lock["lock"]["key"], KEY);
    assert_eq!(lock["waiter_count"], 250);
    assert_eq!(lock["waiters"].as_array().unwrap().len(), 100);

    // Two elements of a megabyte each: the count is reported, the elements are not read.
    let () = client.del(QUEUE).await.unwrap();
    let () = client
        .rpush(QUEUE, vec!["x".repeat(1 << 20); 2])
        .await
        .unwrap();
    wait_until("two waiters are counted", async || {
        let waits = console.api().get(WAITS).await.json();
        waits["locks"][0]["waiter_count"] == 2 && waits["locks"][0]["waiters"] == json!([])
    })
    .await;
    let () = client.del(QUEUE).await.unwrap();
    let () = client.set(QUEUE, "no list").await.unwrap();
    wait_for_awaited_locks(&console, 0).await;
    console.stop().await;
}

#[tokio::test]
async fn a_node_whose_queues_cannot_be_read_is_listed_as_unread() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    for node in &nodes.0 {
        hold_and_queue(node, &field(1), "lock:a", "lock:b").await;
        hold_and_queue(node, &field(2), "lock:b", "lock:c").await;
    }
    let waits = wait_for_awaited_locks(&console, 1).await;
    assert_eq!(waits["unread_nodes"], json!([]));
    assert_eq!(
        waits["locks"][0]["waiter_count"], 1,
        "a waiter counts once, not once for each node"
    );
    nodes.0[2].pause().await;
    wait_until("one node is unread", async || {
        let waits = console.api().get(WAITS).await.json();
        waits["unread_nodes"]
            .as_array()
            .is_some_and(|unread| unread.len() == 1)
    })
    .await;
    nodes.0[2].resume().await;
    console.stop().await;
}
