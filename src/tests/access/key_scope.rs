//! Which keys may be read and changed: those of locks, and no other key of the same server.

use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, Discovery, GroupConfig};
use lockkeeper::server::stores::redis::formats::fingerprint;
use serde_json::{Value, json};

use super::matrix::server_function_path;
use super::{api_token, start_console_with_access};
use crate::api::lock_path;
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

const UUID: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05";
/// 32 bytes in base64. With an expiry it looks like a token of Symfony's lock component, but any
/// other SHA-256 digest looks the same.
const DIGEST: &str = "3q2+7wABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhs=";

fn group_config(keys: Option<&[&str]>, nodes: &RedisNodes) -> GroupConfig {
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

async fn start_console(keys: Option<&[&str]>, nodes: &RedisNodes) -> TestConsole {
    TestConsole::start(vec![group_config(keys, nodes)])
        .await
        .wait_until_connected()
        .await
}

fn status_and_code(response: &ApiResponse) -> (u16, String) {
    let code = response.json()["code"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    (response.status, code)
}

fn force_release_body(value: &str) -> Value {
    json!({"fingerprint": fingerprint(value.as_bytes()).as_str(), "reason": "stuck"})
}

async fn listed_keys(api: &ApiClient) -> Vec<String> {
    let list = api.get("/api/v1/locks").await.json();
    let locks = list["locks"].as_array().unwrap();
    let key = |lock: &Value| lock["key"].as_str().unwrap().to_owned();
    locks.iter().map(key).collect()
}

#[tokio::test]
async fn operations_on_keys_outside_the_configured_patterns_are_rejected() {
    let nodes = RedisNodes::start(1).await;
    for key in ["sess-token:7f", "lock:a"] {
        nodes
            .set(0, key.as_bytes(), UUID.as_bytes(), Some(600_000))
            .await;
    }
    let console = start_console(Some(&["lock:*"]), &nodes).await;
    let api = console.api();
    let path = |key: &str, action| lock_path("orders", key.as_bytes(), action);
    let other = "sess-token:7f";
    let raw_request = json!({"id": {"group": "orders", "key": other}});
    let mut results = vec![
        status_and_code(&api.get(&path(other, "")).await),
        status_and_code(&api.get(&path(other, "/history")).await),
    ];
    let raw = api.post(&server_function_path("raw"), raw_request).await;
    assert_eq!(status_and_code(&raw).1, "outside-keys", "{}", raw.text);
    for (key, action, body) in [
        (other, "/acquire", json!({"ttl_ms": 60_000})),
        (
            "a-new-name",
            "/acquire",
            json!({"ttl_ms": 60_000, "token": "on"}),
        ),
        (other, "/extend", json!({"ttl_ms": 60_000, "token": UUID})),
        (other, "/release", json!({"token": UUID})),
        (other, "/force-release", force_release_body(UUID)),
    ] {
        results.push(status_and_code(&api.post(&path(key, action), body).await));
    }
    let rejected = (403, "outside-keys".to_owned());
    assert_eq!(results, vec![rejected; 7]);
    for dry_run in [true, false] {
        let mut item = force_release_body(UUID);
        item["group"] = json!("orders");
        item["key"] = json!(other);
        item.as_object_mut().unwrap().remove("reason");
        let body = json!({"items": [item], "reason": "stuck", "dry_run": dry_run});
        let response = api.post("/api/v1/force-releases", body).await;
        assert!(response.text.contains("outside-keys"), "{}", response.text);
    }
    assert_eq!(
        nodes.get(0, other.as_bytes()).await.as_deref(),
        Some(UUID.as_bytes())
    );
    assert_eq!(nodes.get(0, b"a-new-name").await, None);
    assert!(!listed_keys(&api).await.contains(&other.to_owned()));
    assert_eq!(api.get(&path("lock:a", "")).await.status, 200);
    let response = api
        .post(&path("lock:a", "/force-release"), force_release_body(UUID))
        .await;
    assert_eq!(response.status, 200, "{}", response.text);
}

#[tokio::test]
async fn a_possible_lock_is_force_released_only_if_a_key_pattern_matches_it() {
    let nodes = RedisNodes::start(1).await;
    let console = start_console(None, &nodes).await;
    let api = console.api();
    for (key, expected) in [
        ("profile:7", (422, "possible-lock".to_owned())),
        ("lock:profile:7", (200, String::new())),
    ] {
        nodes
            .set(0, key.as_bytes(), DIGEST.as_bytes(), Some(600_000))
            .await;
        let path = lock_path("orders", key.as_bytes(), "/force-release");
        let response = api.post(&path, force_release_body(DIGEST)).await;
        assert_eq!(
            status_and_code(&response),
            expected,
            "{key}: {}",
            response.text
        );
        let exists = nodes.get(0, key.as_bytes()).await.is_some();
        assert_eq!(exists, expected.0 != 200, "{key}");
    }
}

#[tokio::test]
async fn reading_a_key_that_no_pattern_matches_does_not_add_it_to_the_list() {
    let nodes = RedisNodes::start(1).await;
    nodes
        .set(0, b"profile:8", DIGEST.as_bytes(), Some(600_000))
        .await;
    let config = GroupConfig {
        discovery: Discovery::Names,
        ..group_config(None, &nodes)
    };
    let console = TestConsole::start(vec![config])
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    let inspected = api.get(&lock_path("orders", b"profile:8", "")).await;
    assert_eq!(inspected.status, 200, "{}", inspected.text);
    assert_eq!(inspected.json()["confidence"], "possible");
    assert_eq!(listed_keys(&api).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_past_timestamp_is_acquired_only_if_its_key_is_a_lock() {
    let nodes = RedisNodes::start(1).await;
    let past = b"1700000000";
    for key in ["last_backup_at", "lock:import"] {
        nodes.set(0, key.as_bytes(), past, None).await;
    }
    let body = json!({"ttl_ms": 60_000, "format": "legacy-timestamp"});
    let console = start_console(None, &nodes).await;
    let api = console.api();
    let acquire = async |key: &str| {
        let path = lock_path("orders", key.as_bytes(), "/acquire");
        status_and_code(&api.post(&path, body.clone()).await)
    };
    assert_eq!(acquire("last_backup_at").await, (409, "held".to_owned()));
    assert_eq!(
        nodes.get(0, b"last_backup_at").await.as_deref(),
        Some(&past[..])
    );
    assert_eq!(acquire("lock:import").await.0, 201);
    // A key that does not exist is created, regardless of its name.
    assert_eq!(acquire("another_at").await.0, 201);
}

#[tokio::test]
async fn operators_read_raw_values_and_only_those_of_locks_are_shown() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"otp:alice", b"493027", Some(600_000)).await;
    nodes.hset(0, b"user:42", b"salary", b"91000").await;
    let redisson = format!("{UUID}:87");
    nodes.hset(0, b"lock:job", redisson.as_bytes(), b"2").await;
    let (viewer, viewer_config) = api_token("viewer", RoleGrant::unrestricted(Role::Viewer));
    let (operator, operator_config) =
        api_token("operator", RoleGrant::unrestricted(Role::Operator));
    let access = AccessConfig {
        tokens: vec![viewer_config, operator_config],
        ..AccessConfig::default()
    };
    let groups = vec![group_config(None, &nodes)];
    let console = start_console_with_access(groups, access, Clock::system()).await;
    let api = console.api();
    let bearer = format!("Bearer {operator}");
    wait_until("the node is up", async || {
        let headers = [("authorization", bearer.as_str())];
        let groups = api
            .send("GET", "/api/v1/groups", &headers, String::new())
            .await;
        groups.json()["groups"][0]["nodes"][0]["state"] == "up"
    })
    .await;
    let raw = async |secret: &str, key: &str| {
        let bearer = format!("Bearer {secret}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
        ];
        let body = json!({"id": {"group": "orders", "key": key, "key_encoded": key}}).to_string();
        api.send("POST", &server_function_path("raw"), &headers, body)
            .await
    };
    assert_eq!(
        status_and_code(&raw(&viewer, "lock%3Ajob").await).1,
        "forbidden"
    );
    let job = raw(&operator, "lock%3Ajob").await;
    assert!(
        job.status == 200 && job.text.contains("Shown"),
        "{}",
        job.text
    );
    for (key, secret) in [("user%3A42", "91000"), ("otp%3Aalice", "493027")] {
        let response = raw(&operator, key).await;
        assert_eq!(response.status, 200, "{}", response.text);
        let fingerprint = fingerprint(secret.as_bytes());
        assert!(
            !response.text.contains(secret) && !response.text.contains(fingerprint.as_str()),
            "{}",
            response.text
        );
    }
}

#[tokio::test]
async fn no_operation_is_allowed_on_the_consoles_own_keys() {
    let nodes = RedisNodes::start(1).await;
    let text = format!(
        "[[group]]\nname = \"orders\"\nkeys = [\"*\"]\nnode = [{{ url = \"redis://127.0.0.1:{}\" }}]\n",
        nodes.0[0].port()
    );
    let config = lockkeeper::server::config::parse("c", &text, &|_| None).unwrap();
    let console = TestConsole::start(config.groups)
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    for key in ["lockkeeper:fence:{lock:fz}"] {
        nodes
            .set(0, key.as_bytes(), UUID.as_bytes(), Some(600_000))
            .await;
        for (action, body) in [
            (
                "/acquire",
                json!({"ttl_ms": 60_000, "token": "9007199254740991"}),
            ),
            ("/extend", json!({"ttl_ms": 60_000, "token": UUID})),
            ("/release", json!({"token": UUID})),
            ("/force-release", force_release_body(UUID)),
        ] {
            let path = lock_path("orders", key.as_bytes(), action);
            let response = api.post(&path, body).await;
            assert_eq!(
                status_and_code(&response),
                (403, "outside-keys".to_owned()),
                "{key} {action}"
            );
        }
        assert_eq!(
            nodes.get(0, key.as_bytes()).await.as_deref(),
            Some(UUID.as_bytes())
        );
    }
    let path = lock_path("orders", b"lockkeeper:fence:of-another", "/acquire");
    let body = json!({"ttl_ms": 60_000, "token": "9007199254740991"});
    let unused_key = api.post(&path, body).await;
    assert_eq!(status_and_code(&unused_key).1, "outside-keys");
}
