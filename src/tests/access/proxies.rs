//! A reverse proxy that says who somebody is, and those who only pretend to be it.

use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use lockkeeper::server::config::access::{ProxyConfig, UserConfig};

use super::console_with;
use crate::api::{group, lock_path};
use crate::support::redis_nodes::RedisNodes;

fn access(others: Option<Role>) -> AccessConfig {
    AccessConfig {
        proxy: Some(ProxyConfig {
            header: "x-forwarded-user".parse().unwrap(),
            from: vec!["127.0.0.2/32".parse().unwrap(), "fd00::/8".parse().unwrap()],
            others,
        }),
        users: vec![UserConfig {
            name: "alice".to_owned(),
            password: None,
            rights: Rights::everywhere(Role::Operator),
        }],
        ..AccessConfig::default()
    }
}

#[tokio::test]
async fn the_header_counts_from_the_proxy_alone() {
    let nodes = RedisNodes::start(1).await;
    let console = console_with(vec![group("jobs", &nodes)], access(None), Clock::real()).await;
    let (proxy, elsewhere) = (
        console.person().calling_from([127, 0, 0, 2]),
        console.person(),
    );
    let alice = [
        ("x-forwarded-user", "alice"),
        ("content-type", "application/json"),
    ];
    let path = lock_path("jobs", b"lock:a", "/acquire");
    for pretender in [&elsewhere, &console.person().calling_from([127, 0, 0, 3])] {
        let answer = pretender
            .send("POST", &path, &alice, r#"{"ttl_ms": 60000}"#)
            .await;
        assert_eq!(answer.code(), "sign-in-required");
    }
    let answer = proxy
        .send("POST", &path, &alice, r#"{"ttl_ms": 60000}"#)
        .await;
    assert_eq!(answer.status, 201);
    // Somebody without a password does not sign in with an empty one.
    let answer = super::try_to_sign_in(&elsewhere, "alice", "").await;
    assert!(super::location(&answer).contains("why=wrong"));
}

#[tokio::test]
async fn whoever_the_proxy_does_not_name_plainly_stays_outside() {
    let nodes = RedisNodes::start(1).await;
    let console = console_with(vec![group("jobs", &nodes)], access(None), Clock::real()).await;
    let proxy = console.person().calling_from([127, 0, 0, 2]);
    let long = "a".repeat(129);
    for headers in [
        &[][..],
        &[("x-forwarded-user", "")],
        &[("x-forwarded-user", "mallory")],
        &[("x-forwarded-user", "ALICE")],
        &[("x-forwarded-user", "alice, bob")],
        // What the client sent itself, and the proxy added to.
        &[
            ("x-forwarded-user", "alice"),
            ("x-forwarded-user", "mallory"),
        ],
        &[("x-forwarded-user", "alice"), ("X-Forwarded-User", "alice")],
        &[("x-forwarded-user", &long)],
    ] {
        let answer = proxy.send("GET", "/api/v1/groups", headers, "").await;
        assert_eq!(answer.code(), "sign-in-required", "{headers:?}");
    }
}

#[tokio::test]
async fn others_may_what_the_configuration_says_and_no_more() {
    let nodes = RedisNodes::start(1).await;
    let access = access(Some(Role::Viewer));
    let console = console_with(vec![group("jobs", &nodes)], access, Clock::real()).await;
    let proxy = console.person().calling_from([127, 0, 0, 2]);
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
    let answer = proxy
        .send("POST", &path, &mallory, r#"{"ttl_ms": 60000}"#)
        .await;
    assert_eq!(answer.code(), "forbidden");
    let script = [("x-forwarded-user", "<script>alert(1)</script>")];
    let page = proxy.send("GET", "/", &script, "").await;
    assert!(!page.text.contains("<script>alert"), "{}", page.text);
    let page = proxy.send("GET", "/", &mallory, "").await;
    assert!(page.text.contains("mallory") && page.text.contains("viewer"));
}
