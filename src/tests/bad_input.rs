//! What the API refuses, how it says so, and that a refusal changes nothing.

use lockkeeper::domain::LockKey;
use lockkeeper::server::config::GroupConfig;
use serde_json::json;

use crate::api::{group, lock_path};
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

const YEAR_MS: u64 = 365 * 24 * 3600 * 1000;

#[tokio::test]
async fn bad_input_is_refused_clearly_and_changes_nothing() {
    let nodes = RedisNodes::start(1).await;
    let read_only = GroupConfig {
        read_only: true,
        ..group("museum", &nodes)
    };
    let console = TestConsole::start(vec![group("jobs", &nodes), read_only]).await;
    let script = console.person();
    nodes.set(0, b"lock:a", b"owner-a", None).await;
    nodes.hash(0, b"lock:hash", b"field", b"value").await;
    let before = nodes.dump(0).await;

    let json_type = [("content-type", "application/json")];
    let acquire = "/api/v1/groups/jobs/locks/lock%3Ab/acquire";
    let force = "/api/v1/groups/jobs/locks/lock%3Aa/force-release";
    let bodies: Vec<(&str, String, u16, &str)> = vec![
        (acquire, "not json".into(), 400, "bad-request"),
        (acquire, String::new(), 400, "bad-request"),
        (acquire, "[]".into(), 400, "bad-request"),
        (acquire, "{}".into(), 400, "bad-request"),
        (
            acquire,
            json!({"ttl_ms": "30s"}).to_string(),
            400,
            "bad-request",
        ),
        (
            acquire,
            json!({"ttl_ms": -1}).to_string(),
            400,
            "bad-request",
        ),
        (
            acquire,
            json!({"ttl_ms": 1.5}).to_string(),
            400,
            "bad-request",
        ),
        (
            acquire,
            json!({"ttl_ms": 1000, "colour": 1}).to_string(),
            400,
            "bad-request",
        ),
        (
            acquire,
            json!({"ttl_ms": 1000, "format": "ring"}).to_string(),
            400,
            "bad-request",
        ),
        (acquire, json!({"ttl_ms": 0}).to_string(), 422, "impossible"),
        (
            acquire,
            json!({"ttl_ms": 10 * YEAR_MS}).to_string(),
            422,
            "impossible",
        ),
        (
            acquire,
            json!({"ttl_ms": u64::MAX}).to_string(),
            422,
            "impossible",
        ),
        (
            acquire,
            json!({"ttl_ms": 1000, "wait_ms": YEAR_MS}).to_string(),
            422,
            "impossible",
        ),
        (
            acquire,
            json!({"ttl_ms": 1000, "label": "x".repeat(65)}).to_string(),
            422,
            "impossible",
        ),
        (
            acquire,
            json!({"ttl_ms": 1000, "format": "shedlock"}).to_string(),
            422,
            "impossible",
        ),
        (
            acquire,
            json!({"ttl_ms": 1000, "label": "x".repeat(200_000)}).to_string(),
            413,
            "too-large",
        ),
        (
            "/api/v1/groups/nope/locks/a/acquire",
            json!({"ttl_ms": 1000}).to_string(),
            404,
            "unknown-group",
        ),
        (
            "/api/v1/groups/museum/locks/a/acquire",
            json!({"ttl_ms": 1000}).to_string(),
            403,
            "forbidden",
        ),
        (
            "/api/v1/groups/jobs/locks/a%/acquire",
            json!({"ttl_ms": 1000}).to_string(),
            400,
            "bad-request",
        ),
        (
            "/api/v1/groups/jobs/locks/lock%3Ahash/acquire",
            json!({"ttl_ms": 1000}).to_string(),
            409,
            "wrong-type",
        ),
        (
            "/api/v1/groups/jobs/locks/lock%3Aa/extend",
            json!({"token": "", "ttl_ms": 1000}).to_string(),
            422,
            "impossible",
        ),
        (
            "/api/v1/groups/jobs/locks/lock%3Aa/extend",
            json!({"token": "x", "ttl_ms": 0}).to_string(),
            422,
            "impossible",
        ),
        (
            "/api/v1/groups/jobs/locks/lock%3Aa/release",
            json!({"token": 5}).to_string(),
            400,
            "bad-request",
        ),
        (
            "/api/v1/groups/jobs/locks/lock%3Aa/release",
            json!({"token": ""}).to_string(),
            422,
            "impossible",
        ),
        (
            force,
            json!({"fingerprint": "short", "reason": "r"}).to_string(),
            422,
            "impossible",
        ),
        (
            force,
            json!({"fingerprint": "0".repeat(16), "reason": " "}).to_string(),
            422,
            "impossible",
        ),
        (
            force,
            json!({"fingerprint": "0".repeat(16), "reason": "x".repeat(501)}).to_string(),
            422,
            "impossible",
        ),
        (
            force,
            json!({"fingerprint": "0".repeat(16)}).to_string(),
            400,
            "bad-request",
        ),
        (
            force,
            json!({"fingerprint": "0".repeat(16), "reason": "r"}).to_string(),
            409,
            "owner-changed",
        ),
    ];
    for (path, body, status, code) in bodies {
        let answer = script.send("POST", path, &json_type, body.clone()).await;
        let shown = body.chars().take(80).collect::<String>();
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{path} {shown}: {}",
            answer.text
        );
        let problem = answer.json();
        for field in ["type", "title", "detail", "advice"] {
            assert!(
                !problem[field].as_str().unwrap().is_empty(),
                "{path}: no {field}"
            );
        }
    }
    for (method, path, headers, status, code) in [
        (
            "GET",
            "/api/v1/locks?verdict=free",
            &[][..],
            400,
            "bad-request",
        ),
        ("GET", "/api/v1/locks?colour=red", &[], 400, "bad-request"),
        ("GET", "/api/v1/locks?limit=0", &[], 400, "bad-request"),
        ("GET", "/api/v1/locks?limit=1001", &[], 400, "bad-request"),
        ("GET", "/api/v1/locks?limit=-1", &[], 400, "bad-request"),
        ("GET", "/api/v1/locks?sort=colour", &[], 400, "bad-request"),
        ("GET", "/api/v1/locks?order=up", &[], 400, "bad-request"),
        ("GET", "/api/v1/locks?cursor=zz", &[], 400, "bad-request"),
        ("GET", "/api/v1/locks?cursor=00", &[], 400, "bad-request"),
        ("GET", "/api/v1/locks?group=nope", &[], 404, "unknown-group"),
        (
            "GET",
            "/api/v1/groups/nope/locks/a",
            &[],
            404,
            "unknown-group",
        ),
        (
            "GET",
            "/api/v1/groups/jobs/locks/%zz",
            &[],
            400,
            "bad-request",
        ),
        (
            "GET",
            "/api/v1/events?group=nope",
            &[],
            404,
            "unknown-group",
        ),
        ("GET", "/api/v1/nothing", &[], 404, "not-found"),
        ("GET", acquire, &[], 405, "method-not-allowed"),
        (
            "DELETE",
            "/api/v1/groups/jobs/locks/lock%3Aa",
            &[],
            405,
            "method-not-allowed",
        ),
        (
            "POST",
            "/api/v1/locks",
            &json_type,
            405,
            "method-not-allowed",
        ),
        (
            "POST",
            acquire,
            &[("content-type", "text/plain")],
            415,
            "not-json",
        ),
        ("POST", acquire, &[], 415, "not-json"),
    ] {
        let answer = script
            .send(method, path, headers, "{\"ttl_ms\":1000}")
            .await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{method} {path}: {}",
            answer.text
        );
    }
    assert_eq!(
        nodes.dump(0).await,
        before,
        "a refused request changed something"
    );
}

#[tokio::test]
async fn another_site_cannot_act_through_a_visitors_browser() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    let headers = [
        ("content-type", "application/json"),
        ("sec-fetch-site", "cross-site"),
        ("origin", "https://evil.example"),
    ];
    let person = console.person();
    let path = lock_path("jobs", b"lock:x", "/acquire");
    let answer = person
        .send("POST", &path, &headers, json!({"ttl_ms": 1000}).to_string())
        .await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.code(), "forbidden", "{}", answer.text);
    assert_eq!(nodes.get(0, b"lock:x").await, None);
    let bulk = "/api/v1/force-releases";
    assert_eq!(person.send("POST", bulk, &headers, "{}").await.status, 403);
    let told = async || {
        let acts = person.get("/api/v1/audit").await.json();
        let acts = acts["acts"].as_array().unwrap().iter().map(|act| {
            ["act", "who", "key_encoded", "end"]
                .map(|what| act[what].as_str().unwrap_or("").to_owned())
        });
        acts.collect::<Vec<_>>()
    };
    let expected = [
        ["force-release", "local operator", "", "refused"],
        ["acquire", "local operator", "lock%3Ax", "refused"],
    ];
    eventually_is("both stand in the audit", async || told().await == expected).await;
}

#[tokio::test]
async fn no_name_of_a_lock_ends_the_title_of_its_page() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    let person = console.person();
    let names = [
        "</title><meta http-equiv=refresh content=0;//evil.example>",
        "lock:</title><b>",
    ];
    nodes.set(0, names[1].as_bytes(), b"owner", None).await;
    for name in names {
        let path = LockKey::from(name).encoded();
        let page = person.get(&format!("/groups/jobs/locks/{path}")).await;
        assert_eq!(page.status, 200, "{path}");
        let titled = page.text.split("<title>").nth(1).unwrap();
        let (title, _) = titled.split_once("</title>").unwrap();
        assert!(title.contains("&lt;/title&gt;"), "{path}: {title}");
        assert!(!page.text.contains("<meta http-equiv") && !page.text.contains("<b>"));
    }
}

#[tokio::test]
async fn a_lock_without_a_name_is_refused_by_every_verb() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let token = "a token";
    for (verb, body) in [
        ("acquire", json!({"ttl_ms": 60_000})),
        ("extend", json!({"ttl_ms": 60_000, "token": token})),
        ("release", json!({"token": token})),
        (
            "force-release",
            json!({"fingerprint": "0123456789abcdef", "reason": "why"}),
        ),
    ] {
        let path = format!("/api/v1/groups/orders/locks//{verb}");
        let refused = person.post(&path, body).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (422, "impossible"),
            "{verb}: {}",
            refused.text
        );
        assert_eq!(refused.json()["field"], "key", "{verb}");
    }
    assert!(nodes.dump(0).await.is_empty());
}
