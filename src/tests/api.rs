//! The JSON API as scripts meet it.

use std::time::{Duration, Instant};

use lockkeeper::domain::{Environment, LockKey};
use lockkeeper::server::config::GroupConfig;
use serde_json::{Value, json};

use crate::support::console::{Answer, TestConsole};
use crate::support::redis_nodes::RedisNodes;

pub fn group(name: &str, nodes: &RedisNodes) -> GroupConfig {
    GroupConfig {
        keys: vec!["*".into()],
        keys_are_explicit: true,
        ..GroupConfig::new(name, nodes.urls())
    }
}

pub fn lock_path(group: &str, key: &[u8], verb: &str) -> String {
    format!(
        "/api/v1/groups/{group}/locks/{}{verb}",
        LockKey::new(key).encoded()
    )
}

/// The outcome that each node reports.
fn outcomes(answer: &Answer) -> Vec<String> {
    let json = answer.json();
    let nodes = json["nodes"].as_array().unwrap().iter();
    nodes
        .map(|node| node["outcome"].as_str().unwrap().to_owned())
        .collect()
}

/// It was done on a quorum of three, and on the third too or not heard of yet.
fn is_done(answer: &Answer, done: &str) {
    let outcomes = outcomes(answer);
    let on = outcomes.iter().filter(|outcome| *outcome == done).count();
    let heard_of = outcomes
        .iter()
        .filter(|outcome| *outcome != "pending")
        .count();
    assert!(on >= 2 && on == heard_of, "{outcomes:?}");
}

#[tokio::test]
async fn a_lock_is_acquired_shown_extended_and_released() {
    let nodes = RedisNodes::start(3).await;
    // A machine that is busy with other tests may be slow; that is not what is looked at here.
    let mut patient = group("orders", &nodes);
    patient.command_timeout = Duration::from_secs(10);
    let console = TestConsole::start(vec![patient]).await.connected().await;
    let script = console.person();
    let path = |verb| lock_path("orders", b"lock:payout/eu", verb);
    let post = async |verb, body| script.post(&path(verb), body).await;

    let answer = post("/acquire", json!({"ttl_ms": 60_000, "label": "deploy 7"})).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    is_done(&answer, "acquired");
    let acquired = answer.json();
    let token = acquired["token"].as_str().unwrap();
    let validity = acquired["validity_ms"].as_u64().unwrap();
    // ttl − elapsed − (1 % + 2 ms)
    assert!((30_000..=59_398).contains(&validity), "{validity}");
    // The same bytes on every node, as any client of the plain format would write them.
    nodes
        .all_come_to(b"lock:payout/eu", Some(token.as_bytes()))
        .await;

    let shown = script.get(&path("")).await;
    let lock = shown.json();
    assert_eq!((shown.status, &lock["verdict"]), (200, &json!("held")));
    assert_eq!(lock["key"], "lock:payout/eu");
    assert_eq!(lock["owner"]["fingerprint"], acquired["fingerprint"]);
    assert!(
        lock["owner"]["label"].as_str().unwrap().contains("deploy"),
        "{lock}"
    );
    assert!(lock["lease_ms"].as_u64().unwrap() > 30_000 && lock["acquired_at_is"] == "first-seen");

    let again = post("/acquire", json!({"ttl_ms": 30_000})).await;
    again.is(409, "held");
    assert_eq!(
        again.json()["owner"]["fingerprint"],
        acquired["fingerprint"]
    );
    assert!(again.json()["lease_ms"].as_u64().unwrap() > 20_000);
    assert!(again.headers.contains_key("retry-after"));

    let theirs = json!({"token": "someone else", "ttl_ms": 1000});
    post("/extend", theirs).await.is(409, "not-owner");
    let extended = post("/extend", json!({"token": token, "ttl_ms": 600_000})).await;
    assert_eq!(extended.status, 200, "{}", extended.text);
    assert!(extended.json()["validity_ms"].as_u64().unwrap() > 60_000);

    post("/release", json!({"token": "someone else"}))
        .await
        .is(409, "not-owner");
    let released = post("/release", json!({"token": token})).await;
    assert_eq!(
        (released.status, &released.json()["outcome"]),
        (200, &json!("released"))
    );
    is_done(&released, "released");
    nodes.all_come_to(b"lock:payout/eu", None).await;

    post("/release", json!({"token": token}))
        .await
        .is(404, "not-held");
    let late = json!({"token": token, "ttl_ms": 1000});
    post("/extend", late).await.is(404, "not-held");
    script.get(&path("")).await.is(404, "not-observed");
}

#[tokio::test]
async fn an_acquire_waits_for_a_lease_to_end() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    nodes.set(0, b"lock:w", b"someone", Some(700)).await;
    let path = lock_path("jobs", b"lock:w", "/acquire");
    let began = Instant::now();
    let acquired = console
        .person()
        .post(&path, json!({"ttl_ms": 5000, "wait_ms": 5000}))
        .await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    assert!(began.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn odd_keys_are_listed_shown_and_acted_on_like_any_other() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    let script = console.person();
    let keys: Vec<Vec<u8>> = vec![
        vec![0xff, 0x00, 0xfe],
        b"lock:a/b/../c".to_vec(),
        b"lock:%41?x=#y<b>\"'".to_vec(),
        "lock:🔒 ключ".as_bytes().to_vec(),
        b"line\r\nbreak".to_vec(),
        [b"lock:".to_vec(), vec![b'k'; 10_000]].concat(),
        vec![0xee; 10_000],
    ];
    for key in &keys {
        let acquired = script
            .post(
                &lock_path("jobs", key, "/acquire"),
                json!({"ttl_ms": 60_000}),
            )
            .await;
        assert_eq!(acquired.status, 201, "{}", acquired.text);
        let token = acquired.json()["token"].as_str().unwrap().to_owned();
        assert_eq!(nodes.get(0, key).await.as_deref(), Some(token.as_bytes()));
        let shown = script.get(&lock_path("jobs", key, "")).await;
        assert_eq!(shown.status, 200, "{}", shown.text);
        assert_eq!(
            shown.json()["key_encoded"],
            LockKey::new(key.clone()).encoded()
        );
    }
    let listed = script.get("/api/v1/locks?limit=1000&sort=key").await.json();
    assert_eq!(listed["total"], keys.len());
    let fingerprint = |key: &[u8]| {
        let encoded = LockKey::new(key).encoded();
        let locks = listed["locks"].as_array().unwrap().clone();
        let lock = locks
            .into_iter()
            .find(|lock| lock["key_encoded"] == encoded.as_str())
            .unwrap();
        lock["owner"]["fingerprint"].as_str().unwrap().to_owned()
    };
    for key in &keys {
        let body = json!({"fingerprint": fingerprint(key), "reason": "test"});
        let forced = script
            .post(&lock_path("jobs", key, "/force-release"), body)
            .await;
        assert_eq!(forced.status, 200, "{}", forced.text);
        assert_eq!(nodes.get(0, key).await, None);
    }
}

#[tokio::test]
async fn a_forced_release_needs_the_owner_that_was_seen_and_in_production_the_name() {
    let nodes = RedisNodes::start(3).await;
    let production = GroupConfig {
        environment: Environment::Production,
        ..group("orders", &nodes)
    };
    let console = TestConsole::start(vec![production]).await;
    let operator = console.person();
    let path = lock_path("orders", b"lock:p", "/force-release");
    let force = async |body| operator.post(&path, body).await;
    nodes
        .set_first(3, b"lock:p", b"owner-one", Some(60_000))
        .await;
    let shown = operator
        .get(&lock_path("orders", b"lock:p", ""))
        .await
        .json();
    let seen = &shown["owner"]["fingerprint"];

    let unconfirmed = json!({"fingerprint": seen, "reason": "stuck"});
    force(unconfirmed).await.is(422, "confirm-required");
    nodes
        .set_first(3, b"lock:p", b"owner-two", Some(60_000))
        .await;
    let changed = force(json!({"fingerprint": seen, "reason": "stuck", "confirm": "lock:p"})).await;
    changed.is(409, "owner-changed");
    let now = changed.json()["owner"]["fingerprint"].clone();
    assert_ne!(now, *seen);
    assert_eq!(nodes.get(2, b"lock:p").await.unwrap(), b"owner-two");

    let body = json!({"fingerprint": now, "reason": "stuck", "confirm": "lock:p"});
    let forced = force(body.clone()).await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    assert_eq!(outcomes(&forced), ["released"; 3]);
    assert_eq!(forced.json()["seen_after"], json!([]));
    force(body).await.is(404, "not-held");
}

#[tokio::test]
async fn pages_of_a_list_neither_repeat_nor_skip_locks_that_stay() {
    let nodes = RedisNodes::start(1).await;
    for n in 0..25 {
        nodes
            .set(
                0,
                format!("lock:{n:02}").as_bytes(),
                format!("owner-{n}").as_bytes(),
                Some(600_000 + n * 1000),
            )
            .await;
    }
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    let script = console.person();
    script.sees(25).await;
    for order in [
        "sort=key",
        "sort=lease&order=desc",
        "sort=owner",
        "sort=attention",
        "sort=held&order=desc",
    ] {
        let mut seen: Vec<Value> = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = script
                .get(&format!("/api/v1/locks?{order}&limit=10{cursor}"))
                .await
                .json();
            seen.extend(
                page["locks"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|lock| lock["key"].clone()),
            );
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let mut once = seen.clone();
        once.sort_by_key(Value::to_string);
        once.dedup();
        assert_eq!((seen.len(), once.len()), (25, 25), "{order}");
    }
    let found = script.get("/api/v1/locks?q=LOCK%3A07").await.json();
    assert_eq!(
        (&found["total"], &found["locks"][0]["key"]),
        (&json!(1), &json!("lock:07"))
    );
}
