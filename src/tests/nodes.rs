//! Nodes: the state that the console shows of them, and how failures are reported.

use std::time::{Duration, Instant};

use lockkeeper::domain::reason::Reason;
use lockkeeper::domain::{LockKey, NodeState, ReplicationRole};
use lockkeeper::server::config::{GroupConfig, RedisUrl};
use lockkeeper::server::stores::redis::key_state::RedisValue;
use redis::AsyncCommands as _;

use crate::support::fake_servers::FakeServer;
use crate::support::redis_nodes::{
    RedisNode, RedisNodes, TestGroup, config_for_urls, free_port, url,
};

/// Returns the state and reason of a node at this URL that cannot be used.
async fn failure_of_node_at(address: String) -> (NodeState, Reason) {
    let group = TestGroup::start(config_for_urls(&[address]));
    let view = group.wait_for_node(0, |view| view.since.is_some()).await;
    (view.state, view.reason.unwrap())
}

#[tokio::test]
async fn a_node_view_contains_the_facts_that_the_server_reports() {
    let nodes = RedisNodes::start(1).await;
    let view = nodes.group().await.node_views().remove(0);
    assert_eq!(view.state, NodeState::Up);
    assert_eq!(view.address, format!("127.0.0.1:{}", nodes.0[0].port()));
    assert_eq!(view.role, Some(ReplicationRole::Primary));
    assert!(
        view.server.is_some()
            && view.version.is_some()
            && view.run_id.is_some()
            && view.uptime_ms.is_some()
    );
    assert!(
        view.clock_skew_ms.unwrap().abs() < 50,
        "{:?}",
        view.clock_skew_ms
    );
    assert!(view.latency_ms.unwrap() < 500.0);
    assert_eq!((view.reason, view.restarted_at), (None, None));
}

#[tokio::test]
async fn a_killed_node_is_reported_as_restarted_when_it_is_up_again() {
    let mut nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    nodes.0[0].kill().await;
    let down = group
        .wait_for_node(0, |view| view.reason == Some(Reason::ConnectionRefused))
        .await;
    assert_eq!(down.state, NodeState::Down);

    nodes.0[0].restart_empty().await;
    let up = group
        .wait_for_node(0, |view| view.state == NodeState::Up)
        .await;
    assert!(up.restarted_at.is_some());
    assert!(
        group.inspect(&[LockKey::from("lock:a")]).await.nodes[0]
            .result
            .is_ok()
    );
}

#[tokio::test]
async fn a_hanging_node_is_down_until_it_replies_and_is_not_reported_as_restarted() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    nodes.0[0].pause().await;
    let down = group
        .wait_for_node(0, |view| view.state == NodeState::Down)
        .await;
    assert_eq!(down.reason, Some(Reason::NoReply { timeout_ms: 500 }));

    let began = Instant::now();
    let inspection = group.inspect(&[LockKey::from("lock:a")]).await;
    assert!(inspection.nodes[0].result.is_err());
    assert!(
        began.elapsed() < Duration::from_millis(400),
        "a request to a node that is down fails without waiting"
    );

    nodes.0[0].resume().await;
    let up = group
        .wait_for_node(0, |view| view.state == NodeState::Up)
        .await;
    assert_eq!(up.restarted_at, None);
}

#[tokio::test]
async fn a_missing_or_wrong_password_is_reported_as_refused_without_the_password() {
    let node = RedisNode::start_with(&["--requirepass", "opensesame"]).await;
    for (credentials, expected) in [
        ("", Reason::AuthenticationRequired),
        (":hushhush@", Reason::WrongCredentials),
        ("user:hushhush@", Reason::WrongCredentials),
    ] {
        let (state, reason) =
            failure_of_node_at(format!("redis://{credentials}127.0.0.1:{}", node.port())).await;
        assert_eq!((state, reason), (NodeState::Refused, expected));
    }
    let group = TestGroup::start(GroupConfig::new("orders", [node.url()]));
    group.wait_until_up().await;
    assert!(!format!("{:?} {:?}", group.node_views(), group.config).contains("opensesame"));
}

#[tokio::test]
async fn different_connection_failures_have_different_reasons() {
    let (silent, garbage) = (FakeServer::silent().await, FakeServer::garbage().await);
    let node = RedisNode::start().await;
    let no_reply = Reason::NoReply { timeout_ms: 1_000 };
    let failures = [
        (
            format!("redis://127.0.0.1:{}", free_port()),
            Reason::ConnectionRefused,
        ),
        (silent.url(), no_reply.clone()),
        (garbage.url(), Reason::InvalidReply),
        // A server without TLS reads the handshake as an incomplete command and waits for the rest.
        (format!("rediss://127.0.0.1:{}", node.port()), no_reply),
        (
            "unix:///nowhere/redis.sock".to_owned(),
            Reason::SocketNotFound,
        ),
    ];
    for (address, expected) in failures {
        assert_eq!(
            failure_of_node_at(address).await,
            (NodeState::Down, expected)
        );
    }
    let (state, tls) = failure_of_node_at(garbage.url().replace("redis:", "rediss:")).await;
    assert_eq!(state, NodeState::Down);
    assert!(matches!(tls, Reason::Tls { .. }), "{tls:?}");
    let (state, lookup) = failure_of_node_at("redis://no-such-host.invalid:6379".to_owned()).await;
    assert_eq!(state, NodeState::Down);
    assert!(lookup.to_string().contains("lookup"), "{lookup:?}");
}

#[tokio::test]
async fn a_loading_node_and_a_cluster_node_are_reported_as_such() {
    let loading = FakeServer::with_reply("-LOADING Redis is loading the dataset in memory").await;
    assert_eq!(
        failure_of_node_at(loading.url()).await.0,
        NodeState::Loading
    );
    let moved = FakeServer::with_reply("-MOVED 866 10.0.0.7:6379").await;
    assert_eq!(
        failure_of_node_at(moved.url()).await.1,
        Reason::UnexpectedClusterNode
    );
    let cluster_node = RedisNode::start_with(&[
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        &free_port().to_string(),
    ])
    .await;
    assert_eq!(
        failure_of_node_at(format!("redis://127.0.0.1:{}", cluster_node.port())).await,
        (NodeState::Refused, Reason::UnexpectedClusterNode)
    );
}

#[tokio::test]
async fn a_replica_is_up_and_has_the_role_replica() {
    let primary = RedisNode::start().await;
    let replica =
        RedisNode::start_with(&["--replicaof", "127.0.0.1", &primary.port().to_string()]).await;
    let group = TestGroup::start(GroupConfig::new("orders", [replica.url()]));
    let view = group.wait_for_node(0, |view| view.role.is_some()).await;
    assert_eq!(
        (view.state, view.role),
        (NodeState::Up, Some(ReplicationRole::Replica))
    );
}

#[tokio::test]
async fn a_server_without_resp3_is_supported() {
    let node = RedisNode::start_with(&["--rename-command", "HELLO", ""]).await;
    let group = TestGroup::start(GroupConfig::new("orders", [node.url()]));
    group.wait_until_up().await;
    let () = node.client().await.hset("lock:h", "f", "1").await.unwrap();
    let state = group.key_state(&"lock:h".into()).await.unwrap();
    assert_eq!(
        state.value,
        RedisValue::Hash(vec![(b"f".to_vec(), b"1".to_vec())])
    );
}

#[test]
fn a_url_is_validated_and_shown_without_its_credentials() {
    for invalid in [
        "",
        "127.0.0.1:6379",
        "http://:hush@h:1",
        "redis://:hush@",
        "redis://:hush@h:99999",
        "redis://u:hush@h/x",
    ] {
        let error = RedisUrl::parse(invalid).unwrap_err();
        assert!(!error.contains("hush"), "{error}");
    }
    assert_eq!(url("redis://u:hush@h:7000/3").address(), "h:7000/3");
    assert_eq!(url("rediss://[::1]").address(), "[::1]:6379");
    assert_eq!(url("unix:///run/redis.sock").address(), "/run/redis.sock");
    assert!(!format!("{:?}", url("redis://u:hush@h")).contains("hush"));
}
