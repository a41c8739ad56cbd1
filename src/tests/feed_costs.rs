//! What the feed costs and how soon it tells: figures for the documentation, with limits far above what they should be.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;

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

async fn cpu(client: &mut MultiplexedConnection) -> f64 {
    let info: String = redis::cmd("INFO")
        .arg("cpu")
        .query_async(client)
        .await
        .unwrap();
    let field = |name: &str| -> f64 {
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap()
            .trim_start_matches(':')
            .trim()
            .parse()
            .unwrap()
    };
    field("used_cpu_user") + field("used_cpu_sys")
}

/// Renews ten thousand locks every ten seconds for `long`; the server's share of a core meanwhile.
async fn renew(client: &mut MultiplexedConnection, long: Duration) -> f64 {
    let (began, before) = (Instant::now(), cpu(client).await);
    let mut tick = tokio::time::interval(Duration::from_millis(10));
    let mut n = 0;
    while began.elapsed() < long {
        tick.tick().await;
        for _ in 0..10 {
            let mut renew = redis::cmd("PEXPIRE");
            renew.arg(format!("lock:{}", n % 10_000)).arg(30_000);
            let () = renew.query_async(client).await.unwrap();
            n += 1;
        }
    }
    (cpu(client).await - before) / began.elapsed().as_secs_f64()
}

#[tokio::test]
#[ignore = "measures for a minute: the steady cost of ten thousand locks"]
async fn ten_thousand_renewing_locks_cost_the_server_little() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let mut set = redis::pipe();
    for n in 0..10_000 {
        set.cmd("SET")
            .arg(format!("lock:{n}"))
            .arg("owner")
            .arg("PX")
            .arg(60_000)
            .ignore();
    }
    let () = set.query_async(&mut client).await.unwrap();
    let alone = renew(&mut client, Duration::from_secs(15)).await;
    let (_console, person) = fed(&nodes).await;
    crate::support::eventually_is("all are seen", async || {
        person.get("/api/v1/locks?limit=1").await.json()["total"] == 10_000
    })
    .await;
    renew(&mut client, Duration::from_secs(5)).await;
    let watched = renew(&mut client, Duration::from_secs(20)).await;
    eprintln!(
        "10,000 locks renewed every 10 s: {:.2} % of a core alone, {:.2} % watched: {:.2} % added",
        alone * 100.0,
        watched * 100.0,
        (watched - alone) * 100.0
    );
}
