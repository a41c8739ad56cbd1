//! The latency of the change feed. The test prints the figure for the documentation and asserts a
//! bound far above the expected value.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::change_feed::start_with_feed;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn a_change_is_published_within_milliseconds_at_a_thousand_changes_per_second() {
    let nodes = RedisNodes::start(1).await;
    let (console, _api) = start_with_feed(&nodes).await;
    let mut events = console.api().subscribe("", None).await;
    events.next().await.unwrap();
    let mut client = nodes.0[0].client().await;
    let count: usize = 5_000;
    let writer = tokio::spawn(async move {
        let mut set_at = HashMap::with_capacity(count);
        let mut tick = tokio::time::interval(Duration::from_millis(2));
        for n in 0..count {
            if n % 2 == 0 {
                tick.tick().await;
            }
            let key = format!("lock:{n}");
            let mut set = redis::cmd("SET");
            set.arg(&key).arg("x").arg("NX").arg("PX").arg(60_000);
            let at = Instant::now();
            let () = set.query_async(&mut client).await.unwrap();
            set_at.insert(key, at);
        }
        set_at
    });
    let mut received_at = HashMap::with_capacity(count);
    while received_at.len() < count {
        let event = events.next().await.unwrap();
        if event.data["type"] == "appeared" {
            let key = event.data["lock"]["key"].as_str().unwrap().to_owned();
            received_at.insert(key, Instant::now());
        }
    }
    let set_at = writer.await.unwrap();
    let mut latencies: Vec<Duration> = set_at
        .iter()
        .map(|(key, at)| received_at[key].duration_since(*at))
        .collect();
    latencies.sort_unstable();
    let (median, p99) = (latencies[count / 2], latencies[count * 99 / 100]);
    eprintln!("from SET to its event, 1,000 a second: median {median:?}, p99 {p99:?}");
    assert!(median < Duration::from_millis(150), "{median:?}");
}
