//! Extend and release with a token that is not the owner's, and what the key holds that is no lock.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{everywhere, post, refused};
use crate::api::group;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

/// On which lock, the token as JSON, and what the answer is.
type Case = (&'static [u8], Vec<u8>, (u16, &'static str));

#[tokio::test]
async fn a_token_that_is_not_the_owners_changes_nothing() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let person = console.person();
    let acquired = post(&person, b"lock:a", "/acquire", r#"{"ttl_ms": 600000}"#).await;
    let token = acquired.json()["token"].as_str().unwrap().to_owned();
    // A lock whose owner is not text, and one that has no owner of this kind at all.
    let binary = [0xff, 0x00, 0xfe, b'"'];
    for n in 0..3 {
        nodes.set(n, b"lock:binary", &binary, Some(600_000)).await;
    }
    let before = everywhere(&nodes).await;
    assert_eq!(before[0].len(), 2);

    let quoted = |text: &str| Value::from(text).to_string();
    let not_owner = (409, "not-owner");
    let (impossible, unreadable) = ((422, "impossible"), (400, "bad-request"));
    let mut upper = token.to_uppercase();
    if upper == token {
        upper.push('x');
    }
    let tokens: Vec<Case> = vec![
        (b"lock:a", quoted("someone else").into(), not_owner),
        (
            b"lock:a",
            quoted(&token[..token.len() - 1]).into(),
            not_owner,
        ),
        (b"lock:a", quoted(&format!("{token}\n")).into(), not_owner),
        (b"lock:a", quoted(&format!(" {token}")).into(), not_owner),
        (b"lock:a", quoted(&format!("{token}\0")).into(), not_owner),
        (b"lock:a", quoted(&upper).into(), not_owner),
        (
            b"lock:a",
            quoted(&token.replace(':', "%3A")).into(),
            not_owner,
        ),
        (
            b"lock:a",
            br#""\u0000\u0001\u00ff\ud83d\udd12""#.to_vec(),
            not_owner,
        ),
        (b"lock:a", quoted(&"x".repeat(512)).into(), not_owner),
        (b"lock:a", quoted("*").into(), not_owner),
        (b"lock:a", quoted("").into(), impossible),
        (b"lock:a", quoted(&"x".repeat(513)).into(), impossible),
        (b"lock:a", quoted(&"x".repeat(100_000)).into(), impossible),
        (
            b"lock:a",
            quoted(&"x".repeat(200_000)).into(),
            (413, "too-large"),
        ),
        (b"lock:a", b"\"\xff\xfe\"".to_vec(), unreadable),
        (b"lock:a", b"\"\x00\"".to_vec(), unreadable),
        (b"lock:a", br#""\ud800""#.to_vec(), unreadable),
        (b"lock:a", br#""\x41""#.to_vec(), unreadable),
        (b"lock:a", b"null".to_vec(), unreadable),
        (b"lock:a", b"5".to_vec(), unreadable),
        (b"lock:a", b"true".to_vec(), unreadable),
        (
            b"lock:a",
            format!("[{}]", quoted(&token)).into(),
            unreadable,
        ),
        (
            b"lock:a",
            format!("{{\"\":{}}}", quoted(&token)).into(),
            unreadable,
        ),
        // No JSON can say these bytes; what comes near is somebody else.
        (
            b"lock:binary",
            br#""\u00ff\u0000\u00fe\"""#.to_vec(),
            not_owner,
        ),
        (
            b"lock:binary",
            quoted("\u{fffd}\0\u{fffd}\"").into(),
            not_owner,
        ),
        (b"lock:binary", quoted("%FF%00%FE%22").into(), not_owner),
    ];
    for (lock, json, expected) in tokens {
        let shown = String::from_utf8_lossy(&json)
            .chars()
            .take(60)
            .collect::<String>();
        let release = [b"{\"token\":", &json[..], b"}"].concat();
        let answer = post(&person, lock, "/release", release).await;
        assert_eq!(
            refused(&answer),
            (expected.0, expected.1.to_owned()),
            "{shown}"
        );
        let extend = [b"{\"ttl_ms\":60000,\"token\":", &json[..], b"}"].concat();
        let answer = post(&person, lock, "/extend", extend).await;
        assert_eq!(
            refused(&answer),
            (expected.0, expected.1.to_owned()),
            "{shown}"
        );
        if expected == impossible {
            assert_eq!(answer.json()["field"], "token");
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
        assert_eq!(refused(&answer), (404, "not-held".to_owned()));
    }
    assert!(everywhere(&nodes).await.iter().all(BTreeMap::is_empty));

    assert_eq!(acquire().await.status, 201);
    let before = everywhere(&nodes).await;
    for (verb, body) in [("/release", release), ("/extend", extend)] {
        let answer = post(&person, b"lock:a", verb, body).await;
        assert_eq!(refused(&answer), (409, "not-owner".to_owned()));
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
            assert_eq!(refused(&answer), (409, "wrong-type".to_owned()), "{kind}");
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
