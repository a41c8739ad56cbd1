//! Concurrency limits: slow forms do not occupy permits of the API, and no client can occupy all
//! permits.

use std::time::{Duration, Instant};

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::LimitsConfig;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::access::FORM_HEADERS;
use crate::access::matrix::server_function_path;
use crate::api::{group_config, lock_path};
use crate::request_sizes::{send_raw, status};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

async fn start_console(nodes: &RedisNodes, limits: LimitsConfig) -> TestConsole {
    TestConsole::start_with_limits(vec![group_config("jobs", nodes)], limits, Clock::system()).await
}

/// The head of a form request whose body is never sent.
const HEAD: &str = "POST /sign-in HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\nconnection: close\r\ncontent-length: 100\r\n\r\n";

#[tokio::test]
async fn incomplete_forms_occupy_no_permits_of_the_api() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        max_requests: 4,
        max_queued_acquires: 2,
        ..LimitsConfig::default()
    };
    let console = start_console(&nodes, limits).await;
    let mut slow_forms = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(console.address).await.unwrap();
        stream.write_all(HEAD.as_bytes()).await.unwrap();
        slow_forms.push(stream);
    }
    // The sign-in page is served by the same router, so its response proves that the heads were
    // read.
    let api = console.api();
    for _ in 0..20 {
        assert_eq!(api.get("/sign-in").await.status, 200);
        let response = api.get("/api/v1/groups").await;
        assert_eq!(response.status, 200, "{}", response.text);
    }
}

#[tokio::test]
async fn requests_of_one_client_are_limited_and_other_clients_are_served() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:a", b"client-1", Some(600_000)).await;
    let limits = LimitsConfig {
        max_requests_per_client: 2,
        ..LimitsConfig::default()
    };
    let console = start_console(&nodes, limits)
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    let path = lock_path("jobs", b"lock:a", "/acquire");
    let acquires = [(); 2].map(|()| {
        let (api, path) = (api.clone(), path.clone());
        let body = json!({"ttl_ms": 60_000, "wait_ms": 9_000});
        tokio::spawn(async move { api.post(&path, body).await })
    });
    wait_until("the permits of the client are in use", async || {
        let response = api.get("/api/v1/groups").await;
        response.status == 429 && response.text.contains("max_requests_per_client")
    })
    .await;
    let other = api.with_local_address([127, 0, 0, 2]);
    assert_eq!(other.get("/api/v1/groups").await.status, 200);
    acquires
        .each_ref()
        .iter()
        .for_each(|acquire| acquire.abort());
    wait_until("the permits are released", async || {
        api.get("/api/v1/groups").await.status == 200
    })
    .await;
}

#[tokio::test]
async fn concurrent_sign_ins_of_one_client_are_limited() {
    let nodes = RedisNodes::start(1).await;
    let console = start_console(&nodes, LimitsConfig::default()).await;
    let mut slow_forms = Vec::new();
    for _ in 0..32 {
        let mut stream = TcpStream::connect(console.address).await.unwrap();
        stream.write_all(HEAD.as_bytes()).await.unwrap();
        slow_forms.push(stream);
    }
    let api = console.api();
    let submit = || api.send("POST", "/sign-in", &FORM_HEADERS, "name=a&password=b");
    wait_until("the permits of the client are in use", async || {
        submit().await.status == 429
    })
    .await;
    let other = api.with_local_address([127, 0, 0, 2]);
    let response = other
        .send("POST", "/sign-in", &FORM_HEADERS, "name=a&password=b")
        .await;
    assert_eq!(response.status, 303, "{}", response.text);
    drop(slow_forms);
    wait_until("the permits are released", async || {
        submit().await.status == 303
    })
    .await;
}

#[tokio::test]
async fn a_form_is_limited_to_eight_kilobytes_and_five_seconds() {
    let nodes = RedisNodes::start(1).await;
    let console = start_console(&nodes, LimitsConfig::default()).await;
    let api = console.api();
    for path in ["/sign-in", "/sign-out", "/language"] {
        let form = format!("name={}", "a".repeat(8_192));
        let response = api.send("POST", path, &FORM_HEADERS, form).await;
        assert_eq!((path, response.status), (path, 413), "{}", response.text);
    }
    let started = Instant::now();
    let response = send_raw(console.address, HEAD.as_bytes()).await;
    assert_eq!(status(&response), 408, "{response}");
    assert!(
        started.elapsed() < Duration::from_secs(9),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn a_waiting_acquire_of_a_page_counts_like_one_of_the_api() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:a", b"client-1", Some(600_000)).await;
    let limits = LimitsConfig {
        max_queued_acquires: 2,
        max_queued_acquires_per_client: 1,
        ..LimitsConfig::default()
    };
    let console = start_console(&nodes, limits)
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    let body = json!({
        "group": "jobs", "key": {"key": "lock:a"}, "format": "plain",
        "ttl_ms": 60_000, "wait_ms": 9_000, "label": null, "auto_renew": false,
    });
    let acquires = tokio::spawn({
        let (api, path, body) = (console.api(), server_function_path("acquire"), body.clone());
        async move {
            loop {
                let response = api.post(&path, body.clone()).await;
                // The probe below occupies the only permit for a moment.
                if !response.text.contains("max_queued_acquires_per_client") {
                    return response;
                }
            }
        }
    });
    let path = lock_path("jobs", b"lock:a", "/acquire");
    let probe = json!({"ttl_ms": 60_000, "wait_ms": 1});
    wait_until("the waiting acquire of the page is counted", async || {
        assert!(
            !acquires.is_finished(),
            "the waiting acquire was not counted"
        );
        api.post(&path, probe.clone()).await.status == 429
    })
    .await;
    // A second waiting acquire would exceed the limit.
    let rejected = api.post(&server_function_path("acquire"), body).await;
    assert!(
        rejected.text.contains("queued-acquires") && rejected.text.contains("\"client\":"),
        "{rejected:?}"
    );
    nodes.delete(0, b"lock:a").await;
    assert_eq!(acquires.await.unwrap().status, 200);
}
