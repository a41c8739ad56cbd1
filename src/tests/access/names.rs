//! Which names may be read and changed: those of locks, and no other key of the same Redis.

use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, GroupConfig};
use lockkeeper::server::formats::fingerprint;
use serde_json::{Value, json};

use super::matrix::function;
use super::{console_with, token};
use crate::api::lock_path;
use crate::support::console::{Answer, Person, TestConsole};
use crate::support::redis_nodes::RedisNodes;

const UUID: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05";
/// 32 bytes in base64: with an expiry it looks like a token of Symfony's, and like many another digest.
const DIGEST: &str = "3q2+7wABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhs=";

fn group_with(keys: Option<&[&str]>, nodes: &RedisNodes) -> GroupConfig {
    let config = GroupConfig::new("orders", nodes.urls());
    match keys {
        Some(keys) => GroupConfig {
            keys: keys.iter().map(ToString::to_string).collect(),
            keys_are_explicit: true,
            ..config
        },
        None => config,
    }
}

async fn console(keys: Option<&[&str]>, nodes: &RedisNodes) -> TestConsole {
    TestConsole::start(vec![group_with(keys, nodes)])
        .await
        .connected()
        .await
}

fn says(answer: &Answer) -> (u16, String) {
    let code = answer.json()["code"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    (answer.status, code)
}

fn force(value: &str) -> Value {
    json!({"fingerprint": fingerprint(value.as_bytes()).as_str(), "reason": "stuck"})
}

async fn listed(person: &Person) -> Vec<String> {
    let list = person.get("/api/v1/locks").await.json();
    let locks = list["locks"].as_array().unwrap();
    let key = |lock: &Value| lock["key"].as_str().unwrap().to_owned();
    locks.iter().map(key).collect()
}

#[tokio::test]
async fn where_keys_is_set_every_operation_on_another_name_is_refused() {
    let nodes = RedisNodes::start(1).await;
    for key in ["sess-token:7f", "lock:a"] {
        nodes
            .set(0, key.as_bytes(), UUID.as_bytes(), Some(600_000))
            .await;
    }
    let console = console(Some(&["lock:*"]), &nodes).await;
    let person = console.person();
    let path = |key: &str, verb| lock_path("orders", key.as_bytes(), verb);
    let other = "sess-token:7f";
    let raw = json!({"id": {"group": "orders", "key": other}});
    let mut ended = vec![
        says(&person.get(&path(other, "")).await),
        says(&person.get(&path(other, "/history")).await),
    ];
    let raw = person.post(&function("raw"), raw).await;
    assert_eq!(says(&raw).1, "outside-keys", "{}", raw.text);
    for (key, verb, body) in [
        (other, "/acquire", json!({"ttl_ms": 60_000})),
        (
            "a-new-name",
            "/acquire",
            json!({"ttl_ms": 60_000, "token": "on"}),
        ),
        (other, "/extend", json!({"ttl_ms": 60_000, "token": UUID})),
        (other, "/release", json!({"token": UUID})),
        (other, "/force-release", force(UUID)),
    ] {
        ended.push(says(&person.post(&path(key, verb), body).await));
    }
    let refused = (403, "outside-keys".to_owned());
    assert_eq!(ended, vec![refused; 7]);
    for dry_run in [true, false] {
        let mut item = force(UUID);
        item["group"] = json!("orders");
        item["key"] = json!(other);
        item.as_object_mut().unwrap().remove("reason");
        let body = json!({"items": [item], "reason": "stuck", "dry_run": dry_run});
        let answer = person.post("/api/v1/force-releases", body).await;
        assert!(answer.text.contains("outside-keys"), "{}", answer.text);
    }
    assert_eq!(
        nodes.get(0, other.as_bytes()).await.as_deref(),
        Some(UUID.as_bytes())
    );
    assert_eq!(nodes.get(0, b"a-new-name").await, None);
    assert!(!listed(&person).await.contains(&other.to_owned()));
    assert_eq!(person.get(&path("lock:a", "")).await.status, 200);
    let answer = person
        .post(&path("lock:a", "/force-release"), force(UUID))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}

#[tokio::test]
async fn what_could_be_anything_is_released_by_force_only_where_a_pattern_names_it() {
    let nodes = RedisNodes::start(1).await;
    let console = console(None, &nodes).await;
    let person = console.person();
    for (key, end) in [
        ("profile:7", (422, "possible-lock".to_owned())),
        ("lock:profile:7", (200, String::new())),
    ] {
        nodes
            .set(0, key.as_bytes(), DIGEST.as_bytes(), Some(600_000))
            .await;
        let path = lock_path("orders", key.as_bytes(), "/force-release");
        let answer = person.post(&path, force(DIGEST)).await;
        assert_eq!(says(&answer), end, "{key}: {}", answer.text);
        let is_there = nodes.get(0, key.as_bytes()).await.is_some();
        assert_eq!(is_there, end.0 != 200, "{key}");
    }
}

#[tokio::test]
async fn a_look_at_a_name_that_no_pattern_matches_leaves_it_off_the_board() {
    let nodes = RedisNodes::start(1).await;
    nodes
        .set(0, b"profile:8", DIGEST.as_bytes(), Some(600_000))
        .await;
    let console = console(None, &nodes).await;
    let person = console.person();
    let looked = person.get(&lock_path("orders", b"profile:8", "")).await;
    assert_eq!(looked.status, 200, "{}", looked.text);
    assert_eq!(looked.json()["confidence"], "likely");
    assert_eq!(listed(&person).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_moment_that_is_past_is_taken_over_only_where_it_is_a_lock() {
    let nodes = RedisNodes::start(1).await;
    let past = b"1700000000";
    for key in ["last_backup_at", "lock:import"] {
        nodes.set(0, key.as_bytes(), past, None).await;
    }
    let body = json!({"ttl_ms": 60_000, "format": "legacy-timestamp"});
    let console = console(None, &nodes).await;
    let person = console.person();
    let take = async |key: &str| {
        let path = lock_path("orders", key.as_bytes(), "/acquire");
        says(&person.post(&path, body.clone()).await)
    };
    assert_eq!(take("last_backup_at").await, (409, "held".to_owned()));
    assert_eq!(
        nodes.get(0, b"last_backup_at").await.as_deref(),
        Some(&past[..])
    );
    assert_eq!(take("lock:import").await.0, 201);
    // Where nothing is, one is made, whatever it is called.
    assert_eq!(take("another_at").await.0, 201);
}

#[tokio::test]
async fn values_are_read_by_operators_and_numbers_of_locks_alone_are_shown() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"otp:alice", b"493027", Some(600_000)).await;
    nodes.hash(0, b"user:42", b"salary", b"91000").await;
    let redisson = format!("{UUID}:87");
    nodes.hash(0, b"lock:job", redisson.as_bytes(), b"2").await;
    let (viewer, one) = token("viewer", Rights::everywhere(Role::Viewer));
    let (operator, two) = token("operator", Rights::everywhere(Role::Operator));
    let access = AccessConfig {
        tokens: vec![one, two],
        ..AccessConfig::default()
    };
    let groups = vec![group_with(None, &nodes)];
    let console = console_with(groups, access, Clock::real()).await;
    let person = console.person();
    let raw = async |secret: &str, key: &str| {
        let bearer = format!("Bearer {secret}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
        ];
        let body = json!({"id": {"group": "orders", "key": key, "key_encoded": key}}).to_string();
        person.send("POST", &function("raw"), &headers, body).await
    };
    assert_eq!(says(&raw(&viewer, "lock%3Ajob").await).1, "forbidden");
    let job = raw(&operator, "lock%3Ajob").await;
    assert!(
        job.status == 200 && job.text.contains("Shown"),
        "{}",
        job.text
    );
    for (key, secret) in [("user%3A42", "91000"), ("otp%3Aalice", "493027")] {
        let shown = raw(&operator, key).await;
        assert_eq!(shown.status, 200, "{}", shown.text);
        let print = fingerprint(secret.as_bytes());
        assert!(
            !shown.text.contains(secret) && !shown.text.contains(print.as_str()),
            "{}",
            shown.text
        );
    }
}

#[tokio::test]
async fn what_the_console_itself_writes_is_acted_on_by_nobody() {
    let nodes = RedisNodes::start(1).await;
    let text = format!(
        "[[group]]\nname = \"orders\"\nkeys = [\"*\"]\nnode = [{{ url = \"redis://127.0.0.1:{}\" }}]\n",
        nodes.0[0].port()
    );
    let config = lockkeeper::server::config::parse("c", &text, &|_| None).unwrap();
    let console = TestConsole::start(config.groups).await.connected().await;
    let person = console.person();
    for key in ["lockkeeper:fence:{lock:fz}"] {
        nodes
            .set(0, key.as_bytes(), UUID.as_bytes(), Some(600_000))
            .await;
        for (verb, body) in [
            (
                "/acquire",
                json!({"ttl_ms": 60_000, "token": "9007199254740991"}),
            ),
            ("/extend", json!({"ttl_ms": 60_000, "token": UUID})),
            ("/release", json!({"token": UUID})),
            ("/force-release", force(UUID)),
        ] {
            let path = lock_path("orders", key.as_bytes(), verb);
            let answer = person.post(&path, body).await;
            assert_eq!(
                says(&answer),
                (403, "outside-keys".to_owned()),
                "{key} {verb}"
            );
        }
        assert_eq!(
            nodes.get(0, key.as_bytes()).await.as_deref(),
            Some(UUID.as_bytes())
        );
    }
    let path = lock_path("orders", b"lockkeeper:fence:of-another", "/acquire");
    let body = json!({"ttl_ms": 60_000, "token": "9007199254740991"});
    let free = person.post(&path, body).await;
    assert_eq!(says(&free).1, "outside-keys");
}
