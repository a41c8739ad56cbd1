//! What every answer carries, and which are compressed.

use std::collections::BTreeSet;

use crate::support::console::{Answer, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use serde_json::json;

const ACQUIRE: &str = "/api/v1/groups/orders/locks/lock%3Aa/acquire";

#[tokio::test]
async fn every_answer_says_how_to_be_treated_by_a_browser() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let answers = [
        ("the page", person.get("/").await),
        ("an unknown page", person.get("/no-such-page").await),
        ("a list", person.get("/api/v1/locks").await),
        (
            "an unknown route",
            person.get("/api/v1/no-such-route").await,
        ),
        ("the documentation", person.get("/api/docs/").await),
        ("health", person.get("/healthz").await),
        (
            "an act",
            person.post(ACQUIRE, json!({ "ttl_ms": 1000 })).await,
        ),
        (
            "a refusal",
            person.post(ACQUIRE, json!({ "ttl_ms": 0 })).await,
        ),
    ];
    for (what, answer) in answers {
        for (name, value) in [
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(answer.headers[name], value, "{what}");
        }
    }
}

#[tokio::test]
async fn pages_and_lists_are_compressed_for_who_can_read_it() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    for path in [
        "/",
        "/no-such-page",
        "/api/v1/groups",
        "/api/openapi.json",
        "/api/docs/",
    ] {
        let read = [("accept-encoding", "br")];
        let answer = person.send("GET", path, &read, String::new()).await;
        assert_eq!(answer.headers["content-encoding"], "br", "{path}");
        let plain = person.get(path).await;
        assert!(!plain.headers.contains_key("content-encoding"), "{path}");
    }
}

#[tokio::test]
async fn a_page_runs_its_own_scripts_alone_and_what_is_no_page_runs_none() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let policy = |answer: &Answer| {
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        policy.to_owned()
    };
    let mut nonces = BTreeSet::new();
    for path in [
        "/",
        "/nodes",
        "/waits",
        "/mine",
        "/sign-in",
        "/groups/orders/locks/lock%3Aa",
        "/no-such-page",
    ] {
        let page = person.get(path).await;
        let policy = policy(&page);
        assert!(!policy.contains("unsafe-inline"), "{policy}");
        let (_, rest) = policy.split_once("'nonce-").unwrap();
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
        let answer = person.get(path).await;
        assert!(!policy(&answer).contains("script"), "{path}");
        assert_eq!(answer.headers["referrer-policy"], "no-referrer", "{path}");
    }
    let documentation = person.get("/api/docs/").await;
    assert!(policy(&documentation).contains("script-src 'self';"));
}
