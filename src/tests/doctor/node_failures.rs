//! Findings about unreachable, slow and restarted nodes, and about clocks.

use std::time::Duration;

use lockkeeper::domain::Timestamp;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, GroupConfig};

use super::{DoctorConsole, nodes_of};
use crate::support::console::TestConsole;
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};
use crate::support::run_command;
use crate::support::wait_until;

#[tokio::test]
async fn unreachable_nodes_are_found_and_restart_hazards_after_they_restart_empty() {
    let mut nodes = RedisNodes::start_with(3, &PERSISTENT[..2]).await;
    let console = DoctorConsole::start(vec![nodes.config()]).await;
    console
        .wait_until_not_found("orders", &["node-unreachable", "no-quorum"])
        .await;
    nodes.0[0].kill().await;
    let findings = console
        .wait_until_found("orders", &["node-unreachable"])
        .await;
    assert_eq!(nodes_of(&findings["node-unreachable"]), ["a"]);
    nodes.0[1].kill().await;
    let findings = console.wait_until_found("orders", &["no-quorum"]).await;
    assert_eq!(nodes_of(&findings["node-unreachable"]), ["a", "b"]);
    for n in 0..2 {
        nodes.0[n].restart_empty().await;
    }
    let findings = console
        .wait_for_findings("orders", "both nodes are up again", |findings| {
            !findings.contains_key("node-unreachable") && findings.contains_key("restart-hazard")
        })
        .await;
    assert_eq!(nodes_of(&findings["restart-hazard"]), ["a", "b"]);
    assert_eq!(findings["restart-hazard"]["severity"], "warning");
}

#[tokio::test]
async fn a_slow_node_is_found_until_it_responds_fast_again() {
    let nodes = RedisNodes::start_with(1, &PERSISTENT).await;
    let proxy = Proxy::in_front_of(nodes.0[0].port()).await;
    let group = GroupConfig {
        command_timeout: Duration::from_secs(2),
        ..GroupConfig::new("orders", [proxy.url()])
    };
    let console = DoctorConsole::start(vec![group]).await;
    console
        .wait_until_not_found("orders", &["slow-node", "node-unreachable"])
        .await;
    proxy.delay(Duration::from_millis(300));
    console.wait_until_found("orders", &["slow-node"]).await;
    proxy.delay(Duration::ZERO);
    console.wait_until_not_found("orders", &["slow-node"]).await;
}

/// The number of PING commands that a node has received.
async fn ping_count(node: &RedisNode) -> u64 {
    let stats: String = run_command(&mut node.client().await, "INFO commandstats").await;
    let ping_stats = stats.split("cmdstat_ping:calls=").nth(1);
    let calls = ping_stats.and_then(|rest| rest.split(',').next());
    calls.map_or(0, |calls| calls.parse().unwrap())
}

#[tokio::test]
async fn clock_skew_of_the_console_is_distinguished_from_that_of_a_node() {
    let nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    let clock = Clock::manual(Timestamp::from_millis(1_000_000));
    let config = Config::with_groups(vec![nodes.config()]);
    let console = DoctorConsole::new(TestConsole::start_with_config(config, clock).await);
    // The console's clock does not advance, so each check finds every node's clock ahead of it.
    // Until all nodes were checked, the clock of a single node could be wrong.
    for node in &nodes.0 {
        wait_until("every node was checked several times", async || {
            ping_count(node).await >= 5
        })
        .await;
    }
    let findings = console
        .wait_until_found("orders", &["console-clock-skew", "console-clock-jump"])
        .await;
    assert!(!findings.contains_key("clock-jump"), "{findings:?}");
}
