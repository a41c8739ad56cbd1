//! Requests that the API rejects: the status and code of each, and that a rejected request changes
//! nothing.

use lockkeeper::domain::LockKey;
use lockkeeper::server::config::GroupConfig;
use serde_json::json;

use crate::api::{group_config, lock_path};
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// Bodies of acquire requests, each with the expected status.
const ACQUIRES: &str = r#"
400 not json
400 []
400 {}
400 null
400 1000
400 ttl_ms=1000
400 [1000, null, null, null, null]
400 {"ttl_ms": -1}
400 {"ttl_ms": -0}
400 {"ttl_ms": -0.0}
400 {"ttl_ms": 1.5}
400 {"ttl_ms": 1000.0}
400 {"ttl_ms": 1e3}
400 {"ttl_ms": 1e400}
400 {"ttl_ms": 18446744073709551616}
400 {"ttl_ms": 99999999999999999999999999999999999999999999}
400 {"ttl_ms": "1000"}
400 {"ttl_ms": "30s"}
400 {"ttl_ms": null}
400 {"ttl_ms": true}
400 {"ttl_ms": [1000]}
400 {"ttl_ms": {"ms": 1000}}
400 {"ttl_ms": 01000}
400 {"ttl_ms": +1000}
400 {"ttl_ms": 0x10}
400 {"ttl_ms": NaN}
400 {"ttl_ms": Infinity}
400 {"ttl-ms": 1000}
400 {"TTL_MS": 1000}
400 {"ttl_ms": 1000, "ttl_ms": 2000}
400 {"ttl_ms": 1000, "colour": 1}
400 {"ttl_ms": 1000, "label": "a", "label": "a"}
400 {"ttl_ms": 1000, "wait_ms": -1}
400 {"ttl_ms": 1000, "wait_ms": 1.5}
400 {"ttl_ms": 1000, "wait_ms": "5"}
400 {"ttl_ms": 1000, "label": 5}
400 {"ttl_ms": 1000, "label": ["a"]}
400 {"ttl_ms": 1000, "label": "\ud800"}
400 {"ttl_ms": 1000, "format": "ring"}
400 {"ttl_ms": 1000, "format": ""}
400 {"ttl_ms": 1000, "format": "PLAIN"}
400 {"ttl_ms": 1000, "format": " plain"}
400 {"ttl_ms": 1000, "format": 0}
400 {"ttl_ms": 1000, "token": 5}
400 {"ttl_ms": 1000, "auto_renew": null}
400 {"ttl_ms": 1000, "auto_renew": 1}
400 {"ttl_ms": 1000, "auto_renew": "true"}
400 {"ttl_ms": 1000} {"ttl_ms": 1000}
400 {"ttl_ms": 1000}]
400 {"ttl_ms": 1000,}
400 {"ttl_ms": 1000
400 {'ttl_ms': 1000}
400 {ttl_ms: 1000}
400 {"ttl_ms": 1000} // a lease
422 {"ttl_ms": 0}
422 {"ttl_ms": 9}
422 {"ttl_ms": 3600001}
422 {"ttl_ms": 315360000000}
422 {"ttl_ms": 9223372036854775808}
422 {"ttl_ms": 18446744073709551615}
422 {"ttl_ms": 1000, "wait_ms": 300001}
422 {"ttl_ms": 1000, "wait_ms": 18446744073709551615}
422 {"ttl_ms": 1000, "format": "shedlock"}
422 {"ttl_ms": 1000, "format": "redis-py"}
422 {"ttl_ms": 1000, "format": "node-redlock"}
"#;

/// Other requests: expected status and code, method, path, body.
const REQUESTS: &str = r#"
404 unknown-group POST /groups/nope/locks/a/acquire {"ttl_ms": 1000}
403 forbidden POST /groups/museum/locks/a/acquire {"ttl_ms": 1000}
400 bad-request POST /groups/jobs/locks/a%/acquire {"ttl_ms": 1000}
409 wrong-type POST /groups/jobs/locks/lock%3Ahash/acquire {"ttl_ms": 1000}
422 impossible POST /groups/jobs/locks/lock%3Aa/extend {"token": "", "ttl_ms": 1000}
422 impossible POST /groups/jobs/locks/lock%3Aa/extend {"token": "x", "ttl_ms": 0}
400 bad-request POST /groups/jobs/locks/lock%3Aa/release {"token": 5}
422 impossible POST /groups/jobs/locks/lock%3Aa/release {"token": ""}
422 impossible POST /groups/jobs/locks/lock%3Aa/force-release {"fingerprint": "short", "reason": "r"}
422 impossible POST /groups/jobs/locks/lock%3Aa/force-release {"fingerprint": "0000000000000000", "reason": " "}
400 bad-request POST /groups/jobs/locks/lock%3Aa/force-release {"fingerprint": "0000000000000000"}
409 owner-changed POST /groups/jobs/locks/lock%3Aa/force-release {"fingerprint": "0000000000000000", "reason": "r"}
422 impossible POST /groups/jobs/locks//acquire {"ttl_ms": 60000}
422 impossible POST /groups/jobs/locks//extend {"ttl_ms": 60000, "token": "a token"}
422 impossible POST /groups/jobs/locks//release {"token": "a token"}
422 impossible POST /groups/jobs/locks//force-release {"fingerprint": "0123456789abcdef", "reason": "why"}
405 method-not-allowed POST /locks {"ttl_ms": 1000}
400 bad-request GET /locks?verdict=free
400 bad-request GET /locks?colour=red
400 bad-request GET /locks?limit=0
400 bad-request GET /locks?limit=1001
400 bad-request GET /locks?limit=-1
400 bad-request GET /locks?sort=colour
400 bad-request GET /locks?order=up
400 bad-request GET /locks?cursor=zz
400 bad-request GET /locks?cursor=00
404 unknown-group GET /locks?group=nope
404 unknown-group GET /groups/nope/locks/a
400 bad-request GET /groups/jobs/locks/%zz
404 unknown-group GET /events?group=nope
404 not-found GET /nothing
405 method-not-allowed GET /groups/jobs/locks/lock%3Ab/acquire
405 method-not-allowed DELETE /groups/jobs/locks/lock%3Aa
"#;

const JSON: (&str, &str) = ("content-type", "application/json");

async fn acquire(api: &ApiClient, body: impl Into<Vec<u8>>) -> ApiResponse {
    let path = lock_path("jobs", b"lock:b", "/acquire");
    api.send("POST", &path, &[JSON], body).await
}

/// Asserts that the response is a problem with this status and code, and that its texts are not
/// empty.
fn assert_rejected(response: &ApiResponse, status: &str, code: &str, request: &str) {
    let actual = (response.status.to_string(), response.problem_code());
    assert_eq!(
        actual,
        (status.to_owned(), code.to_owned()),
        "{request}: {}",
        response.text
    );
    let problem = response.json();
    for field in ["type", "title", "detail", "advice"] {
        let text = problem[field].as_str().unwrap();
        assert!(!text.is_empty(), "{request}: no {field}");
    }
}

#[tokio::test]
async fn invalid_requests_are_rejected_with_a_problem_and_change_nothing() {
    let nodes = RedisNodes::start(1).await;
    let read_only = GroupConfig {
        read_only: true,
        ..group_config("museum", &nodes)
    };
    let console = TestConsole::start(vec![group_config("jobs", &nodes), read_only]).await;
    let api = console.api();
    nodes.set(0, b"lock:a", b"owner-a", None).await;
    nodes.hset(0, b"lock:hash", b"field", b"value").await;
    let before = nodes.dump(0).await;

    for line in ACQUIRES.trim().lines() {
        let (status, body) = line.split_once(' ').unwrap();
        let code = if status == "400" {
            "bad-request"
        } else {
            "impossible"
        };
        assert_rejected(&acquire(&api, body).await, status, code, body);
    }
    for line in REQUESTS.trim().lines() {
        let mut words = line.splitn(5, ' ');
        let [status, code, method, path] = [(); 4].map(|()| words.next().unwrap());
        let body = words.next();
        let headers: &[(&str, &str)] = if body.is_some() { &[JSON] } else { &[] };
        let path = format!("/api/v1{path}");
        let response = api
            .send(method, &path, headers, body.unwrap_or_default())
            .await;
        assert_rejected(&response, status, code, line);
        if path.contains("/locks//") {
            assert_eq!(response.json()["field"], "key", "{line}");
        }
    }
    for headers in [&[("content-type", "text/plain")][..], &[]] {
        let path = lock_path("jobs", b"lock:b", "/acquire");
        let response = api
            .send("POST", &path, headers, r#"{"ttl_ms": 1000}"#)
            .await;
        assert_rejected(&response, "415", "unsupported-media-type", "no JSON");
    }
    let nested = |before: &str, after: &str| {
        format!(
            "{before}{}{}{after}",
            "[".repeat(60_000),
            "]".repeat(60_000)
        )
    };
    let long = |field: &str, n: usize| json!({"ttl_ms": 1_000, field: "x".repeat(n)}).to_string();
    let utf16 = "{\"ttl_ms\":1000}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes);
    let generated: Vec<(&str, &str, Vec<u8>)> = vec![
        ("400", "bad-request", Vec::new()),
        ("400", "bad-request", vec![0; 1_000]),
        ("400", "bad-request", utf16.collect()),
        ("400", "bad-request", "\u{feff}{\"ttl_ms\": 1000}".into()),
        (
            "400",
            "bad-request",
            b"{\"ttl_ms\":1000,\"label\":\"\xff\"}".to_vec(),
        ),
        (
            "400",
            "bad-request",
            b"{\"ttl_ms\":1000,\"label\":\"\x01\"}".to_vec(),
        ),
        ("400", "bad-request", nested("", "").into()),
        (
            "400",
            "bad-request",
            nested("{\"ttl_ms\":1000,\"label\":", "}").into(),
        ),
        (
            "400",
            "bad-request",
            nested("{\"ttl_ms\":1000,\"more\":", "}").into(),
        ),
        ("400", "bad-request", "{\"ttl_ms\":".repeat(10_000).into()),
        ("422", "impossible", long("label", 65).into()),
        ("422", "impossible", long("token", 513).into()),
        ("422", "impossible", long("token", 100_000).into()),
        ("413", "payload-too-large", long("label", 200_000).into()),
    ];
    for (status, code, body) in generated {
        let excerpt = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        assert_rejected(&acquire(&api, body).await, status, code, &excerpt);
    }
    let reason = json!({"fingerprint": "0".repeat(16), "reason": "x".repeat(501)});
    let response = api
        .post(&lock_path("jobs", b"lock:a", "/force-release"), reason)
        .await;
    assert_rejected(&response, "422", "impossible", "a long reason");
    assert_eq!(
        nodes.dump(0).await,
        before,
        "a rejected request changed a key"
    );
}

#[tokio::test]
async fn null_fields_count_as_absent_and_a_label_with_control_characters_is_escaped() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    let api = console.api();
    let body = r#"{"ttl_ms": 60000, "wait_ms": null, "format": null, "token": null, "label": "a\u0000b\r\nc:d \u202e\u00fc"}"#;
    let response = acquire(&api, body).await;
    assert_eq!(response.status, 201, "{}", response.text);
    let value = nodes.get(0, b"lock:b").await.unwrap();
    assert!(value.iter().all(u8::is_ascii_graphic), "{value:?}");
    nodes.delete(0, b"lock:b").await;
    let response = acquire(&api, r#"{"ttl_ms": 60000, "label": null}"#).await;
    assert_eq!(response.status, 201, "{}", response.text);
}

#[tokio::test]
async fn cross_site_operations_are_rejected_and_audited() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    let headers = [
        ("content-type", "application/json"),
        ("sec-fetch-site", "cross-site"),
        ("origin", "https://evil.example"),
    ];
    let api = console.api();
    let path = lock_path("jobs", b"lock:x", "/acquire");
    let response = api
        .send("POST", &path, &headers, json!({"ttl_ms": 1000}).to_string())
        .await;
    response.assert_problem(403, "forbidden");
    assert_eq!(nodes.get(0, b"lock:x").await, None);
    let bulk = "/api/v1/force-releases";
    assert_eq!(api.send("POST", bulk, &headers, "{}").await.status, 403);
    let audited = async || {
        let page = api.get("/api/v1/audit").await.json();
        let entries = page["entries"].as_array().unwrap().iter().map(|entry| {
            ["action", "actor", "key_encoded", "result"]
                .map(|field| entry[field].as_str().unwrap_or("").to_owned())
        });
        entries.collect::<Vec<_>>()
    };
    let expected = [
        ["force-release", "local operator", "", "refused"],
        ["acquire", "local operator", "lock%3Ax", "refused"],
    ];
    wait_until("both are in the audit log", async || {
        audited().await == expected
    })
    .await;
}

#[tokio::test]
async fn a_lock_name_cannot_close_the_title_element_of_its_page() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    let api = console.api();
    let names = [
        "</title><meta http-equiv=refresh content=0;//evil.example>",
        "lock:</title><b>",
    ];
    nodes.set(0, names[1].as_bytes(), b"owner", None).await;
    for name in names {
        let path = LockKey::from(name).encoded();
        let page = api.get(&format!("/groups/jobs/locks/{path}")).await;
        assert_eq!(page.status, 200, "{path}");
        let after_title_tag = page.text.split("<title>").nth(1).unwrap();
        let (title, _) = after_title_tag.split_once("</title>").unwrap();
        assert!(title.contains("&lt;/title&gt;"), "{path}: {title}");
        assert!(!page.text.contains("<meta http-equiv") && !page.text.contains("<b>"));
    }
}
