//! What is too much at once is refused clearly, and everybody else goes on being served.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, Config, LimitsConfig};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;

use crate::api::{group, lock_path};
use crate::sizes::{raw, status};
use crate::support::console::{Answer, Person, TestConsole};
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// A console on one node within these limits.
async fn console(nodes: &RedisNodes, limits: LimitsConfig) -> TestConsole {
    TestConsole::start_within(vec![group("jobs", nodes)], limits, Clock::real()).await
}

/// So many locks that somebody has.
async fn taken(nodes: &RedisNodes, n: u8) {
    for lock in 0..n {
        nodes
            .set(0, &[b'0' + lock], b"somebody", Some(600_000))
            .await;
    }
}

/// Makes them free.
async fn free(nodes: &RedisNodes, n: u8) {
    for lock in 0..n {
        nodes.delete(0, &[b'0' + lock]).await;
    }
}

/// Waits for one of them.
fn waiter(person: &Person, lock: u8) -> JoinHandle<Answer> {
    let (person, path) = (
        person.clone(),
        lock_path("jobs", &[b'0' + lock], "/acquire"),
    );
    let body = json!({"ttl_ms": 60_000, "wait_ms": 9_000});
    tokio::spawn(async move {
        loop {
            let answer = person.post(&path, body.clone()).await;
            // Whoever asks whether there is room takes a place for a moment.
            if answer.status != 429 {
                return answer;
            }
        }
    })
}

/// Asks whether one more may wait, and waits no longer than it takes to ask.
async fn may_wait(person: &Person) -> Result<(), String> {
    let path = lock_path("jobs", b"0", "/acquire");
    let answer = person
        .post(&path, json!({"ttl_ms": 60_000, "wait_ms": 1}))
        .await;
    if answer.status == 429 {
        return Err(limit_that_was_reached(&answer));
    }
    assert_eq!(answer.code(), "held");
    Ok(())
}

/// The name of the limit that the answer speaks of.
fn limit_that_was_reached(answer: &Answer) -> String {
    answer.is(429, "too-many-requests");
    let after: u64 = answer.headers["retry-after"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    let problem = answer.json();
    assert_eq!(
        problem["retry_after_ms"].as_u64().unwrap().div_ceil(1_000),
        after
    );
    let detail = problem["detail"].as_str().unwrap();
    detail.split('`').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn so_many_requests_may_wait_for_one_client_and_in_all() {
    let nodes = RedisNodes::start(1).await;
    taken(&nodes, 3).await;
    let limits = LimitsConfig {
        waiting: 3,
        waiting_per_client: 2,
        ..LimitsConfig::default()
    };
    let console = console(&nodes, limits).await;
    let (one, other) = (
        console.person(),
        console.person().calling_from([127, 0, 0, 2]),
    );
    let mut waiting = vec![waiter(&one, 0), waiter(&one, 1)];
    eventually_is("two wait", async || may_wait(&one).await.is_err()).await;
    assert_eq!(may_wait(&one).await.unwrap_err(), "waiting_per_client");
    assert_eq!(may_wait(&other).await, Ok(()));
    waiting.push(waiter(&other, 2));
    // Asked for the one that may have no more anyway: whoever asks for the other takes its place for a moment.
    eventually_is("three wait", async || {
        may_wait(&one).await == Err("waiting".to_owned())
    })
    .await;
    assert_eq!(may_wait(&other).await.unwrap_err(), "waiting");

    // One try is no waiting.
    let path = lock_path("jobs", b"0", "/acquire");
    let tried = one.post(&path, json!({"ttl_ms": 60_000})).await;
    tried.is(409, "held");

    // Who hangs up makes room, and so does who got what it waited for.
    waiting.remove(0).abort();
    eventually_is("there is room", async || may_wait(&one).await.is_ok()).await;
    free(&nodes, 3).await;
    for waiter in waiting {
        assert_eq!(waiter.await.unwrap().status, 201);
    }
}

#[tokio::test]
async fn so_many_event_streams_may_be_open_for_one_client_and_in_all() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        streams: 3,
        streams_per_client: 2,
        ..LimitsConfig::default()
    };
    let console = console(&nodes, limits).await;
    let (one, other) = (
        console.person(),
        console.person().calling_from([127, 0, 0, 2]),
    );
    let mut open = vec![one.watch("", None).await, one.watch("", None).await];
    let refused = one.get("/api/v1/events").await;
    assert_eq!(limit_that_was_reached(&refused), "streams_per_client");
    open.push(other.watch("", None).await);
    let refused = other.get("/api/v1/events").await;
    assert_eq!(limit_that_was_reached(&refused), "streams");
    for stream in &mut open {
        assert_eq!(stream.next().await.unwrap().event, "snapshot");
    }
    drop(open);
    eventually_is("there is room", async || {
        let request = format!(
            "GET /api/v1/events HTTP/1.1\r\nhost: {}\r\n\r\n",
            console.address
        );
        let mut stream = TcpStream::connect(console.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        &head == b"HTTP/1.1 200"
    })
    .await;
}

#[tokio::test]
async fn so_many_requests_may_be_in_progress_and_the_console_says_that_it_lives() {
    let nodes = RedisNodes::start(1).await;
    taken(&nodes, 3).await;
    let limits = LimitsConfig {
        requests: 2,
        ..LimitsConfig::default()
    };
    let console = console(&nodes, limits).await;
    let person = console.person();
    let waiting = [waiter(&person, 0), waiter(&person, 1)];
    eventually_is("two are in progress", async || {
        person.get("/api/v1/groups").await.status == 429
    })
    .await;
    let refused = person.get("/api/v1/locks").await;
    assert_eq!(limit_that_was_reached(&refused), "requests");
    assert_eq!(person.get("/healthz").await.status, 200);
    free(&nodes, 3).await;
    for waiter in waiting {
        assert_eq!(waiter.await.unwrap().status, 201);
    }
    assert_eq!(person.get("/api/v1/groups").await.status, 200);
}

#[tokio::test]
async fn a_client_that_asks_too_often_is_told_when_to_come_back() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        requests_per_second: Some(5),
        ..LimitsConfig::default()
    };
    let console = console(&nodes, limits).await;
    let (one, other) = (
        console.person(),
        console.person().calling_from([127, 0, 0, 2]),
    );
    let mut statuses = Vec::new();
    // More than five a second even on a busy machine: in a second they would be 100.
    for _ in 0..100 {
        let answer = one.get("/api/v1/groups").await;
        if answer.status == 429 {
            assert_eq!(limit_that_was_reached(&answer), "requests_per_second");
        }
        statuses.push(answer.status);
    }
    assert_eq!(statuses[..5], [200; 5]);
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(other.get("/api/v1/groups").await.status, 200);
    eventually_is("it may ask again", async || {
        one.get("/api/v1/groups").await.status == 200
    })
    .await;
}

#[tokio::test]
async fn so_many_connections_may_be_open() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        connections: 2,
        ..LimitsConfig::default()
    };
    let console = console(&nodes, limits).await;
    let open = [
        TcpStream::connect(console.address).await.unwrap(),
        TcpStream::connect(console.address).await.unwrap(),
    ];
    let request = b"GET /api/v1/groups HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let refused = raw(console.address, request).await;
    assert_eq!(status(&refused), 429, "{refused}");
    let (head, body) = refused.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}", body.len())));
    assert!(head.contains("retry-after: 1") && body.contains("`connections`"));
    drop(open);
    eventually_is("there is room", async || {
        status(&raw(console.address, request).await) == 200
    })
    .await;
}

#[tokio::test]
async fn one_client_takes_its_own_connections_and_nobody_elses_however_slowly_it_speaks() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        connections: 8,
        connections_per_client: 3,
        ..LimitsConfig::default()
    };
    let console = console(&nodes, limits).await;
    let request = b"GET /api/v1/groups HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    // Neither says a whole head, nor hangs up.
    let mut slow = Vec::new();
    for _ in 0..3 {
        let mut one = TcpStream::connect(console.address).await.unwrap();
        one.write_all(b"GET / HTTP/1.1\r\nx: ").await.unwrap();
        slow.push(one);
    }
    let refused = raw(console.address, request).await;
    assert_eq!(status(&refused), 429, "{refused}");
    assert!(refused.contains("`connections_per_client`") && refused.contains("127.0.0.1"));
    let other = console.person().calling_from([127, 0, 0, 2]);
    assert_eq!(other.get("/api/v1/groups").await.status, 200);
    drop(slow.pop());
    eventually_is("what is given back can be taken", async || {
        status(&raw(console.address, request).await) == 200
    })
    .await;
}

#[tokio::test]
async fn a_listed_proxy_has_as_many_connections_as_its_callers_need() {
    let nodes = RedisNodes::start(1).await;
    let config = Config {
        limits: LimitsConfig {
            connections_per_client: 1,
            ..LimitsConfig::default()
        },
        access: AccessConfig {
            proxies: vec!["127.0.0.1/32".parse().unwrap()],
            ..AccessConfig::default()
        },
        ..Config::of(vec![nodes.config()])
    };
    let console = TestConsole::start_as(config, Clock::real()).await;
    let request = b"GET /api/v1/groups HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(TcpStream::connect(console.address).await.unwrap());
    }
    assert_eq!(status(&raw(console.address, request).await), 200);
    // Whoever calls beside it is one client as ever.
    let beside = async || {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.3:0".parse().unwrap()).unwrap();
        socket.connect(console.address).await.unwrap()
    };
    let _first = beside().await;
    let mut second = beside().await;
    let mut answer = String::new();
    second.read_to_string(&mut answer).await.unwrap();
    assert_eq!(status(&answer), 429, "{answer}");
}
