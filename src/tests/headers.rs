//! Security headers, caching and compression of responses.

use std::collections::BTreeSet;

use crate::support::console::{ApiResponse, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use serde_json::json;

const ACQUIRE: &str = "/api/v1/groups/orders/locks/lock%3Aa/acquire";

#[tokio::test]
async fn every_response_has_the_security_headers() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let responses = [
        ("the page", api.get("/").await),
        ("an unknown page", api.get("/no-such-page").await),
        ("a list", api.get("/api/v1/locks").await),
        ("an unknown route", api.get("/api/v1/no-such-route").await),
        ("the documentation", api.get("/api/docs/").await),
        ("health", api.get("/healthz").await),
        (
            "an operation",
            api.post(ACQUIRE, json!({ "ttl_ms": 1000 })).await,
        ),
        (
            "a rejected operation",
            api.post(ACQUIRE, json!({ "ttl_ms": 0 })).await,
        ),
    ];
    for (name, response) in responses {
        for (header, value) in [
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(response.headers[header], value, "{name}");
        }
    }
}

#[tokio::test]
async fn responses_are_compressed_for_clients_that_accept_it() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    for path in [
        "/",
        "/no-such-page",
        "/api/v1/groups",
        "/api/openapi.json",
        "/api/docs/",
    ] {
        let headers = [("accept-encoding", "br")];
        let response = api.send("GET", path, &headers, String::new()).await;
        assert_eq!(response.headers["content-encoding"], "br", "{path}");
        let plain = api.get(path).await;
        assert!(!plain.headers.contains_key("content-encoding"), "{path}");
    }
}

#[tokio::test]
async fn pages_run_only_their_own_scripts_and_other_responses_run_none() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let csp = |response: &ApiResponse| {
        let csp = response.headers["content-security-policy"]
            .to_str()
            .unwrap();
        assert!(csp.starts_with("default-src 'none'"), "{csp}");
        assert!(csp.contains("frame-ancestors 'none'"), "{csp}");
        csp.to_owned()
    };
    let mut nonces = BTreeSet::new();
    for path in [
        "/",
        "/nodes",
        "/owners/web-2",
        "/waits",
        "/activity",
        "/mine",
        "/webhooks",
        "/sign-in",
        "/groups/orders/locks/lock%3Aa",
        "/no-such-page",
    ] {
        let page = api.get(path).await;
        let csp = csp(&page);
        assert!(!csp.contains("unsafe-inline"), "{csp}");
        let (_, rest) = csp.split_once("'nonce-").unwrap();
        let nonce = rest.split_once('\'').unwrap().0;
        assert!(nonce.len() >= 20, "{nonce}");
        assert!(nonces.insert(nonce.to_owned()), "{nonce} is used twice");
        assert_eq!(page.headers["referrer-policy"], "same-origin", "{path}");
        for script in page.text.split("<script").skip(1) {
            let tag = script.split_once('>').unwrap().0;
            let is_allowed = tag.contains("src=\"/") || tag.contains(nonce);
            assert!(is_allowed, "{path}: <script{tag}>");
        }
        for inline in [" style=", "<style", " onclick=", " onload=", "javascript:"] {
            assert!(!page.text.contains(inline), "{path}: {inline}");
        }
    }
    for path in ["/api/v1/locks", "/api/no", "/healthz", "/readyz"] {
        let response = api.get(path).await;
        assert!(!csp(&response).contains("script"), "{path}");
        assert_eq!(response.headers["referrer-policy"], "no-referrer", "{path}");
    }
    let documentation = api.get("/api/docs/").await;
    assert!(csp(&documentation).contains("script-src 'self';"));
}
