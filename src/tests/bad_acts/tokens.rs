//! Extend and release with a token that is not the owner's, and what the key holds that is no lock.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{everywhere, post};
use crate::api::group;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

/// Status, lock, and the token as JSON; TOKEN stands for the owner's.
const TOKENS: &str = r#"
409 lock:a "someone else"
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
async fn a_token_that_is_not_the_owners_changes_nothing() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let person = console.person();
    let acquired = post(&person, b"lock:a", "/acquire", r#"{"ttl_ms": 600000}"#).await;
    let token = acquired.json()["token"].as_str().unwrap().to_owned();
    // No JSON can say these bytes; what comes near is somebody else.
    let binary = [0xff, 0x00, 0xfe, b'"'];
    nodes
        .set_first(3, b"lock:binary", &binary, Some(600_000))
        .await;
    let before = everywhere(&nodes).await;
    assert_eq!(before[0].len(), 2);

    let told = TOKENS.replace("TOKEN", &token);
    let mut tokens: Vec<(&str, &str, Vec<u8>)> = Vec::new();
    for line in told.trim().lines() {
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
            "413" => "too-large",
            _ => "bad-request",
        };
        let shown = String::from_utf8_lossy(&json[..json.len().min(60)]).into_owned();
        for (verb, before) in [
            ("/release", &b"{\"token\":"[..]),
            ("/extend", b"{\"ttl_ms\":60000,\"token\":"),
        ] {
            let body = [before, &json, b"}"].concat();
            let answer = post(&person, lock.as_bytes(), verb, body).await;
            let said = (answer.status.to_string(), answer.code());
            assert_eq!(said, (status.to_owned(), code.to_owned()), "{verb} {shown}");
            if status == "422" {
                assert_eq!(answer.json()["field"], "token");
            }
        }
    }
    assert_eq!(everywhere(&nodes).await, before, "something was touched");
}

#[tokio::test]
async fn a_token_of_yesterday_is_told_that_the_lock_is_gone_or_anothers() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let person = console.person();
    let acquire = || post(&person, b"lock:a", "/acquire", r#"{"ttl_ms": 600000}"#);
    let stale = acquire().await.json()["token"].clone();
    let release = json!({"token": stale}).to_string();
    let extend = json!({"token": stale, "ttl_ms": 60_000}).to_string();
    let released = post(&person, b"lock:a", "/release", release.clone()).await;
    assert_eq!(released.status, 200, "{}", released.text);
    for (verb, body) in [("/release", &release), ("/extend", &extend)] {
        let answer = post(&person, b"lock:a", verb, body.clone()).await;
        answer.is(404, "not-held");
    }
    assert!(everywhere(&nodes).await.iter().all(BTreeMap::is_empty));

    assert_eq!(acquire().await.status, 201);
    let before = everywhere(&nodes).await;
    for (verb, body) in [("/release", release), ("/extend", extend)] {
        let answer = post(&person, b"lock:a", verb, body).await;
        answer.is(409, "not-owner");
    }
    assert_eq!(everywhere(&nodes).await, before);
}

#[tokio::test]
async fn a_key_of_another_type_is_named_and_left_alone() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let person = console.person();
    let makes: [(&str, &[&str]); 5] = [
        ("list", &["RPUSH", "lock:list", "a"]),
        ("set", &["SADD", "lock:set", "a"]),
        ("zset", &["ZADD", "lock:zset", "1", "a"]),
        ("stream", &["XADD", "lock:stream", "*", "a", "b"]),
        ("hash", &["HSET", "lock:hash", "a", "b"]),
    ];
    for node in &nodes.0 {
        for (_, command) in makes {
            let mut make = redis::cmd(command[0]);
            make.arg(&command[1..]);
            let _made: redis::Value = make.query_async(&mut node.client().await).await.unwrap();
        }
    }
    let before = everywhere(&nodes).await;
    for (kind, _) in makes {
        let lock = format!("lock:{kind}");
        for body in [
            r#"{"ttl_ms": 10000}"#,
            r#"{"ttl_ms": 10000, "wait_ms": 100}"#,
        ] {
            let answer = post(&person, lock.as_bytes(), "/acquire", body).await;
            answer.is(409, "wrong-type");
            let detail = answer.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains(kind), "{detail}");
        }
        for (verb, body) in [
            ("/extend", r#"{"token": "a", "ttl_ms": 10000}"#),
            ("/release", r#"{"token": "a"}"#),
        ] {
            let answer = post(&person, lock.as_bytes(), verb, body).await;
            assert_eq!(answer.status, 409, "{kind} {verb}: {}", answer.text);
        }
    }
    assert_eq!(everywhere(&nodes).await, before, "something was touched");
}
