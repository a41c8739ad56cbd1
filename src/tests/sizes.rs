//! Requests that are too large, too long, too slow or none at all; and everybody else goes on being served.

use std::net::SocketAddr;
use std::time::Duration;

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::LimitsConfig;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::api::{group, lock_path};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

async fn console(nodes: &RedisNodes, limits: LimitsConfig) -> TestConsole {
    TestConsole::start_within(vec![group("jobs", nodes)], limits, Clock::real()).await
}

/// Says these bytes over a connection of its own and hears what comes back until it is closed.
pub async fn raw(address: SocketAddr, says: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // It may be refused and closed before everything is said.
    let _as_far_as_it_goes = stream.write_all(says).await;
    heard(&mut stream).await
}

async fn heard(stream: &mut TcpStream) -> String {
    let mut heard = Vec::new();
    let until_closed = stream.read_to_end(&mut heard);
    let _closed_either_way = timeout(Duration::from_secs(10), until_closed)
        .await
        .expect("the connection is closed");
    String::from_utf8_lossy(&heard).into_owned()
}

pub fn status(answer: &str) -> u16 {
    let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
    status.unwrap_or_else(|| panic!("no answer: {answer:?}"))
}

async fn is_served(console: &TestConsole) {
    assert_eq!(console.person().get("/api/v1/groups").await.status, 200);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_however_it_is_sent() {
    let nodes = RedisNodes::start(1).await;
    let console = console(&nodes, LimitsConfig::default()).await;
    let most = 131_072;
    let padded = |size: usize| {
        let body = "{\"ttl_ms\":60000}";
        format!("{body}{}", " ".repeat(size - body.len()))
    };
    let path = lock_path("jobs", b"lock:big", "/acquire");
    let json_type = [("content-type", "application/json")];
    let person = console.person();
    let large = person
        .send("POST", &path, &json_type, padded(most + 1))
        .await;
    large.is(413, "too-large");

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
    for (size, expected) in [(most + 1, 413), (1_000_000, 413), (30_000_000, 413)] {
        let answer = raw(console.address, &chunked(&path, &padded(size))).await;
        // A client that cannot be stopped loses its connection, with or without hearing why.
        if size < 2_000_000 || !answer.is_empty() {
            assert_eq!(status(&answer), expected, "{size}: {answer}");
            assert!(answer.contains("too-large"), "{answer}");
        }
        is_served(&console).await;
    }
    assert!(nodes.dump(0).await.is_empty());

    // A gigabyte that is announced and never sent is not waited for.
    let announced = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 1000000000\r\n\r\n",
        console.address
    );
    let answer = raw(console.address, announced.as_bytes()).await;
    assert_eq!(status(&answer), 413, "{answer}");

    let fits = raw(console.address, &chunked(&path, &padded(most))).await;
    assert_eq!(status(&fits), 201, "{fits}");
    let cut = b"POST /api/v1/groups/jobs/locks/a/acquire HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
        transfer-encoding: chunked\r\n\r\nzz\r\n";
    let nonsense = raw(console.address, cut).await;
    assert_eq!(status(&nonsense), 400, "{nonsense}");
}

#[tokio::test]
async fn an_address_that_is_too_long_is_refused_and_the_longest_key_is_not() {
    let nodes = RedisNodes::start(1).await;
    let console = console(&nodes, LimitsConfig::default()).await;
    let person = console.person();
    let body = json!({"ttl_ms": 60_000});
    let longest = vec![0xee; 16 * 1024];
    let path = lock_path("jobs", &longest, "/acquire");
    assert_eq!(person.post(&path, body.clone()).await.status, 201);
    nodes.delete(0, &longest).await;
    let fences = nodes.dump(0).await;

    let longer = lock_path("jobs", &vec![0xee; 16 * 1024 + 1], "/acquire");
    let longer = person.post(&longer, body.clone()).await;
    longer.is(422, "impossible");
    assert_eq!(longer.json()["field"], "key");
    let too_long = lock_path("jobs", &vec![0xee; 18 * 1024], "/acquire");
    let too_long = person.post(&too_long, body).await;
    too_long.is(414, "address-too-long");
    let query = person
        .get(&format!("/api/v1/locks?q={}", "a".repeat(60_000)))
        .await;
    query.is(414, "address-too-long");
    // Beyond what the HTTP library reads, it answers by itself.
    for (size, expected) in [(70_000, 414), (500_000, 431)] {
        let request = format!(
            "GET /api/v1/locks?q={} HTTP/1.1\r\nhost: localhost\r\n\r\n",
            "a".repeat(size)
        );
        let answer = raw(console.address, request.as_bytes()).await;
        assert!(
            answer.is_empty() || status(&answer) == expected,
            "{size}: {answer}"
        );
        is_served(&console).await;
    }
    assert_eq!(
        nodes.dump(0).await,
        fences,
        "a refused request left something"
    );
}

#[tokio::test]
async fn headers_that_are_too_many_or_too_long_are_refused() {
    let nodes = RedisNodes::start(1).await;
    let console = console(&nodes, LimitsConfig::default()).await;
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
        let answer = raw(console.address, get(&headers).as_bytes()).await;
        assert_eq!(status(&answer), expected, "{answer}");
        let problem = expected == 431;
        assert_eq!(
            answer.contains("\"headers-too-large\""),
            problem,
            "{answer}"
        );
    }
    // Beyond what the HTTP library reads, it answers by itself.
    for headers in [many(99), many(10_000), long(200_000), long(5_000_000)] {
        let answer = raw(console.address, get(&headers).as_bytes()).await;
        assert!(answer.is_empty() || status(&answer) == 431, "{answer}");
        is_served(&console).await;
    }
}

#[tokio::test]
async fn a_slow_client_is_let_go_and_holds_up_nobody() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        read_timeout: Duration::from_millis(300),
        ..LimitsConfig::default()
    };
    let console = console(&nodes, limits).await;
    let mut slow = Vec::new();
    for _ in 0..50 {
        let mut stream = TcpStream::connect(console.address).await.unwrap();
        stream
            .write_all(b"GET /api/v1/groups HTTP/1.1\r\nhost: localhost\r\nx-slow: ")
            .await
            .unwrap();
        slow.push(stream);
    }
    is_served(&console).await;
    for mut stream in slow {
        assert!(!heard(&mut stream).await.contains(" 200 "));
    }
    let path = lock_path("jobs", b"lock:slow", "/acquire");
    let half = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{\"ttl"
    );
    let answer = raw(console.address, half.as_bytes()).await;
    assert_eq!(status(&answer), 408, "{answer}");
    assert!(answer.contains("\"too-slow\""), "{answer}");
    is_served(&console).await;
    assert!(nodes.dump(0).await.is_empty());
}

#[tokio::test]
async fn what_is_not_http_is_hung_up_on() {
    let nodes = RedisNodes::start(1).await;
    let console = console(&nodes, LimitsConfig::default()).await;
    let every_byte: Vec<u8> = (0..=255).collect();
    for nonsense in [
        &b"PING\r\n\r\n"[..],
        b"\r\n\r\n\r\n\r\nGET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /api/v1/groups HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"GET /api/v1/groups HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n",
        &every_byte,
    ] {
        let answer = raw(console.address, nonsense).await;
        assert!(answer.is_empty() || status(&answer) >= 400, "{answer}");
        is_served(&console).await;
    }
}
