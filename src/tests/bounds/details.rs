//! What went wrong inside is in the log, with the name of the request; a caller hears the code and what to do.

use serde_json::json;

use super::process;
use crate::api::lock_path;
use crate::support::redis_nodes::{RedisNodes, free_port};

#[tokio::test]
async fn a_failure_tells_a_caller_no_path_and_no_address_and_the_log_has_both() {
    let nodes = RedisNodes::start(1).await;
    let state = free_port();
    let place = format!("127.0.0.1:{state}");
    let more = format!("[storage]\nurl = \"postgres://lockkeeper@127.0.0.1:{state}/locks\"\n");
    let (console, _folder) = process(&nodes, &more).await;
    let person = console.person.clone();
    let path = lock_path("orders", b"lock:a", "/acquire");
    let body = json!({"ttl_ms": 1000}).to_string();
    let headers = [
        ("content-type", "application/json"),
        ("x-request-id", "night-shift.1"),
    ];
    let audit = person.send("POST", &path, &headers, body.clone()).await;
    assert_eq!(audit.code(), "audit-unavailable");
    let headers = [
        ("content-type", "application/json"),
        ("x-request-id", "night-shift.2"),
        ("idempotency-key", "8e03978e-40d5-43e8-bc93-6894a57f9324"),
    ];
    let shared = person.send("POST", &path, &headers, body).await;
    assert_eq!(shared.code(), "storage-unavailable");
    let page = json!({
        "group": "orders", "key": {"key": "lock:a"}, "format": "plain",
        "ttl_ms": 60_000, "wait_ms": 0, "label": null, "auto_renew": false,
    });
    let function = crate::access::matrix::function("acquire");
    let headers = [
        ("content-type", "application/json"),
        ("x-request-id", "night-shift.3"),
    ];
    let page = person
        .send("POST", &function, &headers, page.to_string())
        .await;
    let state = state.to_string();
    for answer in [&audit, &shared, &page] {
        let told = &answer.text;
        assert!(!told.contains(&place), "{told}");
        assert!(!told.contains(&state), "{told}");
        assert!(!told.contains("refused"), "{told}");
    }
    let log = console.stop().await;
    let has = |what: [&str; 2]| {
        let mut lines = log.lines();
        lines.any(|line| what.iter().all(|part| line.contains(part)))
    };
    assert!(has(["night-shift.1", "Connection refused"]), "{log}");
    assert!(has(["night-shift.3", "Connection refused"]), "{log}");
    assert!(log.contains("cannot be claimed"), "{log}");
}
