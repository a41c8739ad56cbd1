//! Samples of what clients ask of a node, and what watching the touches of many locks costs it.

use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use serde_json::Value;

use crate::feed::{config, run};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::{RedisNode, RedisNodes};
use crate::support::{eventually, eventually_is};
use crate::touches::{node, poller, sign, watched, without};

#[tokio::test]
async fn a_sample_tells_failed_attempts_from_successful_ones_and_shows_no_token() {
    for server in [RedisNode::start().await, RedisNode::start_valkey().await] {
        let nodes = RedisNodes(vec![server]);
        let (console, person) = watched(&nodes, config(&nodes)).await;
        let mut client = nodes.0[0].client().await;
        let working = tokio::spawn(async move {
            let mut tick = tokio::time::interval(Duration::from_millis(20));
            for n in 0_u64.. {
                tick.tick().await;
                // Every fourth of these finds it free.
                let token = format!("s3cret-{n}");
                let set = ["SET", "lock:b", &token, "NX", "PX", "60000"];
                run(&mut client, &set).await;
                if n % 4 == 3 {
                    run(&mut client, &["DEL", "lock:b"]).await;
                }
            }
        });
        let _pollers = [poller(&nodes.0[0], "0.1"), poller(&nodes.0[0], "0.1")];
        let path = format!(
            "/api/v1/groups/orders/nodes/{}/monitor-sample",
            node(&person).await["name"].as_str().unwrap()
        );
        let asked = serde_json::json!({ "seconds": 2 });
        let (sample, refused) = tokio::join!(person.post(&path, asked.clone()), async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            person.post(&path, asked.clone()).await
        });
        working.abort();
        assert_eq!(refused.code(), "too-many-requests");
        assert!(!sample.text.contains("s3cret"), "{}", sample.text);
        let sample = sample.json();
        assert_eq!(sample["failures_unknown"], Value::Null, "{sample}");
        let of = |key: &str| {
            let locks = sample["locks"].as_array().unwrap().iter();
            let mut of_key = locks.filter(|lock| lock["key"] == key);
            of_key.next().cloned().unwrap()
        };
        let (a, b) = (of("lock:a"), of("lock:b"));
        assert_eq!(a["attempts"], a["failed"], "{sample}");
        assert_eq!(a["clients"].as_array().unwrap().len(), 2, "{sample}");
        let (tried, failed) = (
            b["attempts"].as_f64().unwrap(),
            b["failed"].as_f64().unwrap(),
        );
        assert!(
            tried > 50.0 && (0.70..0.80).contains(&(failed / tried)),
            "{b}"
        );
        let sign = eventually("it is evidence", async || {
            sign(&person, "lock:a", "monitor-sample").await
        })
        .await;
        assert_eq!(sign["value"], a["failed"]);
        console.stop().await;
    }
}

#[tokio::test]
async fn a_sample_needs_its_permission_a_node_and_a_sensible_time() {
    let nodes = RedisNodes::start(1).await;
    let (console, person) = without(&nodes, "-monitor").await;
    let name = node(&person).await["name"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/groups/orders/nodes/{name}/monitor-sample");
    let refused = person.post(&path, serde_json::json!({})).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (403, "forbidden")
    );
    let too_long = person
        .post(&path, serde_json::json!({ "seconds": 11 }))
        .await;
    assert_eq!(too_long.status, 422);
    let nowhere = "/api/v1/groups/orders/nodes/elsewhere/monitor-sample";
    assert_eq!(
        person.post(nowhere, serde_json::json!({})).await.status,
        422
    );
    console.stop().await;
}

async fn cpu(client: &mut MultiplexedConnection) -> f64 {
    let info: String = redis::cmd("INFO")
        .arg("cpu")
        .query_async(client)
        .await
        .unwrap();
    let field = |name: &str| -> f64 {
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        line.trim_start_matches(':').trim().parse().unwrap()
    };
    field("used_cpu_user") + field("used_cpu_sys")
}

#[tokio::test]
#[ignore = "measures for a minute: what watching ten thousand quiet locks costs the server"]
async fn ten_thousand_quiet_locks_cost_the_server_about_a_hundredth_of_a_core() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let idle = |cpu: f64, began: Instant| cpu / began.elapsed().as_secs_f64() * 100.0;
    let (began, before) = (Instant::now(), cpu(&mut client).await);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let alone = idle(cpu(&mut client).await - before, began);
    let mut fill = redis::pipe();
    for n in 0..10_000 {
        fill.cmd("SET")
            .arg(format!("lock:{n}"))
            .arg("x")
            .arg("PX")
            .arg(9_000_000)
            .ignore();
    }
    let () = fill.query_async(&mut client).await.unwrap();
    let console = TestConsole::start(vec![config(&nodes)]).await;
    let person = console.person();
    eventually_is("all are seen", async || {
        person.get("/api/v1/locks?limit=1").await.json()["total"] == 10_000
    })
    .await;
    run(&mut client, &["CONFIG", "RESETSTAT"]).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (began, before) = (Instant::now(), cpu(&mut client).await);
    tokio::time::sleep(Duration::from_secs(30)).await;
    let watched = idle(cpu(&mut client).await - before, began);
    let stats: String = redis::cmd("INFO")
        .arg("commandstats")
        .query_async(&mut client)
        .await
        .unwrap();
    let object = stats.lines().find(|line| line.contains("idletime"));
    eprintln!("10,000 quiet locks: {watched:.2} % of a core, {alone:.2} % without us; {object:?}");
    assert!(watched < 6.0, "{watched}");
    console.stop().await;
}
