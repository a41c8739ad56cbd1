//! Nodes that are not independent of one another.

use lockkeeper::domain::Environment;
use lockkeeper::server::config::GroupConfig;

use super::{DoctorConsole, nodes_of, run_line};
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};

#[tokio::test]
async fn a_replica_among_the_nodes_is_found_until_it_is_promoted() {
    let primary = RedisNode::start_with(&PERSISTENT).await;
    let replica_of = ["--replicaof", "127.0.0.1", &primary.port().to_string()];
    let replica = RedisNode::start_with(&[&PERSISTENT[..], &replica_of].concat()).await;
    let other = RedisNode::start_with(&PERSISTENT).await;
    let nodes = RedisNodes(vec![primary, replica, other]);
    let console = DoctorConsole::start(vec![nodes.config()]).await;
    let codes = ["replica", "same-dataset", "failover-loses-locks"];
    let findings = console.wait_until_found("orders", &codes).await;
    assert_eq!(nodes_of(&findings["replica"]), ["b"]);
    assert_eq!(nodes_of(&findings["same-dataset"]), ["a", "b"]);
    assert_eq!(nodes_of(&findings["failover-loses-locks"]), ["a"]);
    let evidence = findings["replica"]["evidence"][0].as_str().unwrap();
    assert!(
        evidence.contains(&format!("127.0.0.1:{}", nodes.0[0].port())),
        "{evidence}"
    );
    let promote = findings["same-dataset"]["commands"][0].as_str().unwrap();
    run_line(&nodes.0[1], promote).await.unwrap();
    console.wait_until_not_found("orders", &codes).await;
}

#[tokio::test]
async fn a_server_configured_under_two_addresses_is_found() {
    let nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    let proxy = Proxy::in_front_of(nodes.0[0].port()).await;
    let twice = GroupConfig::new("twice", [nodes.0[0].url(), proxy.url(), nodes.0[1].url()]);
    let console = DoctorConsole::start(vec![twice, nodes.config()]).await;
    let findings = console.wait_until_found("twice", &["same-server"]).await;
    assert_eq!(nodes_of(&findings["same-server"]), ["a", "b"]);
    assert!(
        !findings.contains_key("same-dataset"),
        "`same-server` already covers it: {findings:?}"
    );
    console
        .wait_until_not_found("orders", &["same-server", "same-dataset"])
        .await;
}

#[tokio::test]
async fn node_count_and_host_are_checked_per_group() {
    let nodes = RedisNodes::start_with(4, &PERSISTENT).await;
    let group = |n: usize| GroupConfig {
        environment: Environment::Production,
        ..GroupConfig::new(&format!("of-{n}"), nodes.urls().into_iter().take(n))
    };
    let console = DoctorConsole::start((1..=4).map(group).collect()).await;
    for (n, codes) in [
        (1, &["single-server"][..]),
        (2, &["few-nodes", "same-host"]),
        (3, &["same-host"]),
        (4, &["even-nodes", "same-host"]),
    ] {
        let findings = console.wait_until_found(&format!("of-{n}"), codes).await;
        assert_eq!(findings.into_keys().collect::<Vec<_>>(), codes);
    }
    let unknown_group = console.api.get("/api/v1/groups/nowhere/findings").await;
    unknown_group.assert_problem(404, "unknown-group");
}
