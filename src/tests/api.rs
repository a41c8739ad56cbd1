//! The JSON API: acquire, extend, release, force-release, keys of any bytes, and pagination.

use std::time::{Duration, Instant};

use lockkeeper::domain::{Environment, LockKey};
use lockkeeper::server::config::GroupConfig;
use serde_json::{Value, json};

use crate::support::console::{ApiResponse, TestConsole};
use crate::support::redis_nodes::RedisNodes;

pub fn group_config(name: &str, nodes: &RedisNodes) -> GroupConfig {
    GroupConfig {
        keys: vec!["*".into()],
        keys_are_explicit: true,
        ..GroupConfig::new(name, nodes.urls())
    }
}

pub fn lock_path(group: &str, key: &[u8], action: &str) -> String {
    format!(
        "/api/v1/groups/{group}/locks/{}{action}",
        LockKey::new(key).encoded()
    )
}

fn node_outcomes(response: &ApiResponse) -> Vec<String> {
    let json = response.json();
    let nodes = json["nodes"].as_array().unwrap().iter();
    nodes
        .map(|node| node["outcome"].as_str().unwrap().to_owned())
        .collect()
}

/// Asserts that at least two nodes report `expected` and every other node is still pending.
fn assert_done_on_quorum(response: &ApiResponse, expected: &str) {
    let outcomes = node_outcomes(response);
    let matching = outcomes
        .iter()
        .filter(|outcome| *outcome == expected)
        .count();
    let replied = outcomes
        .iter()
        .filter(|outcome| *outcome != "pending")
        .count();
    assert!(matching >= 2 && matching == replied, "{outcomes:?}");
}

#[tokio::test]
async fn a_lock_is_acquired_fetched_extended_and_released() {
    let nodes = RedisNodes::start(3).await;
    // The machine may be busy with other tests, and this test does not check timing.
    let mut config = group_config("orders", &nodes);
    config.command_timeout = Duration::from_secs(10);
    let console = TestConsole::start(vec![config])
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    let path = |action| lock_path("orders", b"lock:payout/eu", action);
    let post = async |action, body| api.post(&path(action), body).await;

    let response = post("/acquire", json!({"ttl_ms": 60_000, "label": "deploy 7"})).await;
    assert_eq!(response.status, 201, "{}", response.text);
    assert_done_on_quorum(&response, "acquired");
    let acquired = response.json();
    let token = acquired["token"].as_str().unwrap();
    let validity = acquired["validity_ms"].as_u64().unwrap();
    // ttl − elapsed − (1 % + 2 ms)
    assert!((30_000..=59_398).contains(&validity), "{validity}");
    // Every node has the same bytes, as any client of the plain format writes them.
    nodes
        .wait_for_value_on_all(b"lock:payout/eu", Some(token.as_bytes()))
        .await;

    let fetched = api.get(&path("")).await;
    let lock = fetched.json();
    assert_eq!((fetched.status, &lock["verdict"]), (200, &json!("held")));
    assert_eq!(lock["key"], "lock:payout/eu");
    assert_eq!(lock["owner"]["fingerprint"], acquired["fingerprint"]);
    assert!(
        lock["owner"]["label"].as_str().unwrap().contains("deploy"),
        "{lock}"
    );
    assert!(
        lock["lease_ms"].as_u64().unwrap() > 30_000 && lock["acquired_at_source"] == "first-seen"
    );

    let conflict = post("/acquire", json!({"ttl_ms": 30_000})).await;
    conflict.assert_problem(409, "held");
    assert_eq!(
        conflict.json()["owner"]["fingerprint"],
        acquired["fingerprint"]
    );
    assert!(conflict.json()["lease_ms"].as_u64().unwrap() > 20_000);
    assert!(conflict.headers.contains_key("retry-after"));

    let wrong_token = json!({"token": "wrong-token", "ttl_ms": 1000});
    post("/extend", wrong_token)
        .await
        .assert_problem(409, "not-owner");
    let extended = post("/extend", json!({"token": token, "ttl_ms": 600_000})).await;
    assert_eq!(extended.status, 200, "{}", extended.text);
    assert!(extended.json()["validity_ms"].as_u64().unwrap() > 60_000);

    post("/release", json!({"token": "wrong-token"}))
        .await
        .assert_problem(409, "not-owner");
    let released = post("/release", json!({"token": token})).await;
    assert_eq!(
        (released.status, &released.json()["outcome"]),
        (200, &json!("released"))
    );
    assert_done_on_quorum(&released, "released");
    nodes.wait_for_value_on_all(b"lock:payout/eu", None).await;

    post("/release", json!({"token": token}))
        .await
        .assert_problem(404, "not-held");
    let after_release = json!({"token": token, "ttl_ms": 1000});
    post("/extend", after_release)
        .await
        .assert_problem(404, "not-held");
    api.get(&path("")).await.assert_problem(404, "not-observed");
}

#[tokio::test]
async fn an_acquire_waits_until_the_current_lease_expires() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    nodes.set(0, b"lock:w", b"someone", Some(700)).await;
    let path = lock_path("jobs", b"lock:w", "/acquire");
    let started = Instant::now();
    let acquired = console
        .api()
        .post(&path, json!({"ttl_ms": 5000, "wait_ms": 5000}))
        .await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    assert!(started.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn keys_of_any_bytes_are_listed_fetched_acquired_and_force_released() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    let api = console.api();
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
        let acquired = api
            .post(
                &lock_path("jobs", key, "/acquire"),
                json!({"ttl_ms": 60_000}),
            )
            .await;
        assert_eq!(acquired.status, 201, "{}", acquired.text);
        let token = acquired.json()["token"].as_str().unwrap().to_owned();
        assert_eq!(nodes.get(0, key).await.as_deref(), Some(token.as_bytes()));
        let fetched = api.get(&lock_path("jobs", key, "")).await;
        assert_eq!(fetched.status, 200, "{}", fetched.text);
        assert_eq!(
            fetched.json()["key_encoded"],
            LockKey::new(key.clone()).encoded()
        );
    }
    let listed = api.get("/api/v1/locks?limit=1000&sort=key").await.json();
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
        let forced = api
            .post(&lock_path("jobs", key, "/force-release"), body)
            .await;
        assert_eq!(forced.status, 200, "{}", forced.text);
        assert_eq!(nodes.get(0, key).await, None);
    }
}

#[tokio::test]
async fn a_force_release_requires_the_current_owner_and_in_production_a_confirmation() {
    let nodes = RedisNodes::start(3).await;
    let production = GroupConfig {
        environment: Environment::Production,
        ..group_config("orders", &nodes)
    };
    let console = TestConsole::start(vec![production]).await;
    let operator = console.api();
    let path = lock_path("orders", b"lock:p", "/force-release");
    let force = async |body| operator.post(&path, body).await;
    nodes
        .set_on_first(3, b"lock:p", b"owner-one", Some(60_000))
        .await;
    let fetched = operator
        .get(&lock_path("orders", b"lock:p", ""))
        .await
        .json();
    let observed = &fetched["owner"]["fingerprint"];

    let unconfirmed = json!({"fingerprint": observed, "reason": "stuck"});
    force(unconfirmed)
        .await
        .assert_problem(422, "confirm-required");
    nodes
        .set_on_first(3, b"lock:p", b"owner-two", Some(60_000))
        .await;
    let changed =
        force(json!({"fingerprint": observed, "reason": "stuck", "confirm": "lock:p"})).await;
    changed.assert_problem(409, "owner-changed");
    let current = changed.json()["owner"]["fingerprint"].clone();
    assert_ne!(current, *observed);
    assert_eq!(nodes.get(2, b"lock:p").await.unwrap(), b"owner-two");

    let body = json!({"fingerprint": current, "reason": "stuck", "confirm": "lock:p"});
    let forced = force(body.clone()).await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    assert_eq!(node_outcomes(&forced), ["released"; 3]);
    assert_eq!(forced.json()["observed_after"], json!([]));
    force(body).await.assert_problem(404, "not-held");
}

#[tokio::test]
async fn pagination_neither_repeats_nor_skips_locks() {
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
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    let api = console.api();
    api.wait_for_lock_count(25).await;
    for sort in [
        "sort=key",
        "sort=lease&order=desc",
        "sort=owner",
        "sort=attention",
        "sort=held&order=desc",
    ] {
        let mut keys: Vec<Value> = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = api
                .get(&format!("/api/v1/locks?{sort}&limit=10{cursor}"))
                .await
                .json();
            keys.extend(
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
        let mut distinct = keys.clone();
        distinct.sort_by_key(Value::to_string);
        distinct.dedup();
        assert_eq!((keys.len(), distinct.len()), (25, 25), "{sort}");
    }
    let matching_locks = api.get("/api/v1/locks?q=LOCK%3A07").await.json();
    assert_eq!(
        (&matching_locks["total"], &matching_locks["locks"][0]["key"]),
        (&json!(1), &json!("lock:07"))
    );
}
