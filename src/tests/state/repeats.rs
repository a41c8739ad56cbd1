//! A repeated acquire that reaches the other console gives the first answer, and no token is to be read where it is kept.

use std::time::Duration;

use lockkeeper::server::config::StateConfig;
use redis::AsyncCommands as _;
use serde_json::Value;

use super::Pair;
use crate::api::lock_path;
use crate::idempotency::lasting;
use crate::support::eventually_is;
use crate::support::proxy::Proxy;

const KEY: &str = "8e03978e-40d5-43e8-bc93-6894a57f9324";
const BODY: &str = r#"{"ttl_ms": 60000, "label": "deploy"}"#;

#[tokio::test]
async fn a_retry_on_the_other_console_gets_the_first_answer_and_so_does_one_after_a_restart() {
    let mut pair = Pair::start().await;
    let path = lock_path("orders", b"lock:a", "/acquire");
    let first = pair.post(0, &path, Some(KEY), BODY).await;
    assert_eq!(first.status, 201, "{first:?}");
    assert!(!first.headers.contains_key("idempotency-replayed"));
    let again = pair.post(1, &path, Some(KEY), BODY).await;
    assert_eq!((again.status, lasting(&again)), (201, lasting(&first)));
    assert_eq!(again.headers["idempotency-replayed"], "true");
    for console in std::mem::take(&mut pair.consoles) {
        console.stop().await;
    }
    pair.start_another().await;
    let later = pair.post(0, &path, Some(KEY), BODY).await;
    assert_eq!((later.status, lasting(&later)), (201, lasting(&first)));

    let other = pair.post(0, &path, Some(KEY), r#"{"ttl_ms": 60001}"#).await;
    assert_eq!((other.status, other.code().as_str()), (422, "impossible"));
    // Nobody reads the token where the answer is kept, nor the key that opens it.
    let token = first.json()["token"].as_str().unwrap().to_owned();
    let mut state = pair.state.client().await;
    let keys: Vec<String> = redis::cmd("KEYS")
        .arg("*")
        .query_async(&mut state)
        .await
        .unwrap();
    let answers: Vec<_> = keys
        .iter()
        .filter(|key| key.starts_with("lockkeeper:answer:"))
        .collect();
    assert_eq!(answers.len(), 1, "{keys:?}");
    let left: i64 = state.pttl(answers[0]).await.unwrap();
    assert!((1..=60_000).contains(&left), "{left}");
    let kept: Vec<(Vec<u8>, Vec<u8>)> = state.hgetall(answers[0]).await.unwrap();
    for (_, value) in kept {
        let text = String::from_utf8_lossy(&value).into_owned();
        assert!(!text.contains(&token) && !text.contains(KEY), "{text}");
    }
}

#[tokio::test]
async fn retries_at_the_same_moment_on_both_consoles_are_one_acquire() {
    let pair = Pair::start().await;
    for n in 0..20 {
        let path = lock_path("orders", format!("lock:{n}").as_bytes(), "/acquire");
        let all = (0..4).map(|n| pair.post(n % 2, &path, Some(KEY), BODY));
        let answers = futures::future::join_all(all).await;
        let tokens: Vec<Value> = answers
            .iter()
            .map(|answer| {
                assert_eq!(answer.status, 201, "{answer:?}");
                answer.json()["token"].clone()
            })
            .collect();
        assert!(tokens.iter().all(|token| *token == tokens[0]));
    }
}

#[tokio::test]
async fn a_failure_gives_the_key_back_on_both_consoles() {
    let pair = Pair::start().await;
    let path = lock_path("orders", b"lock:a", "/acquire");
    let body = r#"{"ttl_ms": 60000, "token": "mine"}"#;
    let held = pair.post(0, &path, None, BODY).await;
    let refused = pair.post(0, &path, Some(KEY), body).await;
    assert_eq!(refused.code(), "held");
    let release = lock_path("orders", b"lock:a", "/release");
    let token = held.json()["token"].clone();
    let body_of_release = serde_json::json!({ "token": token }).to_string();
    let released = pair.post(0, &release, None, &body_of_release).await;
    assert_eq!(released.status, 200, "{released:?}");
    eventually_is("it can be acquired with the same key", async || {
        pair.post(1, &path, Some(KEY), body).await.status == 201
    })
    .await;
}

#[tokio::test]
async fn where_nobody_can_tell_whether_it_was_done_it_is_not_done_and_later_it_is() {
    let mut pair = Pair::start().await;
    let path = lock_path("orders", b"lock:a", "/acquire");
    let first = pair.post(0, &path, Some(KEY), BODY).await;
    pair.state.kill().await;
    // The console that gave the first answer knows it; the other one refuses rather than try.
    let again = pair.post(0, &path, Some(KEY), BODY).await;
    assert_eq!((again.status, lasting(&again)), (201, lasting(&first)));
    let refused = pair.post(1, &path, Some(KEY), BODY).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (503, "state-unavailable")
    );
    // Without a key there is nothing to repeat.
    let other = lock_path("orders", b"lock:b", "/acquire");
    assert_eq!(pair.post(1, &other, None, BODY).await.status, 201);
    pair.state.restart().await;
    eventually_is("the first answer is found again", async || {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let answer = pair.post(1, &path, Some(KEY), BODY).await;
        answer.status == 201 && lasting(&answer) == lasting(&first)
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_took_long_to_be_kept_promises_no_more_than_is_left() {
    let mut pair = Pair::start().await;
    let proxy = Proxy::before(pair.state.port()).await;
    pair.config.state = Some(StateConfig {
        timeout: Duration::from_secs(20),
        ..StateConfig::at(proxy.url())
    });
    pair.start_another().await;
    let connected = lock_path("orders", b"lock:before", "/acquire");
    pair.post(2, &connected, Some(KEY), BODY).await;
    proxy.delay(Duration::from_secs(1));
    let path = lock_path("orders", b"lock:a", "/acquire");
    let body = r#"{"ttl_ms": 30000}"#;
    let answer = pair.post(2, &path, Some(KEY), body).await;
    let mut node = pair.nodes.0[0].client().await;
    let left: u64 = node.pttl("lock:a").await.unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
    let validity = answer.json()["validity_ms"].as_u64().unwrap();
    // Keeping the answer takes two seconds; what the machine is busy with, less.
    assert!(validity < left + 1_000, "{validity} of {left}");
}
