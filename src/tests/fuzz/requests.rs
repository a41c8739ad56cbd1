//! Arbitrary requests: any bytes in the path, query, cookies, headers and body, and bytes that are
//! not HTTP.

use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::access::{api_token, start_console_with_access, user_config};
use crate::api::group_config;
use crate::support::WAIT_TIMEOUT;
use crate::support::redis_nodes::RedisNodes;

/// Bytes, mostly ones that HTTP permits.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => "[!-~]{0,40}".prop_map(String::into_bytes),
        2 => "(%[0-9a-fA-F]{2}|[a-z:/.?&=;,-]){0,40}".prop_map(String::into_bytes),
        1 => proptest::collection::vec(128_u8..=255, 0..20),
        1 => proptest::collection::vec(any::<u8>(), 0..60),
    ]
}

fn any_path() -> impl Strategy<Value = Vec<u8>> {
    let prefixes = [
        "/",
        "/api/v1/locks",
        "/api/v1/locks?",
        "/api/v1/locks?q=",
        "/api/v1/locks?cursor=",
        "/api/v1/groups/",
        "/api/v1/groups/orders/locks/",
        "/api/v1/groups/orders/locks/lock%3Aa/acquire",
        "/api/v1/groups/orders/findings",
        "/api/v1/events?since=",
        "/api/v1/events?pinned=",
        "/api/v1/audit?from=",
        "/api/v1/audit?cursor=",
        "/api/v1/audit/export?as=csv&q=",
        "/api/v1/owners?group_by=",
        "/groups/orders/locks/",
        "/?q=",
        "/audit?",
        "/owners?",
        "/sign-in?next=",
        "/pkg/",
        "/pkg/../",
        "/_fn/",
        "/api/docs/",
        "/api/openapi.json",
        "/metrics?",
        "/healthz",
    ];
    (proptest::sample::select(prefixes.to_vec()), any_bytes())
        .prop_map(|(prefix, rest)| [prefix.as_bytes(), &rest].concat())
}

/// A complete request as sent over the wire.
fn any_request(secret: String) -> impl Strategy<Value = Vec<u8>> {
    let method = prop_oneof![8 => Just("GET"), 3 => Just("POST"), 1 => proptest::sample::select(vec!["HEAD", "PUT", "OPTIONS", "TRACE", "get", "\0"])];
    let header = proptest::sample::select(vec![
        "cookie: lockkeeper=",
        "cookie: ",
        "last-event-id: ",
        "authorization: Bearer ",
        "authorization: ",
        "idempotency-key: ",
        "x-request-id: ",
        "x-forwarded-for: ",
        "x-forwarded-proto: ",
        "forwarded: ",
        "accept-encoding: ",
        "accept-language: ",
        "sec-fetch-site: ",
        "origin: ",
        "if-none-match: ",
        "content-length: ",
        "transfer-encoding: ",
        "content-type: ",
        "host: ",
        "expect: ",
        "range: ",
    ]);
    let headers = proptest::collection::vec((header, any_bytes()), 0..5);
    let body = prop_oneof![
        Just(Vec::new()),
        Just(br#"{"ttl_ms": 1000}"#.to_vec()),
        any_bytes(),
    ];
    let well_formed = (method, any_path(), headers, body, any::<bool>()).prop_map(
        move |(method, path, headers, body, is_authenticated)| {
            let mut request = [
                method.as_bytes(),
                b" ",
                &path,
                b" HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n",
            ]
            .concat();
            if is_authenticated {
                request.extend_from_slice(format!("authorization: Bearer {secret}\r\n").as_bytes());
            }
            for (name, value) in headers {
                request.extend_from_slice(name.as_bytes());
                request.extend_from_slice(&value);
                request.extend_from_slice(b"\r\n");
            }
            request.extend_from_slice(
                format!(
                    "content-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                )
                .as_bytes(),
            );
            request.extend_from_slice(&body);
            request
        },
    );
    prop_oneof![12 => well_formed, 1 => any_bytes()]
}

#[tokio::test]
async fn arbitrary_requests_cause_no_server_error() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:a", b"owner-a", Some(600_000)).await;
    let (secret, config) = api_token("script", RoleGrant::unrestricted(Role::Admin));
    let access = AccessConfig {
        users: vec![user_config("alice", RoleGrant::unrestricted(Role::Admin))],
        tokens: vec![config],
        ..AccessConfig::default()
    };
    let console = start_console_with_access(
        vec![group_config("orders", &nodes)],
        access,
        Clock::system(),
    )
    .await;
    let requests = any_request(secret);
    let mut runner = TestRunner::default();
    for _ in 0..super::case_count(150) {
        let request = requests.new_tree(&mut runner).unwrap().current();
        let mut stream = TcpStream::connect(console.address).await.unwrap();
        // The console may respond and close the connection before the whole request is sent.
        let _ = stream.write_all(&request).await;
        let _ = stream.shutdown().await;
        let mut response = vec![0; 16 * 1024];
        let mut read = 0;
        // The status line is enough: an event stream does not end.
        let reading = async {
            while read < 13
                && let Ok(n @ 1..) = stream.read(&mut response[read..]).await
            {
                read += n;
            }
        };
        timeout(WAIT_TIMEOUT, reading)
            .await
            .expect("a response, or the end of the connection");
        let status =
            std::str::from_utf8(response.get(9..12).unwrap_or_default()).unwrap_or_default();
        assert!(
            read == 0 || !status.starts_with('5'),
            "{}\n{}",
            request.escape_ascii(),
            String::from_utf8_lossy(&response[..read])
        );
    }
    assert_eq!(console.api().get("/healthz").await.status, 200);
}
