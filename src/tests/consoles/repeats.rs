//! A repeated acquire that reaches the other console gives the first answer, and no token is to be read where it is kept.

use serde_json::{Value, json};

use super::Pair;
use crate::api::lock_path;
use crate::idempotency::lasting;
use crate::support::eventually_is;

pub const KEY: &str = "8e03978e-40d5-43e8-bc93-6894a57f9324";
pub const BODY: &str = r#"{"ttl_ms": 60000, "label": "deploy"}"#;

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
    pair.restart().await;
    let later = pair.post(0, &path, Some(KEY), BODY).await;
    assert_eq!((later.status, lasting(&later)), (201, lasting(&first)));
    let other = pair.post(0, &path, Some(KEY), r#"{"ttl_ms": 60001}"#).await;
    assert_eq!((other.status, other.code().as_str()), (422, "impossible"));

    // Nobody reads the token where the answer is kept, nor the key that opens it; a row shows bytes as hex digits.
    let rows = pair.rows("idempotency_record").await;
    assert_eq!(rows.len(), 1);
    let token = first.json()["token"].as_str().unwrap().to_owned();
    for secret in [token.as_str(), KEY] {
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(!rows[0].contains(secret) && !rows[0].contains(&hex));
    }
}

#[tokio::test]
async fn retries_at_the_same_moment_on_both_consoles_are_one_acquire_and_a_failure_frees_the_key() {
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

    let path = lock_path("orders", b"lock:a", "/acquire");
    let body = r#"{"ttl_ms": 60000, "token": "mine"}"#;
    let held = pair.post(0, &path, None, BODY).await;
    let refused = pair.post(0, &path, Some(KEY), body).await;
    assert_eq!(refused.code(), "held");
    let release = lock_path("orders", b"lock:a", "/release");
    let of_holder = json!({ "token": held.json()["token"] }).to_string();
    let released = pair.post(0, &release, None, &of_holder).await;
    assert_eq!(released.status, 200, "{released:?}");
    eventually_is("it can be acquired with the same key", async || {
        pair.post(1, &path, Some(KEY), body).await.status == 201
    })
    .await;
}
