//! Nodes: what is seen of them, of their keys, and what happens when they fail.

use std::time::{Duration, Instant};

use lockkeeper::domain::{LockKey, NodeState, Role};
use lockkeeper::server::config::{GroupConfig, RedisUrl};
use lockkeeper::server::sighting::Value;
use redis::AsyncCommands as _;

use crate::support::fake_servers::FakeServer;
use crate::support::redis_nodes::{RedisNode, RedisNodes, TestGroup, config_of, free_port, url};

/// Why the only node of a group at this URL cannot be used.
async fn reason(address: String) -> (NodeState, String) {
    let group = TestGroup::start(config_of(&[address]));
    let view = group.node_is(0, |view| view.since.is_some()).await;
    (view.state, view.reason.unwrap())
}

#[tokio::test]
async fn a_node_says_who_it_is() {
    let nodes = RedisNodes::start(1).await;
    let view = nodes.group().await.nodes().remove(0);
    assert_eq!(view.state, NodeState::Up);
    assert_eq!(view.address, format!("127.0.0.1:{}", nodes.0[0].port()));
    assert_eq!(view.role, Some(Role::Primary));
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
async fn a_node_that_was_killed_comes_back_as_restarted() {
    let mut nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    nodes.0[0].kill().await;
    let down = group
        .node_is(0, |view| {
            view.reason.as_deref() == Some("connection refused")
        })
        .await;
    assert_eq!(down.state, NodeState::Down);

    nodes.0[0].restart_empty().await;
    let up = group.node_is(0, |view| view.state == NodeState::Up).await;
    assert!(up.restarted_at.is_some());
    assert!(
        group.look(&[LockKey::from("lock:a")]).await.nodes[0]
            .seen
            .is_ok()
    );
}

#[tokio::test]
async fn a_node_that_hangs_is_given_up_and_comes_back_without_a_restart() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    nodes.0[0].stop().await;
    let down = group.node_is(0, |view| view.state == NodeState::Down).await;
    assert_eq!(down.reason.as_deref(), Some("no answer within 500 ms"));

    let asked = Instant::now();
    let look = group.look(&[LockKey::from("lock:a")]).await;
    assert!(look.nodes[0].seen.is_err());
    assert!(
        asked.elapsed() < Duration::from_millis(400),
        "a node known to be down costs nothing"
    );

    nodes.0[0].go_on().await;
    let up = group.node_is(0, |view| view.state == NodeState::Up).await;
    assert_eq!(up.restarted_at, None);
}

#[tokio::test]
async fn a_password_asked_for_or_wrong_is_a_refusal_with_advice_and_without_the_password() {
    let node = RedisNode::start_with(&["--requirepass", "opensesame"]).await;
    for credentials in ["", ":hushhush@", "somebody:hushhush@"] {
        let (state, reason) =
            reason(format!("redis://{credentials}127.0.0.1:{}", node.port())).await;
        assert_eq!(state, NodeState::Refused, "{reason}");
        assert!(
            reason.contains("node's URL") && !reason.contains("hush"),
            "{reason}"
        );
    }
    let group = TestGroup::start(GroupConfig::new("orders", [node.url()]));
    group.is_up().await;
    assert!(!format!("{:?} {:?}", group.nodes(), group.config).contains("opensesame"));
}

#[tokio::test]
async fn nobody_at_home_silence_nonsense_and_tls_are_told_apart() {
    let (silent, garbage) = (FakeServer::silent().await, FakeServer::garbage().await);
    let node = RedisNode::start().await;
    let asked = [
        (
            format!("redis://127.0.0.1:{}", free_port()),
            "connection refused",
        ),
        (silent.url(), "no answer within 1000 ms"),
        (garbage.url(), "answered with something that is not Redis"),
        (garbage.url().replace("redis:", "rediss:"), "TLS"),
        // A server without TLS waits for the rest of what it takes for a command.
        (
            format!("rediss://127.0.0.1:{}", node.port()),
            "no answer within 1000 ms",
        ),
        ("redis://no-such-host.invalid:6379".to_owned(), "lookup"),
        (
            "unix:///nowhere/redis.sock".to_owned(),
            "there is no such socket",
        ),
    ];
    for (address, expected) in asked {
        let (state, reason) = reason(address).await;
        assert_eq!(state, NodeState::Down);
        assert!(
            reason.contains(expected),
            "{reason:?} should tell of {expected:?}"
        );
    }
}

#[tokio::test]
async fn a_node_that_loads_and_a_node_of_a_cluster_say_so() {
    let loading = FakeServer::always("-LOADING Redis is loading the dataset in memory").await;
    assert_eq!(reason(loading.url()).await.0, NodeState::Loading);
    let moved = FakeServer::always("-MOVED 866 10.0.0.7:6379").await;
    assert!(reason(moved.url()).await.1.contains("cluster"));
    let real = RedisNode::start_with(&[
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        &free_port().to_string(),
    ])
    .await;
    let (state, reason) = reason(format!("redis://127.0.0.1:{}", real.port())).await;
    assert!(
        state == NodeState::Refused && reason.contains("cluster"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_replica_is_up_and_says_that_it_is_one() {
    let primary = RedisNode::start().await;
    let replica =
        RedisNode::start_with(&["--replicaof", "127.0.0.1", &primary.port().to_string()]).await;
    let group = TestGroup::start(GroupConfig::new("orders", [replica.url()]));
    let view = group.node_is(0, |view| view.role.is_some()).await;
    assert_eq!(
        (view.state, view.role),
        (NodeState::Up, Some(Role::Replica))
    );
}

#[tokio::test]
async fn a_server_before_resp3_is_understood() {
    let node = RedisNode::start_with(&["--rename-command", "HELLO", ""]).await;
    let group = TestGroup::start(GroupConfig::new("orders", [node.url()]));
    group.is_up().await;
    let () = node.client().await.hset("lock:h", "f", "1").await.unwrap();
    let seen = group.sighting(&"lock:h".into()).await.unwrap();
    assert_eq!(
        seen.value,
        Value::Hash(vec![(b"f".to_vec(), b"1".to_vec())])
    );
}

#[test]
fn a_url_is_checked_and_shown_without_its_credentials() {
    for bad in [
        "",
        "127.0.0.1:6379",
        "http://:hush@h:1",
        "redis://:hush@",
        "redis://:hush@h:99999",
        "redis://u:hush@h/x",
    ] {
        let error = RedisUrl::parse(bad).unwrap_err();
        assert!(!error.contains("hush"), "{error}");
    }
    assert_eq!(url("redis://u:hush@h:7000/3").address(), "h:7000/3");
    assert_eq!(url("rediss://[::1]").address(), "[::1]:6379");
    assert_eq!(url("unix:///run/redis.sock").address(), "/run/redis.sock");
    assert!(!format!("{:?}", url("redis://u:hush@h")).contains("hush"));
}
