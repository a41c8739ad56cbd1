//! Authentication by the header of a trusted reverse proxy.

use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use lockkeeper::server::config::access::{AuthProxyConfig, UserConfig};

use super::start_console_with_access;
use crate::api::{group_config, lock_path};
use crate::support::redis_nodes::RedisNodes;

fn access(default_role: Option<Role>) -> AccessConfig {
    AccessConfig {
        auth_proxy: Some(AuthProxyConfig {
            header: "x-forwarded-user".parse().unwrap(),
            networks: vec!["127.0.0.2/32".parse().unwrap(), "fd00::/8".parse().unwrap()],
            default_role,
        }),
        users: vec![UserConfig {
            name: "alice".to_owned(),
            password_hash: None,
            grant: RoleGrant::unrestricted(Role::Operator),
        }],
        ..AccessConfig::default()
    }
}

#[tokio::test]
async fn the_user_header_is_accepted_only_from_a_trusted_proxy() {
    let nodes = RedisNodes::start(1).await;
    let console = start_console_with_access(
        vec![group_config("jobs", &nodes)],
        access(None),
        Clock::system(),
    )
    .await;
    let (proxy, direct) = (
        console.api().with_local_address([127, 0, 0, 2]),
        console.api(),
    );
    let alice = [
        ("x-forwarded-user", "alice"),
        ("content-type", "application/json"),
    ];
    let path = lock_path("jobs", b"lock:a", "/acquire");
    for untrusted in [&direct, &console.api().with_local_address([127, 0, 0, 3])] {
        let response = untrusted
            .send("POST", &path, &alice, r#"{"ttl_ms": 60000}"#)
            .await;
        assert_eq!(response.problem_code(), "sign-in-required");
    }
    let response = proxy
        .send("POST", &path, &alice, r#"{"ttl_ms": 60000}"#)
        .await;
    assert_eq!(response.status, 201);
    // A user without a password cannot sign in with an empty one.
    let response = super::try_to_sign_in(&direct, "alice", "").await;
    assert!(super::location(&response).contains("why=wrong"));
}

#[tokio::test]
async fn missing_unknown_and_ambiguous_user_headers_are_rejected() {
    let nodes = RedisNodes::start(1).await;
    let console = start_console_with_access(
        vec![group_config("jobs", &nodes)],
        access(None),
        Clock::system(),
    )
    .await;
    let proxy = console.api().with_local_address([127, 0, 0, 2]);
    let too_long = "a".repeat(129);
    for headers in [
        &[][..],
        &[("x-forwarded-user", "")],
        &[("x-forwarded-user", "mallory")],
        &[("x-forwarded-user", "ALICE")],
        &[("x-forwarded-user", "alice, bob")],
        // The client sent the header, and the proxy added its own.
        &[
            ("x-forwarded-user", "alice"),
            ("x-forwarded-user", "mallory"),
        ],
        &[("x-forwarded-user", "alice"), ("X-Forwarded-User", "alice")],
        &[("x-forwarded-user", &too_long)],
    ] {
        let response = proxy.send("GET", "/api/v1/groups", headers, "").await;
        assert_eq!(response.problem_code(), "sign-in-required", "{headers:?}");
    }
}

#[tokio::test]
async fn users_that_are_not_configured_get_the_default_role_and_no_more() {
    let nodes = RedisNodes::start(1).await;
    let access = access(Some(Role::Viewer));
    let console =
        start_console_with_access(vec![group_config("jobs", &nodes)], access, Clock::system())
            .await;
    let proxy = console.api().with_local_address([127, 0, 0, 2]);
    let mallory = [
        ("x-forwarded-user", "mallory"),
        ("content-type", "application/json"),
    ];
    assert_eq!(
        proxy
            .send("GET", "/api/v1/groups", &mallory, "")
            .await
            .status,
        200
    );
    let path = lock_path("jobs", b"lock:a", "/acquire");
    let response = proxy
        .send("POST", &path, &mallory, r#"{"ttl_ms": 60000}"#)
        .await;
    assert_eq!(response.problem_code(), "forbidden");
    let script = [("x-forwarded-user", "<script>alert(1)</script>")];
    let page = proxy.send("GET", "/", &script, "").await;
    assert!(!page.text.contains("<script>alert"), "{}", page.text);
    let page = proxy.send("GET", "/", &mallory, "").await;
    assert!(page.text.contains("mallory") && page.text.contains("viewer"));
}
