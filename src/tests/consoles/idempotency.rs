//! A repeated acquire on the other console replays the first response. Tokens and keys cannot be
//! read from the database.

use serde_json::{Value, json};

use super::ConsoleDeployment;
use crate::api::lock_path;
use crate::idempotency::stable_fields;
use crate::support::wait_until;

pub const KEY: &str = "8e03978e-40d5-43e8-bc93-6894a57f9324";
pub const BODY: &str = r#"{"ttl_ms": 60000, "label": "deploy"}"#;

#[tokio::test]
async fn a_response_is_replayed_on_the_other_console_and_after_a_restart() {
    let mut deployment = ConsoleDeployment::start().await;
    let path = lock_path("orders", b"lock:a", "/acquire");
    let first = deployment.post(0, &path, Some(KEY), BODY).await;
    assert_eq!(first.status, 201, "{first:?}");
    assert!(!first.headers.contains_key("idempotency-replayed"));
    let replayed = deployment.post(1, &path, Some(KEY), BODY).await;
    assert_eq!(
        (replayed.status, stable_fields(&replayed)),
        (201, stable_fields(&first))
    );
    assert_eq!(replayed.headers["idempotency-replayed"], "true");
    deployment.restart().await;
    let after_restart = deployment.post(0, &path, Some(KEY), BODY).await;
    assert_eq!(
        (after_restart.status, stable_fields(&after_restart)),
        (201, stable_fields(&first))
    );
    let other_request = deployment
        .post(0, &path, Some(KEY), r#"{"ttl_ms": 60001}"#)
        .await;
    assert_eq!(
        (other_request.status, other_request.problem_code().as_str()),
        (422, "impossible")
    );

    // The stored response is encrypted, and the idempotency key is not stored. PostgreSQL prints
    // bytes as hexadecimal digits.
    let rows = deployment.rows("idempotency_record").await;
    assert_eq!(rows.len(), 1);
    let token = first.json()["token"].as_str().unwrap().to_owned();
    for secret in [token.as_str(), KEY] {
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(!rows[0].contains(secret) && !rows[0].contains(&hex));
    }
}

#[tokio::test]
async fn concurrent_requests_on_both_consoles_are_one_acquire_and_a_failure_frees_the_key() {
    let deployment = ConsoleDeployment::start().await;
    for n in 0..20 {
        let path = lock_path("orders", format!("lock:{n}").as_bytes(), "/acquire");
        let requests = (0..4).map(|n| deployment.post(n % 2, &path, Some(KEY), BODY));
        let responses = futures::future::join_all(requests).await;
        let tokens: Vec<Value> = responses
            .iter()
            .map(|response| {
                assert_eq!(response.status, 201, "{response:?}");
                response.json()["token"].clone()
            })
            .collect();
        assert!(tokens.iter().all(|token| *token == tokens[0]));
    }

    let path = lock_path("orders", b"lock:a", "/acquire");
    let body = r#"{"ttl_ms": 60000, "token": "mine"}"#;
    let held = deployment.post(0, &path, None, BODY).await;
    let rejected = deployment.post(0, &path, Some(KEY), body).await;
    assert_eq!(rejected.problem_code(), "held");
    let release = lock_path("orders", b"lock:a", "/release");
    let holder_token = json!({ "token": held.json()["token"] }).to_string();
    let released = deployment.post(0, &release, None, &holder_token).await;
    assert_eq!(released.status, 200, "{released:?}");
    wait_until("the lock can be acquired with the same key", async || {
        deployment.post(1, &path, Some(KEY), body).await.status == 201
    })
    .await;
}
