//! Nodes of a Redlock group that are replaced by empty ones, one after the other, while locks are taken all the time.

use std::time::{Duration, Instant};

use lockkeeper::server::config::GroupConfig;
use serde_json::{Value, json};

use crate::api::{group, lock_path};
use crate::support::busy::Busy;
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// What the console may take, after a node is there again, to use it: on a quiet machine it is a tenth of a second.
const RECOVERS_WITHIN: Duration = Duration::from_secs(5);
/// So long a node that may have forgotten locks gives no new ones.
const LONGEST_LEASE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn nodes_are_replaced_under_locks_that_go_on_being_taken_and_no_line_of_the_audit_is_lost() {
    let mut nodes = RedisNodes::start(5).await;
    let mut config = GroupConfig {
        environment: lockkeeper::domain::Environment::Development,
        ..group("orders", &nodes)
    };
    config.locking.longest_lease = LONGEST_LEASE;
    let console = TestConsole::start(vec![config]).await.connected().await;
    let person = console.person();
    let node = async |n: usize| -> Value {
        let groups = person.get("/api/v1/groups").await.json();
        groups["groups"][0]["nodes"][n].clone()
    };
    let kept = json!({"ttl_ms": 10_000, "auto_renew": true});
    let path = lock_path("orders", b"lock:kept", "/acquire");
    let kept = person.post(&path, kept).await;
    assert_eq!(kept.status, 201, "{}", kept.text);
    let busy = Busy::at(&person);
    busy.takes(20).await;

    // Two of five: a third that has forgotten would be one too many, and takes no part.
    for n in [1, 3] {
        let before = node(n).await["run_id"].clone();
        nodes.0[n].kill().await;
        eventually_is("the console notices", async || {
            node(n).await["state"] == "down"
        })
        .await;
        busy.takes(10).await;
        nodes.0[n].restart_empty().await;
        let well_again = Instant::now();
        eventually_is("the new node is used", async || {
            let node = node(n).await;
            node["state"] == "up" && node["run_id"] != before
        })
        .await;
        let took = well_again.elapsed();
        assert!(took < RECOVERS_WITHIN, "{took:?}");
        println!("node {n} was replaced, and known {took:?} after the new one answered");
        assert_eq!(node(n).await["votes"], false, "it may have forgotten locks");
        busy.takes(10).await;
    }
    for n in [1, 3] {
        eventually_is("it takes part again", async || {
            node(n).await["votes"] == true
        })
        .await;
    }
    busy.takes(10).await;
    let lock = person
        .get(&lock_path("orders", b"lock:kept", ""))
        .await
        .json();
    assert_eq!(lock["verdict"], "held", "{lock}");
    assert_eq!(lock["owner"]["fingerprint"], kept.json()["fingerprint"]);
    let acts = busy.was_written_down(&console).await;
    println!("{acts} acts, each with its line");
}
