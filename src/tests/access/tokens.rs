//! Programs that come with an API token.

use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use serde_json::json;

use super::{console_with, token, user};
use crate::api::{group, lock_path};
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn a_program_acts_with_its_token_and_nobody_with_a_wrong_one() {
    let nodes = RedisNodes::start(1).await;
    let (secret, config) = token("deploy", Rights::everywhere(Role::Operator));
    let access = AccessConfig {
        users: vec![user("alice", Rights::everywhere(Role::Admin))],
        tokens: vec![config],
        ..AccessConfig::default()
    };
    let console = console_with(vec![group("jobs", &nodes)], access, Clock::real()).await;
    let person = console.person();
    let acquire = async |authorization: &str| {
        let path = lock_path("jobs", b"lock:deploy", "/acquire");
        let headers = [
            ("authorization", authorization),
            ("content-type", "application/json"),
        ];
        person
            .send(
                "POST",
                &path,
                &headers,
                json!({"ttl_ms": 60_000}).to_string(),
            )
            .await
    };
    let forged = format!("{}{}", &secret[..secret.len() - 2], "zz");
    for wrong in [
        format!("Bearer {forged}"),
        format!("Bearer {}", secret.to_uppercase()),
        format!("Basic {secret}"),
        secret.clone(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer lk_deploy_".to_owned(),
        "Bearer lk_nobody_00".to_owned(),
    ] {
        let answer = acquire(&wrong).await;
        assert_eq!(answer.code(), "sign-in-required", "{wrong}");
        assert!(!answer.text.contains("lk_"), "{}", answer.text);
    }
    assert_eq!(acquire(&format!("bearer {secret}")).await.status, 201);
}

#[tokio::test]
async fn whoever_sends_a_token_means_it_also_where_a_browser_is_signed_in() {
    let nodes = RedisNodes::start(1).await;
    let (secret, config) = token("watcher", Rights::everywhere(Role::Viewer));
    let access = AccessConfig {
        users: vec![user("alice", Rights::everywhere(Role::Admin))],
        tokens: vec![config],
        ..AccessConfig::default()
    };
    let console = console_with(vec![group("jobs", &nodes)], access, Clock::real()).await;
    let person = console.person();
    let cookie = super::sign_in(&person, "alice").await;
    let path = lock_path("jobs", b"lock:a", "/acquire");
    let bearer = format!("Bearer {secret}");
    for (authorization, code) in [
        (bearer.as_str(), "forbidden"),
        ("Bearer x", "sign-in-required"),
    ] {
        let headers = [
            ("authorization", authorization),
            ("cookie", cookie.as_str()),
            ("content-type", "application/json"),
        ];
        let answer = person
            .send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#)
            .await;
        assert_eq!(answer.code(), code);
    }
}

#[tokio::test]
async fn an_idempotency_key_gives_nobody_else_the_lock() {
    let nodes = RedisNodes::start(1).await;
    let (first, one) = token("one", Rights::everywhere(Role::Operator));
    let (second, two) = token("two", Rights::everywhere(Role::Operator));
    let access = AccessConfig {
        tokens: vec![one, two],
        ..AccessConfig::default()
    };
    let console = console_with(vec![group("jobs", &nodes)], access, Clock::real()).await;
    let person = console.person();
    let acquire = async |secret: &str| {
        let bearer = format!("Bearer {secret}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", "guessed"),
        ];
        let path = lock_path("jobs", b"lock:a", "/acquire");
        person
            .send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#)
            .await
    };
    let taken = acquire(&first).await;
    assert_eq!(taken.status, 201);
    assert_eq!(acquire(&first).await.json()["token"], taken.json()["token"]);
    assert_eq!(acquire(&second).await.code(), "held");
}
