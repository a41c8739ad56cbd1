//! Nodes that are away, slow, restarted, and clocks that are wrong.

use std::time::Duration;

use lockkeeper::domain::Timestamp;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, GroupConfig};

use super::{Visit, nodes_of};
use crate::support::ask;
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};

#[tokio::test]
async fn nodes_that_are_away_are_found_and_those_that_come_back_empty() {
    let mut nodes = RedisNodes::start_with(3, &PERSISTENT[..2]).await;
    let visit = Visit::to(vec![nodes.config()]).await;
    visit
        .finds_none("orders", &["node-unreachable", "no-quorum"])
        .await;
    nodes.0[0].kill().await;
    let found = visit.finds_all("orders", &["node-unreachable"]).await;
    assert_eq!(nodes_of(&found["node-unreachable"]), ["a"]);
    nodes.0[1].kill().await;
    let found = visit.finds_all("orders", &["no-quorum"]).await;
    assert_eq!(nodes_of(&found["node-unreachable"]), ["a", "b"]);
    for n in 0..2 {
        nodes.0[n].restart_empty().await;
    }
    let found = visit
        .finds("orders", "they are back", |found| {
            !found.contains_key("node-unreachable") && found.contains_key("restart-hazard")
        })
        .await;
    assert_eq!(nodes_of(&found["restart-hazard"]), ["a", "b"]);
    assert_eq!(found["restart-hazard"]["severity"], "warning");
}

#[tokio::test]
async fn a_slow_node_is_found_until_it_is_fast() {
    let nodes = RedisNodes::start_with(1, &PERSISTENT).await;
    let proxy = Proxy::before(nodes.0[0].port()).await;
    let group = GroupConfig {
        command_timeout: Duration::from_secs(2),
        ..GroupConfig::new("orders", [proxy.url()])
    };
    let visit = Visit::to(vec![group]).await;
    visit
        .finds_none("orders", &["slow-node", "node-unreachable"])
        .await;
    proxy.delay(Duration::from_millis(300));
    visit.finds_all("orders", &["slow-node"]).await;
    proxy.delay(Duration::ZERO);
    visit.finds_none("orders", &["slow-node"]).await;
}

/// How often a node was asked whether it is there.
async fn pings(node: &RedisNode) -> u64 {
    let stats: String = ask(&mut node.client().await, "INFO commandstats").await;
    let told = stats.split("cmdstat_ping:calls=").nth(1);
    let calls = told.and_then(|rest| rest.split(',').next());
    calls.map_or(0, |calls| calls.parse().unwrap())
}

#[tokio::test]
async fn the_clock_of_our_own_machine_is_told_from_those_of_the_nodes() {
    let nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    let clock = Clock::by_hand(Timestamp::from_millis(1_000_000));
    let config = Config::of(vec![nodes.config()]);
    let visit = Visit::on(TestConsole::start_as(config, clock).await);
    // It stands still, so each check sees every node step ahead of it. Before all are, one of them could be to blame.
    for node in &nodes.0 {
        eventually_is("every node was checked several times", async || {
            pings(node).await >= 5
        })
        .await;
    }
    let found = visit
        .finds_all(
            "orders",
            &["console-clock-differs", "console-clock-stepped"],
        )
        .await;
    assert!(!found.contains_key("clock-stepped"), "{found:?}");
}
