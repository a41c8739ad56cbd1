//! A repeated acquire gives the first answer again, over real HTTP and on real nodes.

mod together;

use std::time::Duration;

use lockkeeper::domain::Timestamp;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::LimitsConfig;
use serde_json::{Value, json};

use crate::api::{group, lock_path};
use crate::support::console::{Answer, Person, TestConsole};
use crate::support::process::Process;
use crate::support::redis_nodes::RedisNodes;

const KEY: &str = "8e03978e-40d5-43e8-bc93-6894a57f9324";

async fn acquire(person: &Person, lock: &[u8], key: &str, body: Value) -> Answer {
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", key),
    ];
    let path = lock_path("orders", lock, "/acquire");
    person.send("POST", &path, &headers, body.to_string()).await
}

/// What every repetition has in common; for how long the lock may be relied on differs.
pub fn lasting(answer: &Answer) -> Value {
    let mut fields = answer.json();
    for changing in ["validity_ms", "expires_at"] {
        fields.as_object_mut().unwrap().remove(changing);
    }
    fields
}

/// It says that what was acquired is not held any more.
fn is_over(answer: &Answer) {
    let said = (answer.status, answer.code());
    assert_eq!(said, (410, "hold-ended".to_owned()), "{}", answer.text);
    assert_eq!(answer.headers["idempotency-replayed"], "true");
    assert!(!answer.text.contains("token"), "{}", answer.text);
}

fn is_replayed(answer: &Answer) -> bool {
    assert_eq!(answer.status, 201, "{}", answer.text);
    match answer.headers.get("idempotency-replayed") {
        Some(said) => {
            assert_eq!(said, "true");
            true
        }
        None => false,
    }
}

#[tokio::test]
async fn the_same_key_and_request_give_the_first_answer_again() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group("orders", &nodes)])
        .await
        .connected()
        .await;
    let script = console.person();
    let body = json!({"ttl_ms": 60_000, "label": "deploy"});
    let first = acquire(&script, b"lock:a", KEY, body.clone()).await;
    assert!(!is_replayed(&first));
    let token = first.json()["token"].as_str().unwrap().to_owned();
    nodes.all_come_to(b"lock:a", Some(token.as_bytes())).await;
    let before = [
        nodes.dump(0).await,
        nodes.dump(1).await,
        nodes.dump(2).await,
    ];

    // From another client, and with the JSON written another way.
    let again = acquire(&console.person(), b"lock:a", KEY, body.clone()).await;
    assert!(is_replayed(&again));
    assert_eq!(lasting(&again), lasting(&first));
    let path = lock_path("orders", b"lock:a", "/acquire");
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", KEY),
    ];
    let spaced = "{ \"label\" : \"deploy\",\n \"wait_ms\": null, \"ttl_ms\":60000 }";
    let spaced = script
        .send("POST", &path, &headers, spaced.to_owned())
        .await;
    assert!(is_replayed(&spaced));
    assert_eq!(lasting(&spaced), lasting(&first));

    let other = acquire(&script, b"lock:a", KEY, json!({"ttl_ms": 60_001})).await;
    assert_eq!((other.status, other.code().as_str()), (422, "impossible"));
    assert_eq!(other.json()["field"], "Idempotency-Key");
    let other_key = acquire(&script, b"lock:a", "another", body.clone()).await;
    assert_eq!((other_key.status, other_key.code().as_str()), (409, "held"));
    let without = script.post(&path, body.clone()).await;
    assert_eq!((without.status, without.code().as_str()), (409, "held"));
    for (n, before) in before.iter().enumerate() {
        assert_eq!(nodes.dump(n).await, *before, "something was touched");
    }

    // On another lock the key stands for another acquire.
    let elsewhere = acquire(&script, b"lock:b", KEY, json!({"ttl_ms": 60_000})).await;
    assert!(!is_replayed(&elsewhere));
}

#[tokio::test]
async fn a_repetition_that_comes_after_the_release_takes_nothing_and_says_that_the_lock_is_over() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let script = console.person();
    let body = json!({"ttl_ms": 60_000});
    let first = acquire(&script, b"lock:a", KEY, body.clone()).await;
    let token = first.json()["token"].clone();
    let release = lock_path("orders", b"lock:a", "/release");
    assert_eq!(
        script.post(&release, json!({"token": token})).await.status,
        200
    );
    let late = acquire(&script, b"lock:a", KEY, body).await;
    is_over(&late);
    assert_eq!(nodes.get(0, b"lock:a").await, None);
}

#[tokio::test]
async fn simultaneous_requests_with_one_key_are_one_acquire() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group("orders", &nodes)])
        .await
        .connected()
        .await;
    let body = json!({"ttl_ms": 60_000});
    let asked = (0..30).map(|_| {
        let (script, body) = (console.person(), body.clone());
        async move { acquire(&script, b"lock:a", KEY, body).await }
    });
    let answers = futures::future::join_all(asked).await;
    let first = answers.iter().filter(|answer| !is_replayed(answer)).count();
    assert_eq!(first, 1);
    let is_the_same = |answer: &Answer| lasting(answer) == lasting(&answers[0]);
    assert!(answers.iter().all(is_the_same));
    let token = answers[0].json()["token"].as_str().unwrap().to_owned();
    nodes.all_come_to(b"lock:a", Some(token.as_bytes())).await;
}

#[tokio::test]
async fn an_answer_is_given_again_until_the_lease_it_speaks_of_ends() {
    let nodes = RedisNodes::start(1).await;
    let clock = Clock::by_hand(Timestamp::from_millis(1_800_000_000_000));
    let limits = LimitsConfig::default();
    let groups = vec![group("orders", &nodes)];
    let console = TestConsole::start_within(groups, limits, clock.clone()).await;
    let script = console.person();
    let body = json!({"ttl_ms": 60_000});
    let first = acquire(&script, b"lock:a", KEY, body.clone()).await;
    assert!(!is_replayed(&first));
    clock.advance(Duration::from_secs(59));
    let again = acquire(&script, b"lock:a", KEY, body.clone()).await;
    assert!(is_replayed(&again));
    assert_eq!(lasting(&again), lasting(&first));

    // 60 s, less 1 % and 2 ms of drift, less the round trip.
    clock.advance(Duration::from_millis(900));
    nodes.delete(0, b"lock:a").await;
    let anew = acquire(&script, b"lock:a", KEY, body).await;
    assert!(!is_replayed(&anew));
    assert_ne!(anew.json()["token"], first.json()["token"]);

    // One that is renewed from here is there for longer than its first lease.
    let renewed = json!({"ttl_ms": 60_000, "auto_renew": true});
    let first = acquire(&script, b"lock:r", KEY, renewed.clone()).await;
    clock.advance(Duration::from_hours(1));
    let again = acquire(&script, b"lock:r", KEY, renewed).await;
    assert!(is_replayed(&again));
    assert_eq!(lasting(&again), lasting(&first));
}

#[tokio::test]
async fn so_many_answers_are_remembered_and_a_forgotten_one_breaks_no_lock() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        remembered_answers: 2,
        ..LimitsConfig::default()
    };
    let groups = vec![group("orders", &nodes)];
    let console = TestConsole::start_within(groups, limits, Clock::real()).await;
    let script = console.person();
    let body = json!({"ttl_ms": 60_000});
    for lock in [b"lock:1", b"lock:2", b"lock:3"] {
        assert!(!is_replayed(
            &acquire(&script, lock, KEY, body.clone()).await
        ));
    }
    for lock in [b"lock:2", b"lock:3"] {
        assert!(is_replayed(
            &acquire(&script, lock, KEY, body.clone()).await
        ));
    }
    let forgotten = acquire(&script, b"lock:1", KEY, body).await;
    assert_eq!((forgotten.status, forgotten.code().as_str()), (409, "held"));
}

#[tokio::test]
async fn a_key_that_is_none_is_refused_before_anything_is_touched() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let script = console.person();
    let body = json!({"ttl_ms": 60_000});
    let long = "k".repeat(256);
    for odd in ["", "two words", "tab\there", "schlüssel", &long] {
        let answer = acquire(&script, b"lock:a", odd, body.clone()).await;
        assert_eq!((answer.status, answer.code().as_str()), (422, "impossible"));
        assert_eq!(answer.json()["field"], "Idempotency-Key", "{odd:?}");
    }
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", "one"),
        ("idempotency-key", "one"),
    ];
    let path = lock_path("orders", b"lock:a", "/acquire");
    let twice = script.send("POST", &path, &headers, body.to_string()).await;
    assert_eq!((twice.status, twice.code().as_str()), (422, "impossible"));
    assert!(nodes.dump(0).await.is_empty());

    let longest = acquire(&script, b"lock:a", &"k".repeat(255), body).await;
    assert!(!is_replayed(&longest));
}

#[tokio::test]
async fn neither_a_remembered_token_nor_its_key_reaches_the_log() {
    let nodes = RedisNodes::start(1).await;
    let console = Process::on(&nodes, &["--log", "trace"]).await;
    let path = lock_path("default", b"lock:a", "/acquire");
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", KEY),
    ];
    let mut answers = Vec::new();
    for ttl_ms in [60_000, 60_000, 50_000] {
        let body = json!({"ttl_ms": ttl_ms}).to_string();
        answers.push(console.person.send("POST", &path, &headers, body).await);
    }
    assert!(is_replayed(&answers[1]) && answers[2].status == 422);
    let token = answers[0].json()["token"].as_str().unwrap().to_owned();
    assert!(!answers[2].text.contains(&token) && !answers[2].text.contains(KEY));
    let log = console.stop().await;
    let secret = token.rsplit(':').next().unwrap();
    assert!(log.contains("acquired") && !log.contains(secret) && !log.contains(KEY));
}

#[tokio::test]
async fn a_repetition_promises_no_more_than_is_left() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let script = console.person();
    let body = json!({"ttl_ms": 60_000});
    let first = acquire(&script, b"lock:a", KEY, body.clone()).await;
    // Somebody made the lease shorter; so does time, only slower.
    let mut client = nodes.0[0].client().await;
    let _left: i64 = redis::cmd("PEXPIRE")
        .arg("lock:a")
        .arg(9_000)
        .query_async(&mut client)
        .await
        .unwrap();
    let again = acquire(&script, b"lock:a", KEY, body).await;
    assert!(is_replayed(&again));
    assert_eq!(lasting(&again), lasting(&first));
    let validity = again.json()["validity_ms"].as_u64().unwrap();
    assert!((1..=9_000).contains(&validity), "{}", again.text);
    assert!(again.json()["expires_at"].as_str() < first.json()["expires_at"].as_str());
}

#[tokio::test]
async fn a_repetition_of_a_kept_lock_tells_its_validity_of_now_and_its_loss() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let script = console.person();
    let body = json!({"ttl_ms": 1_500, "auto_renew": true});
    let mut watching = script.watch("", None).await;
    let first = acquire(&script, b"lock:a", KEY, body.clone()).await;
    let ends = first.json()["expires_at"].as_str().unwrap().to_owned();
    watching
        .until(|told| told.data["lock"]["renewals"]["count"].as_u64() >= Some(3))
        .await;
    let again = acquire(&script, b"lock:a", KEY, body.clone()).await;
    assert!(is_replayed(&again));
    assert_eq!(again.json()["token"], first.json()["token"]);
    let expires_at = again.json()["expires_at"].as_str().unwrap().to_owned();
    assert!(expires_at > ends, "{expires_at} after {ends}");
    assert!((1..1_500).contains(&again.json()["validity_ms"].as_u64().unwrap()));

    nodes.delete(0, b"lock:a").await;
    nodes.set(0, b"lock:a", b"somebody", Some(600_000)).await;
    watching.until(|told| told.data["type"] == "lost").await;
    is_over(&acquire(&script, b"lock:a", KEY, body).await);
}
