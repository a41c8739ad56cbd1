//! Nodes that send arbitrary replies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

use crate::api::lock_path;
use crate::support::fake_servers::FakeServer;
use crate::support::process::ConsoleProcess;
use crate::support::redis_nodes::RedisNodes;

/// A RESP reply, well formed or nearly so; some announce a length far beyond their content.
fn any_reply() -> impl Strategy<Value = Vec<u8>> {
    let text = "[ -~]{0,30}|[0-9]{1,20}|lock:a|OK|role:master\r\nredis_version:7.0.15\r\nrun_id:[0-9a-f]{4}";
    let text = proptest::string::string_regex(text).unwrap();
    let leaf = prop_oneof![
        4 => text.prop_map(|text| format!("${}\r\n{text}\r\n", text.len()).into_bytes()),
        2 => "[+-][ -~]{0,30}\r\n".prop_map(String::into_bytes),
        2 => any::<i64>().prop_map(|n| format!(":{n}\r\n").into_bytes()),
        1 => proptest::sample::select(vec!["_\r\n", "#t\r\n", "$-1\r\n", "*-1\r\n", ",nan\r\n", ",1.5e308\r\n", "(99999999999999999999\r\n",
            "$9223372036854775807\r\n", "*2147483647\r\n", "%1000000\r\n", "$-5\r\n", "-LOADING x\r\n", "-MOVED 1 127.0.0.1:1\r\n", "-NOAUTH x\r\n", "+OK\r\n"])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
    ];
    leaf.prop_recursive(3, 30, 6, |inner| {
        (
            proptest::sample::select(vec!['*', '*', '%', '~', '>']),
            proptest::collection::vec(inner, 0..6),
        )
            .prop_map(|(kind, parts)| {
                let count = if kind == '%' {
                    parts.len() / 2
                } else {
                    parts.len()
                };
                [format!("{kind}{count}\r\n").into_bytes(), parts.concat()].concat()
            })
    })
}

/// A server that sends a different sequence of replies on each connection.
async fn any_server(seed: u64) -> FakeServer {
    let next_seed = Arc::new(AtomicU64::new(seed));
    FakeServer::with_replies(move || {
        let mut seed = [0; 32];
        let connection_seed = next_seed.fetch_add(1, Ordering::Relaxed);
        seed[..8].copy_from_slice(&connection_seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        move || any_reply().new_tree(&mut runner).unwrap().current()
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arbitrary_replies_of_two_nodes_neither_crash_the_console_nor_exhaust_its_memory() {
    for round in 0..super::case_count(3) {
        let nodes = RedisNodes::start(1).await;
        nodes.set(0, b"lock:a", b"owner-a", Some(600_000)).await;
        let fakes = [
            any_server(u64::from(round) << 32).await,
            any_server((u64::from(round) << 32) | 1 << 31).await,
        ];
        let mut arguments = Vec::new();
        let real = format!("redis://127.0.0.1:{}", nodes.0[0].port());
        for url in [&real, &fakes[0].url(), &fakes[1].url()] {
            arguments.extend(["--redis".to_owned(), url.clone()]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let console = ConsoleProcess::start(&arguments).await;
        let api = &console.api;
        let before = console.resident_bytes();
        for _ in 0..15 {
            for path in [
                "/api/v1/groups",
                "/api/v1/locks",
                "/api/v1/waits",
                "/api/v1/groups/default/findings",
                "/metrics",
                "/nodes",
            ] {
                let response = api.get(path).await;
                assert_eq!(response.status, 200, "{path}: {}", response.text);
            }
            let key = lock_path("default", b"lock:a", "");
            let lock = api.get(&key).await;
            assert!([200, 404, 503].contains(&lock.status), "{}", lock.text);
            let key = lock_path("default", b"lock:b", "/acquire");
            let acquired = api.post(&key, json!({"ttl_ms": 1000})).await;
            assert!(
                [201, 409, 422, 503].contains(&acquired.status),
                "{}",
                acquired.text
            );
        }
        let growth = console.resident_bytes().saturating_sub(before);
        assert!(growth < 256 << 20, "memory grew by {growth} bytes");
        let output = console.stop().await;
        assert!(!output.contains("panicked"), "{output}");
    }
}
