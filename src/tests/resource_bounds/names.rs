//! The maximum length of a key, and the bound on the memory of all keys.

use serde_json::Value;

use super::{MB, start_process};
use crate::api::group_config;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

#[tokio::test]
async fn keys_that_are_too_long_are_skipped_counted_and_reported_by_the_doctor() {
    let nodes = RedisNodes::start(1).await;
    let mut long = b"lock:long".to_vec();
    long.resize(16 * 1024 + 1, b'x');
    nodes.set(0, &long, b"owner", Some(600_000)).await;
    let max_length_key = &long[..16 * 1024];
    nodes.set(0, max_length_key, b"owner", Some(600_000)).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    let lengths = async || {
        let response = api.get("/api/v1/locks?limit=10").await.json();
        let locks = response["locks"].as_array().unwrap().iter();
        let lengths = locks.map(|lock| lock["key"].as_str().unwrap().len());
        lengths.collect::<Vec<_>>()
    };
    wait_until(
        "a scan pass has ended and the key of maximum length is listed",
        async || {
            let groups = api.get("/api/v1/groups").await.json();
            let passes = groups["groups"][0]["coverage"]["passes"].as_u64();
            passes > Some(0) && lengths().await.contains(&(16 * 1024))
        },
    )
    .await;
    // A change notification for such a key is skipped too.
    long[5] = b'L';
    nodes.set(0, &long, b"owner", Some(600_000)).await;
    nodes.set(0, b"lock:a", b"owner", Some(600_000)).await;
    wait_until("the lock that was written later is listed", async || {
        lengths().await.contains(&b"lock:a".len())
    })
    .await;
    let listed = lengths().await;
    assert!(
        listed.iter().all(|length| *length <= 16 * 1024),
        "{listed:?}"
    );
    let groups = api.get("/api/v1/groups").await.json();
    let coverage = &groups["groups"][0]["coverage"];
    assert_eq!(coverage["keys_skipped"], 1, "{coverage}");
    let diagnosis = api.get("/api/v1/groups/orders/findings").await.json();
    let finding_codes = finding_codes(&diagnosis);
    assert!(
        finding_codes.contains(&"names-skipped".to_owned()),
        "{finding_codes:?}"
    );
}

fn finding_codes(diagnosis: &Value) -> Vec<String> {
    let findings = diagnosis["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding["code"].as_str().unwrap().to_owned())
        .collect()
}

/// Writes keys while the console scans, and returns the growth of its memory in megabytes.
async fn memory_growth_mb(count: usize, bytes: usize) -> u64 {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:a", b"owner", None).await;
    let (console, _directory) = start_process(&nodes, "").await;
    let api = &console.api;
    let passes = async || {
        let groups = api.get("/api/v1/groups").await.json();
        groups["groups"][0]["coverage"]["passes"].as_u64().unwrap()
    };
    wait_until("two scan passes have ended", async || passes().await > 1).await;
    let before = console.resident_bytes();
    let mut client = nodes.0[0].client().await;
    for n in 0..count {
        let mut key = format!("lock:{n}:").into_bytes();
        key.resize(bytes, b'x');
        let mut set = redis::cmd("SET");
        let () = set
            .arg(key)
            .arg("o")
            .query_async(&mut client)
            .await
            .unwrap();
    }
    // The current pass may have started before the last key was written.
    let passes_before = passes().await;
    wait_until("a full scan pass has ended", async || {
        passes().await > passes_before + 1
    })
    .await;
    let growth = console.resident_bytes().saturating_sub(before) / MB;
    eprintln!("{count} keys of {bytes} bytes take {growth} MB");
    growth
}

#[tokio::test]
async fn a_hundred_megabytes_of_keys_take_less_than_fifty_megabytes_of_memory() {
    for (count, bytes) in [(20, 5 * 1_048_576), (100, 1_048_576), (6_400, 16_384)] {
        let growth = memory_growth_mb(count, bytes).await;
        assert!(
            growth < 50,
            "{count} keys of {bytes} bytes take {growth} MB"
        );
    }
}
