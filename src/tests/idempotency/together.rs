//! Several who wait with one key share an attempt: until it ends, or the last of them hangs up.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::LimitsConfig;
use serde_json::json;

use super::{KEY, acquire, is_replayed, lasting};
use crate::api::{group, lock_path};
use crate::support::console::{Answer, Person, TestConsole};
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// Somebody else has the lock; so many wait for it with one key, each over a connection of its own.
fn waiters(console: &TestConsole, n: usize, wait_ms: u64) -> Vec<tokio::task::JoinHandle<Answer>> {
    let body = json!({"ttl_ms": 60_000, "wait_ms": wait_ms});
    let wait = |script: Person| {
        let body = body.clone();
        tokio::spawn(async move {
            loop {
                let answer = acquire(&script, b"lock:a", KEY, body.clone()).await;
                // Whoever looks whether an attempt runs, or whether all wait, takes the key or a place for a moment.
                if !matches!(answer.status, 422 | 429) {
                    return answer;
                }
            }
        })
    };
    (0..n).map(|_| wait(console.person())).collect()
}

/// An attempt with the key runs on the lock: another request with it is refused, and takes nothing.
async fn attempt_runs(console: &TestConsole) -> bool {
    let probe = acquire(&console.person(), b"lock:a", KEY, json!({"ttl_ms": 77})).await;
    probe.status == 422
}

#[tokio::test]
async fn who_hangs_up_leaves_the_attempt_to_the_others() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        waiting: 3,
        ..LimitsConfig::default()
    };
    let groups = vec![group("orders", &nodes)];
    let console = TestConsole::start_within(groups, limits, Clock::real()).await;
    nodes.set(0, b"lock:a", b"somebody", Some(600_000)).await;
    nodes.set(0, b"lock:b", b"somebody", Some(600_000)).await;
    let first = waiters(&console, 1, 9_000).remove(0);
    eventually_is("the attempt runs", async || attempt_runs(&console).await).await;
    let others = waiters(&console, 2, 9_000);
    let all_wait = async || {
        let path = lock_path("orders", b"lock:b", "/acquire");
        let body = json!({"ttl_ms": 1_000, "wait_ms": 1});
        console.person().post(&path, body).await.status == 429
    };
    eventually_is("all three wait", all_wait).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    eventually_is("the first has gone", async || !all_wait().await).await;
    assert!(attempt_runs(&console).await);
    nodes.delete(0, b"lock:a").await;
    let mut answers = Vec::new();
    for other in others {
        let answer = other.await.unwrap();
        assert!(is_replayed(&answer), "the first one began it");
        answers.push(lasting(&answer));
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn when_all_hang_up_the_attempt_ends_and_leaves_nothing_behind() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    for n in 0..3 {
        nodes.set(n, b"lock:a", b"somebody", Some(600_000)).await;
    }
    let all = waiters(&console, 3, 9_000);
    eventually_is("the attempt runs", async || attempt_runs(&console).await).await;
    for one in all {
        one.abort();
    }
    eventually_is("the attempt has ended", async || {
        !attempt_runs(&console).await
    })
    .await;
    for n in 0..3 {
        assert_eq!(
            nodes.get(n, b"lock:a").await.as_deref(),
            Some(&b"somebody"[..])
        );
        nodes.delete(n, b"lock:a").await;
    }
    // Nobody is waiting any more: the lock is for whoever comes, and the key is free.
    let next = acquire(&console.person(), b"lock:a", KEY, json!({"ttl_ms": 60_000})).await;
    assert!(!is_replayed(&next));
}

#[tokio::test]
async fn a_failure_is_shared_by_those_who_waited_and_not_remembered() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    nodes.set(0, b"lock:a", b"somebody", Some(600_000)).await;
    for waiter in waiters(&console, 3, 300) {
        let answer = waiter.await.unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (409, "held"));
        assert!(answer.headers.contains_key("retry-after"));
    }
    nodes.delete(0, b"lock:a").await;
    let body = json!({"ttl_ms": 60_000, "wait_ms": 300});
    let now = acquire(&console.person(), b"lock:a", KEY, body).await;
    assert!(!is_replayed(&now));
}
