//! Extend and release with a wrong token, and operations on keys that are not locks.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{all_contents, post};
use crate::api::group_config;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

/// The expected status, the lock and the token as JSON; TOKEN is a placeholder for the token of the
/// owner.
const TOKENS: &str = r#"
409 lock:a "wrong-token"
409 lock:a "TOKEN\n"
409 lock:a " TOKEN"
409 lock:a "TOKEN\u0000"
409 lock:a "TOKENx"
409 lock:a "*"
409 lock:a "\u0000\u0001\u00ff\ud83d\udd12"
422 lock:a ""
400 lock:a "\ud800"
400 lock:a "\x41"
400 lock:a null
400 lock:a 5
400 lock:a true
400 lock:a ["TOKEN"]
400 lock:a {"":"TOKEN"}
409 lock:binary "\u00ff\u0000\u00fe\""
409 lock:binary "\ufffd\u0000\ufffd\""
409 lock:binary "%FF%00%FE%22"
"#;

#[tokio::test]
async fn a_wrong_token_changes_nothing() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    let acquired = post(&api, b"lock:a", "/acquire", r#"{"ttl_ms": 600000}"#).await;
    let token = acquired.json()["token"].as_str().unwrap().to_owned();
    // JSON cannot represent these bytes, and similar strings are other tokens.
    let binary = [0xff, 0x00, 0xfe, b'"'];
    nodes
        .set_on_first(3, b"lock:binary", &binary, Some(600_000))
        .await;
    let before = all_contents(&nodes).await;
    assert_eq!(before[0].len(), 2);

    let token_lines = TOKENS.replace("TOKEN", &token);
    let mut tokens: Vec<(&str, &str, Vec<u8>)> = Vec::new();
    for line in token_lines.trim().lines() {
        let (status, rest) = line.split_once(' ').unwrap();
        let (lock, json) = rest.split_once(' ').unwrap();
        tokens.push((status, lock, json.into()));
    }
    let long = |n: usize| Value::from("x".repeat(n)).to_string().into_bytes();
    let shorter = Value::from(&token[1..]).to_string();
    tokens.extend([
        ("409", "lock:a", shorter.into()),
        ("409", "lock:a", long(512)),
        ("422", "lock:a", long(513)),
        ("422", "lock:a", long(100_000)),
        ("413", "lock:a", long(200_000)),
        ("400", "lock:a", b"\"\xff\xfe\"".to_vec()),
        ("400", "lock:a", b"\"\x00\"".to_vec()),
    ]);
    for (status, lock, json) in tokens {
        let code = match status {
            "409" => "not-owner",
            "422" => "impossible",
            "413" => "payload-too-large",
            _ => "bad-request",
        };
        let token_text = String::from_utf8_lossy(&json[..json.len().min(60)]).into_owned();
        for (action, before) in [
            ("/release", &b"{\"token\":"[..]),
            ("/extend", b"{\"ttl_ms\":60000,\"token\":"),
        ] {
            let body = [before, &json, b"}"].concat();
            let response = post(&api, lock.as_bytes(), action, body).await;
            let outcome = (response.status.to_string(), response.problem_code());
            assert_eq!(
                outcome,
                (status.to_owned(), code.to_owned()),
                "{action} {token_text}"
            );
            if status == "422" {
                assert_eq!(response.json()["field"], "token");
            }
        }
    }
    assert_eq!(all_contents(&nodes).await, before, "a node was changed");
}

#[tokio::test]
async fn a_stale_token_is_rejected_as_not_held_or_not_owner() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    let acquire = || post(&api, b"lock:a", "/acquire", r#"{"ttl_ms": 600000}"#);
    let stale = acquire().await.json()["token"].clone();
    let release = json!({"token": stale}).to_string();
    let extend = json!({"token": stale, "ttl_ms": 60_000}).to_string();
    let released = post(&api, b"lock:a", "/release", release.clone()).await;
    assert_eq!(released.status, 200, "{}", released.text);
    for (action, body) in [("/release", &release), ("/extend", &extend)] {
        let response = post(&api, b"lock:a", action, body.clone()).await;
        response.assert_problem(404, "not-held");
    }
    assert!(all_contents(&nodes).await.iter().all(BTreeMap::is_empty));

    assert_eq!(acquire().await.status, 201);
    let before = all_contents(&nodes).await;
    for (action, body) in [("/release", release), ("/extend", extend)] {
        let response = post(&api, b"lock:a", action, body).await;
        response.assert_problem(409, "not-owner");
    }
    assert_eq!(all_contents(&nodes).await, before);
}

#[tokio::test]
async fn a_key_of_another_type_is_reported_and_left_unchanged() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    let keys: [(&str, &[&str]); 5] = [
        ("list", &["RPUSH", "lock:list", "a"]),
        ("set", &["SADD", "lock:set", "a"]),
        ("zset", &["ZADD", "lock:zset", "1", "a"]),
        ("stream", &["XADD", "lock:stream", "*", "a", "b"]),
        ("hash", &["HSET", "lock:hash", "a", "b"]),
    ];
    for node in &nodes.0 {
        for (_, command) in keys {
            let mut create = redis::cmd(command[0]);
            create.arg(&command[1..]);
            let _created: redis::Value =
                create.query_async(&mut node.client().await).await.unwrap();
        }
    }
    let before = all_contents(&nodes).await;
    for (kind, _) in keys {
        let lock = format!("lock:{kind}");
        for body in [
            r#"{"ttl_ms": 10000}"#,
            r#"{"ttl_ms": 10000, "wait_ms": 100}"#,
        ] {
            let response = post(&api, lock.as_bytes(), "/acquire", body).await;
            response.assert_problem(409, "wrong-type");
            let detail = response.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains(kind), "{detail}");
        }
        for (action, body) in [
            ("/extend", r#"{"token": "a", "ttl_ms": 10000}"#),
            ("/release", r#"{"token": "a"}"#),
        ] {
            let response = post(&api, lock.as_bytes(), action, body).await;
            assert_eq!(response.status, 409, "{kind} {action}: {}", response.text);
        }
    }
    assert_eq!(all_contents(&nodes).await, before, "a node was changed");
}
