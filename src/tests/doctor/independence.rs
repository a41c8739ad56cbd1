//! Nodes that are not independent of one another.

use lockkeeper::domain::Environment;
use lockkeeper::server::config::GroupConfig;

use super::{Visit, nodes_of, type_in};
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};

#[tokio::test]
async fn a_replica_among_the_nodes_is_found_until_it_is_a_primary_of_its_own() {
    let primary = RedisNode::start_with(&PERSISTENT).await;
    let follows = ["--replicaof", "127.0.0.1", &primary.port().to_string()];
    let replica = RedisNode::start_with(&[&PERSISTENT[..], &follows].concat()).await;
    let other = RedisNode::start_with(&PERSISTENT).await;
    let nodes = RedisNodes(vec![primary, replica, other]);
    let visit = Visit::to(vec![nodes.config()]).await;
    let codes = ["replica", "same-data", "failover-forgets"];
    let found = visit.finds_all("orders", &codes).await;
    assert_eq!(nodes_of(&found["replica"]), ["b"]);
    assert_eq!(nodes_of(&found["same-data"]), ["a", "b"]);
    assert_eq!(nodes_of(&found["failover-forgets"]), ["a"]);
    let evidence = found["replica"]["evidence"][0].as_str().unwrap();
    assert!(
        evidence.contains(&format!("127.0.0.1:{}", nodes.0[0].port())),
        "{evidence}"
    );
    let promote = found["same-data"]["commands"][0].as_str().unwrap();
    type_in(&nodes.0[1], promote).await.unwrap();
    visit.finds_none("orders", &codes).await;
}

#[tokio::test]
async fn one_server_under_two_addresses_is_found() {
    let nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    let proxy = Proxy::before(nodes.0[0].port()).await;
    let twice = GroupConfig::new("twice", [nodes.0[0].url(), proxy.url(), nodes.0[1].url()]);
    let visit = Visit::to(vec![twice, nodes.config()]).await;
    let found = visit.finds_all("twice", &["same-server"]).await;
    assert_eq!(nodes_of(&found["same-server"]), ["a", "b"]);
    assert!(
        !found.contains_key("same-data"),
        "one reason is enough: {found:?}"
    );
    visit
        .finds_none("orders", &["same-server", "same-data"])
        .await;
}

#[tokio::test]
async fn how_many_nodes_there_are_and_where_is_judged_group_by_group() {
    let nodes = RedisNodes::start_with(4, &PERSISTENT).await;
    let group = |n: usize| GroupConfig {
        environment: Environment::Production,
        ..GroupConfig::new(&format!("of-{n}"), nodes.urls().into_iter().take(n))
    };
    let visit = Visit::to((1..=4).map(group).collect()).await;
    for (n, codes) in [
        (1, &["single-server"][..]),
        (2, &["few-nodes", "one-host"]),
        (3, &["one-host"]),
        (4, &["even-nodes", "one-host"]),
    ] {
        let found = visit.finds_all(&format!("of-{n}"), codes).await;
        assert_eq!(found.into_keys().collect::<Vec<_>>(), codes);
    }
    let unknown = visit.person.get("/api/v1/groups/nowhere/findings").await;
    unknown.is(404, "unknown-group");
}
