//! Samples of what clients ask of a node.

use std::time::Duration;

use serde_json::Value;

use crate::feed::{config, run};
use crate::support::ask;
use crate::support::redis_nodes::{RedisNode, RedisNodes};
use crate::support::{eventually, eventually_is};
use crate::touches::{poller, sign, watched, without};

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
            person.node().await["name"].as_str().unwrap()
        );
        let asked = serde_json::json!({ "seconds": 2 });
        let (sample, refused) = tokio::join!(person.post(&path, asked.clone()), async {
            let mut client = nodes.0[0].client().await;
            eventually_is("the first is being taken", async || {
                let clients: String = ask(&mut client, "CLIENT LIST TYPE normal").await;
                clients.contains("cmd=monitor")
            })
            .await;
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
    let name = person.node().await["name"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/groups/orders/nodes/{name}/monitor-sample");
    let refused = person.post(&path, serde_json::json!({})).await;
    refused.is(403, "forbidden");
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
