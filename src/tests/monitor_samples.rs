//! `MONITOR` samples of the commands that clients send to a node.

use std::time::Duration;

use serde_json::Value;

use crate::change_feed::{config, run};
use crate::idle_touches::{
    find_evidence, start_console_with_held_lock, start_console_without_permission,
    start_polling_client,
};
use crate::support::redis_nodes::{RedisNode, RedisNodes};
use crate::support::run_command;
use crate::support::{wait_for, wait_until};

#[tokio::test]
async fn a_sample_counts_failed_attempts_and_contains_no_token() {
    for server in [RedisNode::start().await, RedisNode::start_valkey().await] {
        let nodes = RedisNodes(vec![server]);
        let (console, api) = start_console_with_held_lock(&nodes, config(&nodes)).await;
        let mut client = nodes.0[0].client().await;
        let workload = tokio::spawn(async move {
            let mut tick = tokio::time::interval(Duration::from_millis(20));
            for n in 0_u64.. {
                tick.tick().await;
                // Every fourth of these attempts finds the lock free.
                let token = format!("s3cret-{n}");
                let set = ["SET", "lock:b", &token, "NX", "PX", "60000"];
                run(&mut client, &set).await;
                if n % 4 == 3 {
                    run(&mut client, &["DEL", "lock:b"]).await;
                }
            }
        });
        let _polling_clients = [
            start_polling_client(&nodes.0[0], "0.1"),
            start_polling_client(&nodes.0[0], "0.1"),
        ];
        let path = format!(
            "/api/v1/groups/orders/nodes/{}/monitor-sample",
            api.first_node().await["name"].as_str().unwrap()
        );
        let body = serde_json::json!({ "seconds": 2 });
        let (sample, rejected) = tokio::join!(api.post(&path, body.clone()), async {
            let mut client = nodes.0[0].client().await;
            wait_until("the first sample is running", async || {
                let clients: String = run_command(&mut client, "CLIENT LIST TYPE normal").await;
                clients.contains("cmd=monitor")
            })
            .await;
            api.post(&path, body.clone()).await
        });
        workload.abort();
        assert_eq!(rejected.problem_code(), "too-many-requests");
        assert!(!sample.text.contains("s3cret"), "{}", sample.text);
        let sample = sample.json();
        assert_eq!(
            sample["failures_unavailable_reason"],
            Value::Null,
            "{sample}"
        );
        let find_lock = |key: &str| {
            let locks = sample["locks"].as_array().unwrap().iter();
            let mut matching = locks.filter(|lock| lock["key"] == key);
            matching.next().cloned().unwrap()
        };
        let (a, b) = (find_lock("lock:a"), find_lock("lock:b"));
        assert_eq!(a["attempts"], a["failed"], "{sample}");
        assert_eq!(a["clients"].as_array().unwrap().len(), 2, "{sample}");
        let (attempts, failed) = (
            b["attempts"].as_f64().unwrap(),
            b["failed"].as_f64().unwrap(),
        );
        assert!(
            attempts > 50.0 && (0.70..0.80).contains(&(failed / attempts)),
            "{b}"
        );
        let entry = wait_for("the evidence", async || {
            find_evidence(&api, "lock:a", "monitor-sample").await
        })
        .await;
        assert_eq!(entry["value"], a["failed"]);
        console.stop().await;
    }
}

#[tokio::test]
async fn a_sample_requires_permission_a_known_node_and_a_valid_duration() {
    let nodes = RedisNodes::start(1).await;
    let (console, api) = start_console_without_permission(&nodes, "-monitor").await;
    let name = api.first_node().await["name"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/groups/orders/nodes/{name}/monitor-sample");
    let rejected = api.post(&path, serde_json::json!({})).await;
    rejected.assert_problem(403, "forbidden");
    let too_long = api.post(&path, serde_json::json!({ "seconds": 11 })).await;
    assert_eq!(too_long.status, 422);
    let unknown_node = "/api/v1/groups/orders/nodes/elsewhere/monitor-sample";
    assert_eq!(
        api.post(unknown_node, serde_json::json!({})).await.status,
        422
    );
    console.stop().await;
}
