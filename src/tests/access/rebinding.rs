//! A console where nobody needs to sign in, and pages of others that make their own name lead to it.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;

use super::console_with;
use crate::api::{group, lock_path};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

const ACT: &str = r#"{"ttl_ms": 60000}"#;

/// What a browser says of a page under this name: it is of the same origin.
fn with(host: &str) -> [(&str, &str); 3] {
    [
        ("host", host),
        ("content-type", "application/json"),
        ("sec-fetch-site", "same-origin"),
    ]
}

/// Names that somebody else may have given this machine.
const OTHERS: [&str; 3] = [
    "evil.example:7878",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
];

async fn names_of_others_are_refused(console: &TestConsole) {
    let person = console.person();
    let path = lock_path("jobs", b"lock:a", "/acquire");
    for host in OTHERS {
        for (method, path, body) in [
            ("GET", "/api/v1/groups", ""),
            ("GET", "/api/v1/events", ""),
            ("POST", path.as_str(), ACT),
        ] {
            let answer = person.send(method, path, &with(host), body).await;
            assert_eq!(answer.code(), "forbidden", "{host} {path}");
        }
        let page = person.send("GET", "/", &with(host), "").await;
        assert!(!page.text.contains("jobs"), "{}", page.text);
    }
}

#[tokio::test]
async fn a_name_that_somebody_else_gave_this_machine_is_not_answered() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    names_of_others_are_refused(&console).await;
    let path = lock_path("jobs", b"lock:a", "/acquire");
    let answer = console
        .person()
        .send("POST", &path, &with("localhost:7878"), ACT)
        .await;
    assert_eq!(answer.status, 201);
}

#[tokio::test]
async fn where_anyone_may_come_in_they_may_under_an_address_or_a_name_that_is_listed() {
    let nodes = RedisNodes::start(1).await;
    let access = AccessConfig {
        anyone_on_the_network: true,
        ..AccessConfig::default()
    };
    let console = console_with(vec![group("jobs", &nodes)], access, Clock::real()).await;
    names_of_others_are_refused(&console).await;
    let person = console.person();
    for host in ["192.168.1.4:7878", "127.0.0.1:7878", "localhost"] {
        let answer = person.send("GET", "/api/v1/groups", &with(host), "").await;
        assert_eq!(answer.status, 200, "{host}");
        let page = person.send("GET", "/", &with(host), "").await;
        assert!(
            page.text.contains("Anyone who reaches this address"),
            "{}",
            page.text
        );
    }
}

#[tokio::test]
async fn an_open_console_behind_a_reverse_proxy_is_not_answered() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    let person = console.person();
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
        for (method, path, body) in [("GET", "/api/v1/groups", ""), ("POST", &path, ACT)] {
            let answer = person.send(method, path, &headers, body).await;
            assert_eq!(answer.code(), "forbidden", "{name} {path}");
        }
    }
    assert_eq!(person.get("/api/v1/groups").await.status, 200);
}
