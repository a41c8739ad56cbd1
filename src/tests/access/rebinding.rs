//! A console where nobody needs to sign in, and pages of others that make their own name lead to it.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;

use super::console_with;
use crate::api::{group, lock_path};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

const ACT: &str = r#"{"ttl_ms": 60000}"#;

#[tokio::test]
async fn a_name_that_somebody_else_gave_this_machine_is_not_answered() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    let person = console.person();
    let path = lock_path("jobs", b"lock:a", "/acquire");
    // What the browser says of such a page: it is of the same origin.
    let with = |host: &'static str| {
        [
            ("host", host),
            ("content-type", "application/json"),
            ("sec-fetch-site", "same-origin"),
        ]
    };
    for host in [
        "evil.example:7878",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
    ] {
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
    let answer = person
        .send("POST", &path, &with("localhost:7878"), ACT)
        .await;
    assert_eq!(answer.status, 201);
}

#[tokio::test]
async fn where_anyone_may_come_in_they_may_under_any_name() {
    let nodes = RedisNodes::start(1).await;
    let access = AccessConfig {
        anyone_on_the_network: true,
        ..AccessConfig::default()
    };
    let console = console_with(vec![group("jobs", &nodes)], access, Clock::real()).await;
    let headers = [("host", "console.example")];
    let answer = console
        .person()
        .send("GET", "/api/v1/groups", &headers, "")
        .await;
    assert_eq!(answer.status, 200);
    let page = console.person().send("GET", "/", &headers, "").await;
    assert!(
        page.text.contains("Anyone who reaches this address"),
        "{}",
        page.text
    );
}
