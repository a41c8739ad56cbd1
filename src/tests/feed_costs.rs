//! How soon the feed tells: a figure for the documentation, with a limit far above what it should be.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::feed::fed;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn a_change_is_told_within_milliseconds_at_a_thousand_a_second() {
    let nodes = RedisNodes::start(1).await;
    let (console, _person) = fed(&nodes).await;
    let mut viewer = console.person().watch("", None).await;
    viewer.next().await.unwrap();
    let mut client = nodes.0[0].client().await;
    let many: usize = 5_000;
    let setting = tokio::spawn(async move {
        let mut set_at = HashMap::with_capacity(many);
        let mut tick = tokio::time::interval(Duration::from_millis(2));
        for n in 0..many {
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
    let mut told_at = HashMap::with_capacity(many);
    while told_at.len() < many {
        let told = viewer.next().await.unwrap();
        if told.data["type"] == "appeared" {
            let key = told.data["lock"]["key"].as_str().unwrap().to_owned();
            told_at.insert(key, Instant::now());
        }
    }
    let set_at = setting.await.unwrap();
    let mut lags: Vec<Duration> = set_at
        .iter()
        .map(|(key, at)| told_at[key].duration_since(*at))
        .collect();
    lags.sort_unstable();
    let (median, p99) = (lags[many / 2], lags[many * 99 / 100]);
    eprintln!("from SET to its event, 1,000 a second: median {median:?}, p99 {p99:?}");
    assert!(median < Duration::from_millis(150), "{median:?}");
}
