//! From a change on Redis to its event, at a thousand changes a second.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::time::interval;

use super::super::Failure;
use super::super::budgets::Budget;
use super::super::servers::Programs;
use super::bed::Server;
use super::latencies::Latencies;
use super::{Extent, at_most};

/// Of a change, as much as is looked at.
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

pub async fn measure(programs: &Programs, extent: Extent) -> Result<Vec<Budget>, Failure> {
    let many = extent.seconds as usize * 1_000;
    let server = Server::full(programs, 0, 0).await?;
    let console = server.console(programs).await?;
    let mut events = console.events("").await?;
    events.next().await?;
    let mut client = server.client().await?;
    let setting = tokio::spawn(async move {
        let mut set_at = HashMap::with_capacity(many);
        let mut tick = interval(Duration::from_millis(2));
        for n in 0..many {
            if n % 2 == 0 {
                tick.tick().await;
            }
            let key = format!("lock:{n}");
            let mut set = redis::cmd("SET");
            set.arg(&key).arg("x").arg("NX").arg("PX").arg(600_000);
            let () = set.query_async(&mut client).await?;
            set_at.insert(key, Instant::now());
        }
        Ok::<_, redis::RedisError>(set_at)
    });
    let mut told_at = HashMap::with_capacity(many);
    while told_at.len() < many {
        let event = events.next().await?;
        let at = Instant::now();
        if event.name != "change" {
            continue;
        }
        let change: Change = serde_json::from_str(&event.data)?;
        if let Some(lock) = change.lock.filter(|_| change.kind == "appeared") {
            told_at.entry(lock.key).or_insert(at);
        }
    }
    let set_at = setting.await??;
    let lag = |(key, at): (&String, &Instant)| {
        let told = told_at.get(key)?;
        Some(told.saturating_duration_since(*at))
    };
    let lags = Latencies::of(set_at.iter().filter_map(lag).collect());
    println!(
        "\nlag: 1,000 new locks a second, from the server's answer to the event: median {:.1} ms, p99 {:.1} ms. The console waits\n\
         up to 9 ms to look at several at once, and asks twice; the rest is what the load of this machine adds.",
        lags.median(),
        lags.p99()
    );
    console.end().await;
    server.end().await;
    Ok(vec![
        at_most(
            "event lag at 1,000 changes a second: median in ms",
            lags.median(),
            15.0,
        ),
        at_most(
            "event lag at 1,000 changes a second: p99 in ms",
            lags.p99(),
            60.0,
        ),
    ])
}
