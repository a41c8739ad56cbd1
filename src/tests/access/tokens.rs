//! Authentication with API tokens.

use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use serde_json::json;

use super::{api_token, start_console_with_access, user_config};
use crate::api::{group_config, lock_path};
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn a_valid_api_token_is_accepted_and_invalid_ones_are_rejected() {
    let nodes = RedisNodes::start(1).await;
    let (secret, config) = api_token("deploy", RoleGrant::unrestricted(Role::Operator));
    let access = AccessConfig {
        users: vec![user_config("alice", RoleGrant::unrestricted(Role::Admin))],
        tokens: vec![config],
        ..AccessConfig::default()
    };
    let console =
        start_console_with_access(vec![group_config("jobs", &nodes)], access, Clock::system())
            .await;
    let api = console.api();
    let acquire = async |authorization: &str| {
        let path = lock_path("jobs", b"lock:deploy", "/acquire");
        let headers = [
            ("authorization", authorization),
            ("content-type", "application/json"),
        ];
        api.send(
            "POST",
            &path,
            &headers,
            json!({"ttl_ms": 60_000}).to_string(),
        )
        .await
    };
    let forged = format!("{}{}", &secret[..secret.len() - 2], "zz");
    for invalid in [
        format!("Bearer {forged}"),
        format!("Bearer {}", secret.to_uppercase()),
        format!("Basic {secret}"),
        secret.clone(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer lk_deploy_".to_owned(),
        "Bearer lk_unknown_00".to_owned(),
    ] {
        let response = acquire(&invalid).await;
        assert_eq!(response.problem_code(), "sign-in-required", "{invalid}");
        assert!(!response.text.contains("lk_"), "{}", response.text);
    }
    assert_eq!(acquire(&format!("bearer {secret}")).await.status, 201);
}

#[tokio::test]
async fn an_authorization_header_takes_precedence_over_a_session_cookie() {
    let nodes = RedisNodes::start(1).await;
    let (secret, config) = api_token("watcher", RoleGrant::unrestricted(Role::Viewer));
    let access = AccessConfig {
        users: vec![user_config("alice", RoleGrant::unrestricted(Role::Admin))],
        tokens: vec![config],
        ..AccessConfig::default()
    };
    let console =
        start_console_with_access(vec![group_config("jobs", &nodes)], access, Clock::system())
            .await;
    let api = console.api();
    let cookie = super::sign_in(&api, "alice").await;
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
        let response = api
            .send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#)
            .await;
        assert_eq!(response.problem_code(), code);
    }
}

#[tokio::test]
async fn an_idempotency_key_does_not_replay_another_principals_response() {
    let nodes = RedisNodes::start(1).await;
    let (first, first_config) = api_token("one", RoleGrant::unrestricted(Role::Operator));
    let (second, second_config) = api_token("two", RoleGrant::unrestricted(Role::Operator));
    let access = AccessConfig {
        tokens: vec![first_config, second_config],
        ..AccessConfig::default()
    };
    let console =
        start_console_with_access(vec![group_config("jobs", &nodes)], access, Clock::system())
            .await;
    let api = console.api();
    let acquire = async |secret: &str| {
        let bearer = format!("Bearer {secret}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", "guessed"),
        ];
        let path = lock_path("jobs", b"lock:a", "/acquire");
        api.send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#)
            .await
    };
    let acquired = acquire(&first).await;
    assert_eq!(acquired.status, 201);
    assert_eq!(
        acquire(&first).await.json()["token"],
        acquired.json()["token"]
    );
    assert_eq!(acquire(&second).await.problem_code(), "held");
}
