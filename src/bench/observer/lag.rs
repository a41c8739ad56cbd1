//! The latency from a change on Redis to its event, at 1,000 changes per second.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::time::interval;

use super::super::BenchError;
use super::super::budgets::Budget;
use super::super::testbed::Programs;
use super::latencies::Latencies;
use super::server::Server;
use super::{Scale, max_budget};

/// The fields of a change event that are read.
#[derive(Deserialize)]
struct Change {
    #[serde(rename = "type")]
    kind: String,
    lock: Option<Lock>,
}

#[derive(Deserialize)]
struct Lock {
    key: String,
}

pub async fn measure(programs: &Programs, scale: Scale) -> Result<Vec<Budget>, BenchError> {
    let count = scale.seconds as usize * 1_000;
    let server = Server::start_filled(programs, 0, 0).await?;
    let console = server.start_console(programs).await?;
    let mut events = console.subscribe("").await?;
    events.next().await?;
    let mut client = server.connect().await?;
    let writer = tokio::spawn(async move {
        let mut written_at = HashMap::with_capacity(count);
        let mut tick = interval(Duration::from_millis(2));
        for n in 0..count {
            if n % 2 == 0 {
                tick.tick().await;
            }
            let key = format!("lock:{n}");
            let mut set = redis::cmd("SET");
            set.arg(&key).arg("x").arg("NX").arg("PX").arg(600_000);
            let () = set.query_async(&mut client).await?;
            written_at.insert(key, Instant::now());
        }
        Ok::<_, redis::RedisError>(written_at)
    });
    let mut received_at = HashMap::with_capacity(count);
    while received_at.len() < count {
        let event = events.next().await?;
        let at = Instant::now();
        if event.name != "change" {
            continue;
        }
        let change: Change = serde_json::from_str(&event.data)?;
        if let Some(lock) = change.lock.filter(|_| change.kind == "appeared") {
            received_at.entry(lock.key).or_insert(at);
        }
    }
    let written_at = writer.await??;
    let lag = |(key, at): (&String, &Instant)| {
        let received = received_at.get(key)?;
        Some(received.saturating_duration_since(*at))
    };
    let lags = Latencies::new(written_at.iter().filter_map(lag).collect());
    println!(
        "\nlag: 1,000 new locks per second, from the reply of Redis to the event: median {:.1} ms, p99 {:.1} ms. Under\n\
         load the console reads notifications every 20 ms; the rest depends on the load of this machine.",
        lags.median(),
        lags.p99()
    );
    console.stop().await;
    server.stop().await;
    Ok(vec![
        max_budget(
            "event lag at 1,000 changes per second: median in ms",
            lags.median(),
            15.0,
        ),
        max_budget(
            "event lag at 1,000 changes per second: p99 in ms",
            lags.p99(),
            30.0,
        ),
    ])
}
