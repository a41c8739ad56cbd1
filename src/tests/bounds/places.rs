//! Places for requests: slow forms take none of the API's, and no client takes all.

use std::time::{Duration, Instant};

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::LimitsConfig;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::access::FORM;
use crate::access::matrix::function;
use crate::api::{group, lock_path};
use crate::sizes::{raw, status};
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

async fn console(nodes: &RedisNodes, limits: LimitsConfig) -> TestConsole {
    TestConsole::start_within(vec![group("jobs", nodes)], limits, Clock::real()).await
}

/// The head of a form that does not come.
const HEAD: &str = "POST /sign-in HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\nconnection: close\r\ncontent-length: 100\r\n\r\n";

#[tokio::test]
async fn forms_that_do_not_come_take_no_places_of_the_api() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        requests: 4,
        waiting: 2,
        ..LimitsConfig::default()
    };
    let console = console(&nodes, limits).await;
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut one = TcpStream::connect(console.address).await.unwrap();
        one.write_all(HEAD.as_bytes()).await.unwrap();
        slow.push(one);
    }
    // The page of the form is served by the same router, so by then the heads were read.
    let person = console.person();
    for _ in 0..20 {
        assert_eq!(person.get("/sign-in").await.status, 200);
        let answer = person.get("/api/v1/groups").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
}

#[tokio::test]
async fn so_many_requests_of_one_client_may_be_in_progress_and_others_are_served() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:a", b"somebody", Some(600_000)).await;
    let limits = LimitsConfig {
        requests_per_client: 2,
        ..LimitsConfig::default()
    };
    let console = console(&nodes, limits).await.connected().await;
    let person = console.person();
    let path = lock_path("jobs", b"lock:a", "/acquire");
    let waits = [(); 2].map(|()| {
        let (person, path) = (person.clone(), path.clone());
        let body = json!({"ttl_ms": 60_000, "wait_ms": 9_000});
        tokio::spawn(async move { person.post(&path, body).await })
    });
    eventually_is("its places are taken", async || {
        let answer = person.get("/api/v1/groups").await;
        answer.status == 429 && answer.text.contains("requests_per_client")
    })
    .await;
    let other = person.calling_from([127, 0, 0, 2]);
    assert_eq!(other.get("/api/v1/groups").await.status, 200);
    waits.each_ref().iter().for_each(|wait| wait.abort());
    eventually_is("they are given back", async || {
        person.get("/api/v1/groups").await.status == 200
    })
    .await;
}

#[tokio::test]
async fn one_client_has_so_many_places_for_signing_in() {
    let nodes = RedisNodes::start(1).await;
    let console = console(&nodes, LimitsConfig::default()).await;
    let mut slow = Vec::new();
    for _ in 0..32 {
        let mut one = TcpStream::connect(console.address).await.unwrap();
        one.write_all(HEAD.as_bytes()).await.unwrap();
        slow.push(one);
    }
    let person = console.person();
    let form = || person.send("POST", "/sign-in", &FORM, "name=a&password=b");
    eventually_is("its places are taken", async || form().await.status == 429).await;
    let other = person.calling_from([127, 0, 0, 2]);
    let answer = other
        .send("POST", "/sign-in", &FORM, "name=a&password=b")
        .await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    drop(slow);
    eventually_is("they are given back", async || form().await.status == 303).await;
}

#[tokio::test]
async fn a_form_has_eight_kilobytes_and_five_seconds() {
    let nodes = RedisNodes::start(1).await;
    let console = console(&nodes, LimitsConfig::default()).await;
    let person = console.person();
    for path in ["/sign-in", "/sign-out", "/language"] {
        let form = format!("name={}", "a".repeat(8_192));
        let answer = person.send("POST", path, &FORM, form).await;
        assert_eq!((path, answer.status), (path, 413), "{}", answer.text);
    }
    let began = Instant::now();
    let answer = raw(console.address, HEAD.as_bytes()).await;
    assert_eq!(status(&answer), 408, "{answer}");
    assert!(
        began.elapsed() < Duration::from_secs(9),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn a_wait_that_a_page_asks_for_counts_like_one_of_the_api() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:a", b"somebody", Some(600_000)).await;
    let limits = LimitsConfig {
        waiting: 2,
        waiting_per_client: 1,
        ..LimitsConfig::default()
    };
    let console = console(&nodes, limits).await.connected().await;
    let person = console.person();
    let body = json!({
        "group": "jobs", "key": {"key": "lock:a"}, "format": "plain",
        "ttl_ms": 60_000, "wait_ms": 9_000, "label": null, "auto_renew": false,
    });
    let waits = tokio::spawn({
        let (person, path, body) = (console.person(), function("acquire"), body.clone());
        async move {
            loop {
                let answer = person.post(&path, body.clone()).await;
                // Whoever asks whether there is room takes a place for a moment.
                if !answer.text.contains("waiting_per_client") {
                    return answer;
                }
            }
        }
    });
    let path = lock_path("jobs", b"lock:a", "/acquire");
    let one_more = json!({"ttl_ms": 60_000, "wait_ms": 1});
    eventually_is("the wait of the page is counted", async || {
        assert!(!waits.is_finished(), "nobody counted it");
        person.post(&path, one_more.clone()).await.status == 429
    })
    .await;
    // One more would wait beside it.
    let refused = person.post(&function("acquire"), body).await;
    assert!(refused.text.contains("waiting_per_client"), "{refused:?}");
    nodes.delete(0, b"lock:a").await;
    assert_eq!(waits.await.unwrap().status, 200);
}
