//! Waiting for locks over HTTP: one gets it, the next in line is woken, and who goes away leaves nothing behind.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::console::{Answer, Person, TestConsole};
use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::{eventually, eventually_is};

const PATH: &str = "/api/v1/groups/orders/locks/lock%3Aa";

async fn acquire(person: &Person, wait_ms: u64) -> Answer {
    let body = json!({"ttl_ms": 30_000, "wait_ms": wait_ms});
    person.post(&format!("{PATH}/acquire"), body).await
}

async fn release(person: &Person, acquired: &Answer) {
    let body = json!({"token": acquired.json()["token"]});
    let released = person.post(&format!("{PATH}/release"), body).await;
    assert_eq!(released.status, 200, "{}", released.text);
}

/// How many are seen to wait.
async fn waiting(person: &Person) -> u64 {
    let lock = person.get(PATH).await.json();
    let evidence = lock["evidence"].as_array().cloned().unwrap_or_default();
    let queue = evidence.into_iter().find(|one| one["kind"] == "queue");
    queue.and_then(|one| one["value"].as_u64()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_hundred_who_ask_at_once_exactly_one_gets_it() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let asking = (0..100).map(|_| {
        let person = console.person();
        tokio::spawn(async move { acquire(&person, 0).await })
    });
    let mut won = 0;
    for answer in futures::future::join_all(asking).await {
        let answer = answer.unwrap();
        match answer.status {
            201 => won += 1,
            409 => assert_eq!(answer.code(), "held"),
            503 => assert_eq!(answer.code(), "no-quorum"),
            other => panic!("{other}: {}", answer.text),
        }
    }
    assert_eq!(won, 1);
}

#[tokio::test]
async fn those_who_wait_get_it_in_the_order_in_which_they_came() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let mut held = acquire(&person, 0).await;
    let mut line = Vec::new();
    for n in 1..=4 {
        let waiter = console.person();
        line.push(tokio::spawn(async move { acquire(&waiter, 9_000).await }));
        eventually_is("the next one waits", async || waiting(&person).await == n).await;
    }
    let mut last = 0;
    for waiter in line {
        release(&person, &held).await;
        held = waiter.await.unwrap();
        assert_eq!(held.status, 201, "{}", held.text);
        let fence = held.json()["fencing_token"].as_u64().unwrap();
        assert!(fence > last);
        last = fence;
    }
}

#[tokio::test]
async fn a_release_wakes_who_waits_and_one_by_another_program_is_found_out() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let held = acquire(&person, 0).await;
    let waiter = console.person();
    let waiting_for_it = tokio::spawn(async move { acquire(&waiter, 9_000).await });
    eventually_is("it waits", async || waiting(&person).await == 1).await;
    let began = Instant::now();
    release(&person, &held).await;
    let next = waiting_for_it.await.unwrap();
    assert_eq!(next.status, 201, "{}", next.text);
    eprintln!("from release to the next owner: {:?}", began.elapsed());

    let waiter = console.person();
    let waiting_for_it = tokio::spawn(async move { acquire(&waiter, 9_000).await });
    eventually_is("it waits", async || waiting(&person).await == 1).await;
    nodes.delete(0, b"lock:a").await;
    assert_eq!(waiting_for_it.await.unwrap().status, 201);
}

#[tokio::test]
async fn waiting_ends_with_who_has_it_and_when_to_come_back() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let held = acquire(&person, 0).await;
    let (one, other) = (console.person(), console.person());
    let both = tokio::join!(acquire(&one, 300), acquire(&other, 200));
    for answer in [both.0, both.1] {
        answer.is(409, "held");
        let problem: Value = answer.json();
        assert_eq!(problem["owner"]["fingerprint"], held.json()["fingerprint"]);
        assert!(problem["retry_after_ms"].as_u64().unwrap() > 20_000);
    }
    let lock = eventually("both refusals are evidence", async || {
        let lock = person.get(PATH).await.json();
        lock["flags"]
            .as_array()?
            .contains(&json!("contended"))
            .then_some(lock)
    })
    .await;
    assert_eq!(lock["evidence"][0]["kind"], "api-attempts");
    assert_eq!(lock["evidence"][0]["value"], 2);
}

#[tokio::test]
async fn who_hangs_up_waits_no_more_and_leaves_nothing_behind() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let held = acquire(&person, 0).await;
    let waiter = console.person();
    let waiting_for_it = tokio::spawn(async move { acquire(&waiter, 9_000).await });
    eventually_is("it waits", async || waiting(&person).await == 1).await;
    waiting_for_it.abort();
    eventually_is("nobody waits", async || waiting(&person).await == 0).await;
    release(&person, &held).await;
    let again = acquire(&person, 0).await;
    assert_eq!(again.status, 201, "nobody took it: {}", again.text);
}

#[tokio::test]
async fn ones_own_token_extends_what_it_holds_and_never_loses_it() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let first = acquire(&person, 0).await.json();
    let path = format!("{PATH}/acquire");
    let body = json!({"ttl_ms": 40_000, "token": first["token"]});
    let again = person.post(&path, body.clone()).await;
    assert_eq!(again.status, 201, "{}", again.text);
    let again = again.json();
    assert_eq!(again["token"], first["token"]);
    assert!(again["validity_ms"].as_u64() > Some(30_000));
    assert!(again["fencing_token"].as_u64() > first["fencing_token"].as_u64());

    // Two nodes do not answer: the lease is not renewed, and what is there stays there.
    for n in [1, 2] {
        nodes.0[n].stop().await;
    }
    let group = TestGroup::start(nodes.config());
    group.first_attempts().await;
    let refused = person.post(&path, body).await;
    refused.is(503, "no-quorum");
    for n in [1, 2] {
        nodes.0[n].go_on().await;
    }
    let token = first["token"].as_str().unwrap();
    let values = nodes.values(0..3, &"lock:a".into()).await;
    assert!(
        values
            .iter()
            .all(|value| value.as_deref() == Some(token.as_bytes())),
        "{values:?}"
    );
}

#[tokio::test]
async fn who_hangs_up_with_a_token_of_its_own_leaves_nothing_that_it_had_not_before() {
    let mut network = RedisNodes::proxied(3).await;
    let mut config = network.config();
    config.command_timeout = Duration::from_secs(10);
    let console = TestConsole::start(vec![config]).await.connected().await;
    let body = json!({"ttl_ms": 600_000, "token": "a token of its own"});
    for proxy in &network.proxies {
        proxy.delay(Duration::from_secs(1));
    }
    let client = console.person();
    let asked = tokio::spawn(async move { client.post(&format!("{PATH}/acquire"), body).await });
    let key = "lock:a".into();
    let nodes = &mut network.nodes;
    eventually_is("the nodes gave it", async || {
        let values = nodes.values(0..3, &key).await;
        values.iter().all(Option::is_some)
    })
    .await;
    // The answers are still on their way.
    asked.abort();
    eventually_is("nothing is left", async || {
        let values = nodes.values(0..3, &key).await;
        values.iter().all(Option::is_none)
    })
    .await;
}
