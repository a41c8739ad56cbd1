//! What every answer carries, and which are compressed.

use crate::support::console::TestConsole;
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
            ("referrer-policy", "no-referrer"),
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
