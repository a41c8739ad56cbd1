//! Internal errors: the log has the details with the request ID, the response has only the code and
//! the advice.

use serde_json::json;

use super::start_process;
use crate::api::lock_path;
use crate::support::redis_nodes::{RedisNodes, free_port};

#[tokio::test]
async fn error_responses_contain_no_path_or_address_and_the_log_has_both() {
    let nodes = RedisNodes::start(1).await;
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let config = format!("[storage]\nurl = \"postgres://lockkeeper@127.0.0.1:{port}/locks\"\n");
    let (console, _directory) = start_process(&nodes, &config).await;
    let api = console.api.clone();
    let path = lock_path("orders", b"lock:a", "/acquire");
    let body = json!({"ttl_ms": 1000}).to_string();
    let headers = [
        ("content-type", "application/json"),
        ("x-request-id", "night-shift.1"),
    ];
    let audit = api.send("POST", &path, &headers, body.clone()).await;
    assert_eq!(audit.problem_code(), "audit-unavailable");
    let headers = [
        ("content-type", "application/json"),
        ("x-request-id", "night-shift.2"),
        ("idempotency-key", "8e03978e-40d5-43e8-bc93-6894a57f9324"),
    ];
    let shared = api.send("POST", &path, &headers, body).await;
    assert_eq!(shared.problem_code(), "storage-unavailable");
    let body = json!({
        "group": "orders", "key": {"key": "lock:a"}, "format": "plain",
        "ttl_ms": 60_000, "wait_ms": 0, "label": null, "auto_renew": false,
    });
    let function = crate::access::matrix::server_function_path("acquire");
    let headers = [
        ("content-type", "application/json"),
        ("x-request-id", "night-shift.3"),
    ];
    let response_of_page = api
        .send("POST", &function, &headers, body.to_string())
        .await;
    let port = port.to_string();
    for response in [&audit, &shared, &response_of_page] {
        let text = &response.text;
        assert!(!text.contains(&address), "{text}");
        assert!(!text.contains(&port), "{text}");
        assert!(!text.contains("refused"), "{text}");
    }
    let log = console.stop().await;
    let logs_line_with = |parts: [&str; 2]| {
        let mut lines = log.lines();
        lines.any(|line| parts.iter().all(|part| line.contains(part)))
    };
    assert!(
        logs_line_with(["night-shift.1", "Connection refused"]),
        "{log}"
    );
    assert!(
        logs_line_with(["night-shift.3", "Connection refused"]),
        "{log}"
    );
    assert!(log.contains("cannot claim the Idempotency-Key"), "{log}");
}
