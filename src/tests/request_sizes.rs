//! Requests that are too large, too long, too slow or not HTTP are rejected, and other requests are
//! still served.

use std::net::SocketAddr;
use std::time::Duration;

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::LimitsConfig;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::api::{group_config, lock_path};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

async fn start_console(nodes: &RedisNodes, limits: LimitsConfig) -> TestConsole {
    TestConsole::start_with_limits(vec![group_config("jobs", nodes)], limits, Clock::system()).await
}

/// Sends these bytes on a new connection and returns the response, read until the connection is
/// closed.
pub async fn send_raw(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The console may respond and close the connection before everything is sent.
    let _error_if_closed = stream.write_all(request).await;
    read_until_closed(&mut stream).await
}

async fn read_until_closed(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let until_closed = stream.read_to_end(&mut bytes);
    let _closed_or_reset = timeout(Duration::from_secs(10), until_closed)
        .await
        .expect("the connection is closed");
    String::from_utf8_lossy(&bytes).into_owned()
}

pub fn status(response: &str) -> u16 {
    let status = response
        .split(' ')
        .nth(1)
        .and_then(|word| word.parse().ok());
    status.unwrap_or_else(|| panic!("no response: {response:?}"))
}

async fn assert_requests_are_served(console: &TestConsole) {
    assert_eq!(console.api().get("/api/v1/groups").await.status, 200);
}

#[tokio::test]
async fn a_body_over_the_limit_is_rejected_with_and_without_chunked_encoding() {
    let nodes = RedisNodes::start(1).await;
    let console = start_console(&nodes, LimitsConfig::default()).await;
    let max_size = 131_072;
    let padded = |size: usize| {
        let body = "{\"ttl_ms\":60000}";
        format!("{body}{}", " ".repeat(size - body.len()))
    };
    let path = lock_path("jobs", b"lock:big", "/acquire");
    let json_type = [("content-type", "application/json")];
    let api = console.api();
    let large = api
        .send("POST", &path, &json_type, padded(max_size + 1))
        .await;
    large.assert_problem(413, "payload-too-large");

    let chunked = |path: &str, body: &str| {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nconnection: close\r\n\
             transfer-encoding: chunked\r\n\r\n",
            console.address
        );
        let chunk = |part: &[u8]| {
            let part = String::from_utf8_lossy(part);
            format!("{:x}\r\n{part}\r\n", part.len())
        };
        let body: String = body.as_bytes().chunks(10_000).map(chunk).collect();
        format!("{head}{body}0\r\n\r\n").into_bytes()
    };
    for (size, expected) in [(max_size + 1, 413), (1_000_000, 413), (30_000_000, 413)] {
        let response = send_raw(console.address, &chunked(&path, &padded(size))).await;
        // A client that continues to send may lose its connection before it can read the response.
        if size < 2_000_000 || !response.is_empty() {
            assert_eq!(status(&response), expected, "{size}: {response}");
            assert!(response.contains("payload-too-large"), "{response}");
        }
        assert_requests_are_served(&console).await;
    }
    assert!(nodes.dump(0).await.is_empty());

    // The console does not wait for an announced gigabyte.
    let announced = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 1000000000\r\n\r\n",
        console.address
    );
    let response = send_raw(console.address, announced.as_bytes()).await;
    assert_eq!(status(&response), 413, "{response}");

    let fits = send_raw(console.address, &chunked(&path, &padded(max_size))).await;
    assert_eq!(status(&fits), 201, "{fits}");
    let invalid_chunk = b"POST /api/v1/groups/jobs/locks/a/acquire HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
        transfer-encoding: chunked\r\n\r\nzz\r\n";
    let rejected = send_raw(console.address, invalid_chunk).await;
    assert_eq!(status(&rejected), 400, "{rejected}");
}

#[tokio::test]
async fn a_url_over_the_limit_is_rejected_and_the_longest_key_is_accepted() {
    let nodes = RedisNodes::start(1).await;
    let console = start_console(&nodes, LimitsConfig::default()).await;
    let api = console.api();
    let body = json!({"ttl_ms": 60_000});
    let longest = vec![0xee; 16 * 1024];
    let path = lock_path("jobs", &longest, "/acquire");
    assert_eq!(api.post(&path, body.clone()).await.status, 201);
    nodes.delete(0, &longest).await;
    let fences = nodes.dump(0).await;

    let longer = lock_path("jobs", &vec![0xee; 16 * 1024 + 1], "/acquire");
    let longer = api.post(&longer, body.clone()).await;
    longer.assert_problem(422, "impossible");
    assert_eq!(longer.json()["field"], "key");
    let too_long = lock_path("jobs", &vec![0xee; 18 * 1024], "/acquire");
    let too_long = api.post(&too_long, body).await;
    too_long.assert_problem(414, "uri-too-long");
    let query = api
        .get(&format!("/api/v1/locks?q={}", "a".repeat(60_000)))
        .await;
    query.assert_problem(414, "uri-too-long");
    // Beyond the limits of the HTTP library, the library responds itself.
    for (size, expected) in [(70_000, 414), (500_000, 431)] {
        let request = format!(
            "GET /api/v1/locks?q={} HTTP/1.1\r\nhost: localhost\r\n\r\n",
            "a".repeat(size)
        );
        let response = send_raw(console.address, request.as_bytes()).await;
        assert!(
            response.is_empty() || status(&response) == expected,
            "{size}: {response}"
        );
        assert_requests_are_served(&console).await;
    }
    assert_eq!(
        nodes.dump(0).await,
        fences,
        "a rejected request changed a key"
    );
}

#[tokio::test]
async fn too_many_or_too_long_headers_are_rejected() {
    let nodes = RedisNodes::start(1).await;
    let console = start_console(&nodes, LimitsConfig::default()).await;
    let get = |headers: &str| {
        format!(
            "GET /api/v1/groups HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n"
        )
    };
    let many = |n: usize| (0..n).map(|n| format!("x-{n}: y\r\n")).collect::<String>();
    let long = |size: usize| format!("x: {}\r\n", "y".repeat(size));
    for (headers, expected) in [
        (many(62), 200),
        (many(63), 431),
        (many(98), 431),
        (long(32_000), 200),
        (long(33_000), 431),
        (long(100_000), 431),
    ] {
        let response = send_raw(console.address, get(&headers).as_bytes()).await;
        assert_eq!(status(&response), expected, "{response}");
        let problem = expected == 431;
        assert_eq!(
            response.contains("\"headers-too-large\""),
            problem,
            "{response}"
        );
    }
    // Beyond the limits of the HTTP library, the library responds itself.
    for headers in [many(99), many(10_000), long(200_000), long(5_000_000)] {
        let response = send_raw(console.address, get(&headers).as_bytes()).await;
        assert!(
            response.is_empty() || status(&response) == 431,
            "{response}"
        );
        assert_requests_are_served(&console).await;
    }
}

#[tokio::test]
async fn slow_clients_time_out_and_do_not_delay_others() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        read_timeout: Duration::from_millis(300),
        ..LimitsConfig::default()
    };
    let console = start_console(&nodes, limits).await;
    let mut slow = Vec::new();
    for _ in 0..50 {
        let mut stream = TcpStream::connect(console.address).await.unwrap();
        stream
            .write_all(b"GET /api/v1/groups HTTP/1.1\r\nhost: localhost\r\nx-slow: ")
            .await
            .unwrap();
        slow.push(stream);
    }
    assert_requests_are_served(&console).await;
    for mut stream in slow {
        assert!(!read_until_closed(&mut stream).await.contains(" 200 "));
    }
    let path = lock_path("jobs", b"lock:slow", "/acquire");
    let half = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{\"ttl"
    );
    let response = send_raw(console.address, half.as_bytes()).await;
    assert_eq!(status(&response), 408, "{response}");
    assert!(response.contains("\"request-timeout\""), "{response}");
    assert_requests_are_served(&console).await;
    assert!(nodes.dump(0).await.is_empty());
}

#[tokio::test]
async fn a_request_that_is_not_http_is_rejected() {
    let nodes = RedisNodes::start(1).await;
    let console = start_console(&nodes, LimitsConfig::default()).await;
    let every_byte: Vec<u8> = (0..=255).collect();
    for request in [
        &b"PING\r\n\r\n"[..],
        b"\r\n\r\n\r\n\r\nGET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /api/v1/groups HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"GET /api/v1/groups HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n",
        &every_byte,
    ] {
        let response = send_raw(console.address, request).await;
        assert!(response.is_empty() || status(&response) >= 400, "{response}");
        assert_requests_are_served(&console).await;
    }
}
