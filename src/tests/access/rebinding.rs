//! DNS rebinding: a console without authentication, and pages of other sites whose names resolve
//! to its address.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;

use super::start_console_with_access;
use crate::api::{group_config, lock_path};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

const ACQUIRE_BODY: &str = r#"{"ttl_ms": 60000}"#;

/// The headers that a browser sends from a page of this host: same origin.
fn same_origin_headers(host: &str) -> [(&str, &str); 3] {
    [
        ("host", host),
        ("content-type", "application/json"),
        ("sec-fetch-site", "same-origin"),
    ]
}

/// Names under another site's control that may resolve to this machine.
const FOREIGN_HOSTS: [&str; 3] = [
    "evil.example:7878",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
];

async fn assert_foreign_hosts_are_rejected(console: &TestConsole) {
    let api = console.api();
    let path = lock_path("jobs", b"lock:a", "/acquire");
    for host in FOREIGN_HOSTS {
        for (method, path, body) in [
            ("GET", "/api/v1/groups", ""),
            ("GET", "/api/v1/events", ""),
            ("POST", path.as_str(), ACQUIRE_BODY),
        ] {
            let response = api
                .send(method, path, &same_origin_headers(host), body)
                .await;
            assert_eq!(response.problem_code(), "forbidden", "{host} {path}");
        }
        let page = api.send("GET", "/", &same_origin_headers(host), "").await;
        assert!(!page.text.contains("jobs"), "{}", page.text);
    }
}

#[tokio::test]
async fn requests_with_a_foreign_host_are_rejected_and_with_localhost_accepted() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)])
        .await
        .wait_until_connected()
        .await;
    assert_foreign_hosts_are_rejected(&console).await;
    let path = lock_path("jobs", b"lock:a", "/acquire");
    let response = console
        .api()
        .send(
            "POST",
            &path,
            &same_origin_headers("localhost:7878"),
            ACQUIRE_BODY,
        )
        .await;
    assert_eq!(response.status, 201);
}

#[tokio::test]
async fn without_authentication_ip_addresses_and_localhost_are_accepted_as_host() {
    let nodes = RedisNodes::start(1).await;
    let access = AccessConfig {
        insecure_no_auth: true,
        ..AccessConfig::default()
    };
    let console =
        start_console_with_access(vec![group_config("jobs", &nodes)], access, Clock::system())
            .await;
    assert_foreign_hosts_are_rejected(&console).await;
    let api = console.api();
    for host in ["192.168.1.4:7878", "127.0.0.1:7878", "localhost"] {
        let response = api
            .send("GET", "/api/v1/groups", &same_origin_headers(host), "")
            .await;
        assert_eq!(response.status, 200, "{host}");
        let page = api.send("GET", "/", &same_origin_headers(host), "").await;
        assert!(
            page.text.contains("Anyone who can reach this address"),
            "{}",
            page.text
        );
    }
}

#[tokio::test]
async fn without_authentication_requests_of_a_reverse_proxy_are_rejected() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    let api = console.api();
    let path = lock_path("jobs", b"lock:a", "/acquire");
    for (name, value) in [
        ("x-forwarded-for", "203.0.113.9"),
        ("forwarded", "for=203.0.113.9"),
        ("x-real-ip", "203.0.113.9"),
        ("x-forwarded-host", "locks.example.org"),
        ("x-forwarded-proto", "https"),
        ("via", "1.1 nginx"),
    ] {
        let headers = [
            ("host", "127.0.0.1"),
            ("content-type", "application/json"),
            (name, value),
        ];
        for (method, path, body) in [("GET", "/api/v1/groups", ""), ("POST", &path, ACQUIRE_BODY)] {
            let response = api.send(method, path, &headers, body).await;
            assert_eq!(response.problem_code(), "forbidden", "{name} {path}");
        }
    }
    assert_eq!(api.get("/api/v1/groups").await.status, 200);
}
