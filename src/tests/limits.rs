//! Rate and concurrency limits: a client over a limit is rejected with the name of the limit, and
//! other clients are still served.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, Config, LimitsConfig};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;

use crate::api::{group_config, lock_path};
use crate::request_sizes::{send_raw, status};
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// Starts a console on one node with these limits.
async fn start_console(nodes: &RedisNodes, limits: LimitsConfig) -> TestConsole {
    TestConsole::start_with_limits(vec![group_config("jobs", nodes)], limits, Clock::system()).await
}

/// Creates `n` locks that another owner holds.
async fn hold_locks(nodes: &RedisNodes, n: u8) {
    for lock in 0..n {
        nodes.set(0, &[b'0' + lock], b"owner", Some(600_000)).await;
    }
}

/// Deletes these locks.
async fn delete_locks(nodes: &RedisNodes, n: u8) {
    for lock in 0..n {
        nodes.delete(0, &[b'0' + lock]).await;
    }
}

/// Sends an acquire request that waits for one of them, again while the response is 429.
fn spawn_waiting_acquire(api: &ApiClient, lock: u8) -> JoinHandle<ApiResponse> {
    let (api, path) = (api.clone(), lock_path("jobs", &[b'0' + lock], "/acquire"));
    let body = json!({"ttl_ms": 60_000, "wait_ms": 9_000});
    tokio::spawn(async move {
        loop {
            let response = api.post(&path, body.clone()).await;
            // `try_to_queue` itself occupies a slot for a moment.
            if response.status != 429 {
                return response;
            }
        }
    })
}

/// Sends an acquire request that waits for 1 ms. Fails with the name of the limit if the request
/// may not wait.
async fn try_to_queue(api: &ApiClient) -> Result<(), String> {
    let path = lock_path("jobs", b"0", "/acquire");
    let response = api
        .post(&path, json!({"ttl_ms": 60_000, "wait_ms": 1}))
        .await;
    if response.status == 429 {
        return Err(exceeded_limit(&response));
    }
    assert_eq!(response.problem_code(), "held");
    Ok(())
}

/// Returns the name of the limit in a 429 response.
fn exceeded_limit(response: &ApiResponse) -> String {
    response.assert_problem(429, "too-many-requests");
    let retry_after: u64 = response.headers["retry-after"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    let problem = response.json();
    assert_eq!(
        problem["retry_after_ms"].as_u64().unwrap().div_ceil(1_000),
        retry_after
    );
    let detail = problem["detail"].as_str().unwrap();
    detail.split('`').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn waiting_acquires_are_limited_per_client_and_in_total() {
    let nodes = RedisNodes::start(1).await;
    hold_locks(&nodes, 3).await;
    let limits = LimitsConfig {
        max_queued_acquires: 3,
        max_queued_acquires_per_client: 2,
        ..LimitsConfig::default()
    };
    let console = start_console(&nodes, limits).await;
    let (client, other_client) = (
        console.api(),
        console.api().with_local_address([127, 0, 0, 2]),
    );
    let mut waiting = vec![
        spawn_waiting_acquire(&client, 0),
        spawn_waiting_acquire(&client, 1),
    ];
    wait_until("two requests wait", async || {
        try_to_queue(&client).await.is_err()
    })
    .await;
    assert_eq!(
        try_to_queue(&client).await.unwrap_err(),
        "max_queued_acquires_per_client"
    );
    assert_eq!(try_to_queue(&other_client).await, Ok(()));
    waiting.push(spawn_waiting_acquire(&other_client, 2));
    // The first client probes, as it is over its own limit anyway: a probe by the other client
    // would occupy the last slot.
    wait_until("three requests wait", async || {
        try_to_queue(&client).await == Err("max_queued_acquires".to_owned())
    })
    .await;
    assert_eq!(
        try_to_queue(&other_client).await.unwrap_err(),
        "max_queued_acquires"
    );

    // A single attempt does not wait and needs no slot.
    let path = lock_path("jobs", b"0", "/acquire");
    let response = client.post(&path, json!({"ttl_ms": 60_000})).await;
    response.assert_problem(409, "held");

    // A closed connection frees its slot, and so does an acquired lock.
    waiting.remove(0).abort();
    wait_until("a slot is free", async || {
        try_to_queue(&client).await.is_ok()
    })
    .await;
    delete_locks(&nodes, 3).await;
    for waiter in waiting {
        assert_eq!(waiter.await.unwrap().status, 201);
    }
}

#[tokio::test]
async fn event_streams_are_limited_per_client_and_in_total() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        max_streams: 3,
        max_streams_per_client: 2,
        ..LimitsConfig::default()
    };
    let console = start_console(&nodes, limits).await;
    let (client, other_client) = (
        console.api(),
        console.api().with_local_address([127, 0, 0, 2]),
    );
    let mut open = vec![
        client.subscribe("", None).await,
        client.subscribe("", None).await,
    ];
    let rejected = client.get("/api/v1/events").await;
    assert_eq!(exceeded_limit(&rejected), "max_streams_per_client");
    open.push(other_client.subscribe("", None).await);
    let rejected = other_client.get("/api/v1/events").await;
    assert_eq!(exceeded_limit(&rejected), "max_streams");
    for stream in &mut open {
        assert_eq!(stream.next().await.unwrap().event, "snapshot");
    }
    drop(open);
    wait_until("a slot is free", async || {
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
async fn concurrent_requests_are_limited_and_health_checks_are_exempt() {
    let nodes = RedisNodes::start(1).await;
    hold_locks(&nodes, 3).await;
    let limits = LimitsConfig {
        max_requests: 2,
        ..LimitsConfig::default()
    };
    let console = start_console(&nodes, limits).await;
    let api = console.api();
    let waiting = [
        spawn_waiting_acquire(&api, 0),
        spawn_waiting_acquire(&api, 1),
    ];
    wait_until("two requests are in progress", async || {
        api.get("/api/v1/groups").await.status == 429
    })
    .await;
    let rejected = api.get("/api/v1/locks").await;
    assert_eq!(exceeded_limit(&rejected), "max_requests");
    assert_eq!(api.get("/healthz").await.status, 200);
    delete_locks(&nodes, 3).await;
    for waiter in waiting {
        assert_eq!(waiter.await.unwrap().status, 201);
    }
    assert_eq!(api.get("/api/v1/groups").await.status, 200);
}

#[tokio::test]
async fn a_client_over_the_request_rate_receives_retry_after() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        max_requests_per_second: Some(5),
        ..LimitsConfig::default()
    };
    let console = start_console(&nodes, limits).await;
    let (client, other_client) = (
        console.api(),
        console.api().with_local_address([127, 0, 0, 2]),
    );
    let mut statuses = Vec::new();
    // 100 requests exceed five a second even on a busy machine.
    for _ in 0..100 {
        let response = client.get("/api/v1/groups").await;
        if response.status == 429 {
            assert_eq!(exceeded_limit(&response), "max_requests_per_second");
        }
        statuses.push(response.status);
    }
    assert_eq!(statuses[..5], [200; 5]);
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(other_client.get("/api/v1/groups").await.status, 200);
    wait_until("the client may send requests again", async || {
        client.get("/api/v1/groups").await.status == 200
    })
    .await;
}

#[tokio::test]
async fn connections_are_limited_in_total() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        max_connections: 2,
        ..LimitsConfig::default()
    };
    let console = start_console(&nodes, limits).await;
    let open = [
        TcpStream::connect(console.address).await.unwrap(),
        TcpStream::connect(console.address).await.unwrap(),
    ];
    let request = b"GET /api/v1/groups HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let rejected = send_raw(console.address, request).await;
    assert_eq!(status(&rejected), 429, "{rejected}");
    let (head, body) = rejected.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}", body.len())));
    assert!(head.contains("retry-after: 1") && body.contains("`max_connections`"));
    drop(open);
    wait_until("a slot is free", async || {
        status(&send_raw(console.address, request).await) == 200
    })
    .await;
}

#[tokio::test]
async fn slow_connections_of_one_client_do_not_use_up_those_of_others() {
    let nodes = RedisNodes::start(1).await;
    let limits = LimitsConfig {
        max_connections: 8,
        max_connections_per_client: 3,
        ..LimitsConfig::default()
    };
    let console = start_console(&nodes, limits).await;
    let request = b"GET /api/v1/groups HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    // These connections send an incomplete request head and stay open.
    let mut slow = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(console.address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nx: ").await.unwrap();
        slow.push(stream);
    }
    let rejected = send_raw(console.address, request).await;
    assert_eq!(status(&rejected), 429, "{rejected}");
    assert!(rejected.contains("`max_connections_per_client`") && rejected.contains("127.0.0.1"));
    let other_client = console.api().with_local_address([127, 0, 0, 2]);
    assert_eq!(other_client.get("/api/v1/groups").await.status, 200);
    drop(slow.pop());
    wait_until("the closed connection's slot is free", async || {
        status(&send_raw(console.address, request).await) == 200
    })
    .await;
}

#[tokio::test]
async fn a_trusted_proxy_is_exempt_from_the_connection_limit_per_client() {
    let nodes = RedisNodes::start(1).await;
    let config = Config {
        limits: LimitsConfig {
            max_connections_per_client: 1,
            ..LimitsConfig::default()
        },
        access: AccessConfig {
            trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()],
            ..AccessConfig::default()
        },
        ..Config::with_groups(vec![nodes.config()])
    };
    let console = TestConsole::start_with_config(config, Clock::system()).await;
    let request = b"GET /api/v1/groups HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(TcpStream::connect(console.address).await.unwrap());
    }
    assert_eq!(status(&send_raw(console.address, request).await), 200);
    // A client that connects directly still has the limit.
    let connect_directly = async || {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.3:0".parse().unwrap()).unwrap();
        socket.connect(console.address).await.unwrap()
    };
    let _first = connect_directly().await;
    let mut second = connect_directly().await;
    let mut response = String::new();
    second.read_to_string(&mut response).await.unwrap();
    assert_eq!(status(&response), 429, "{response}");
}
