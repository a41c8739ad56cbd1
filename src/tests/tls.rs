//! Servers behind TLS: private authorities, certificates of our own, and what is wrong with them.

use lockkeeper::domain::{NodeState, NodeView};
use lockkeeper::server::config::{Files, GroupConfig, NodeConfig};
use redis::AsyncCommands as _;
use serde_json::json;

use crate::support::certificates::{Authority, Identity, text};
use crate::support::console::TestConsole;
use crate::support::eventually;
use crate::support::redis_nodes::{RedisNode, TestGroup, free_port, url};

/// A server that speaks TLS to those for whom `authority` vouches, or to everybody.
async fn server(
    authority: &Authority,
    identity: &Identity,
    asks_clients: bool,
) -> (RedisNode, u16) {
    let port = free_port();
    let node = RedisNode::start_with(&[
        "--tls-port",
        &port.to_string(),
        "--tls-cert-file",
        text(&identity.certificate),
        "--tls-key-file",
        text(&identity.key),
        "--tls-ca-cert-file",
        text(&authority.file()),
        "--tls-auth-clients",
        if asks_clients { "yes" } else { "no" },
    ])
    .await;
    (node, port)
}

fn group(port: u16, files: Files) -> GroupConfig {
    let node = NodeConfig {
        files,
        ..NodeConfig::new("a", url(&format!("rediss://127.0.0.1:{port}")))
    };
    GroupConfig {
        nodes: vec![node],
        ..GroupConfig::new("orders", [url("redis://127.0.0.1:1")])
    }
}

fn trusting(authority: &Authority) -> Files {
    Files {
        ca: Some(authority.file()),
        ..Files::default()
    }
}

async fn first_state(config: GroupConfig) -> NodeView {
    let group = TestGroup::start(config);
    group.node_is(0, |view| view.since.is_some()).await
}

#[tokio::test]
async fn locks_behind_tls_are_seen_taken_and_released_with_a_certificate_of_our_own() {
    let authority = Authority::new();
    let (node, port) = server(&authority, &authority.vouch_for("server"), true).await;
    let us = authority.vouch_for("console");
    let files = Files {
        identity: Some((us.certificate, us.key)),
        ..trusting(&authority)
    };
    let console = TestConsole::start(vec![group(port, files)]).await;
    let person = console.person();

    let mut client = node.client().await;
    let () = client
        .pset_ex("lock:seen", "somebody", 60_000)
        .await
        .unwrap();
    eventually("the lock is listed", async || {
        let locks = person.get("/api/v1/locks").await.json();
        (locks["total"] == 1).then_some(())
    })
    .await;
    let taken = person
        .post(
            "/api/v1/groups/orders/locks/lock%3Aours/acquire",
            json!({"ttl_ms": 30_000}),
        )
        .await;
    assert_eq!(taken.status, 201, "{}", taken.text);
    let token = taken.json()["token"].clone();
    assert_eq!(client.get::<_, String>("lock:ours").await.unwrap(), token);
    let released = person
        .post(
            "/api/v1/groups/orders/locks/lock%3Aours/release",
            json!({"token": token}),
        )
        .await;
    assert_eq!(released.status, 200, "{}", released.text);
    let node = &person.get("/api/v1/groups").await.json()["groups"][0]["nodes"][0];
    assert_eq!(node["feed"], "tracking", "{node}");
}

#[tokio::test]
async fn what_is_wrong_with_a_certificate_is_told() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (_node, port) = server(&authority, &authority.vouch_for("server"), true).await;
    let (_old, expired) = server(&authority, &authority.vouched_for("old"), false).await;
    let identity_of = |identity: Identity| Files {
        identity: Some((identity.certificate, identity.key)),
        ..trusting(&authority)
    };
    for (what, config, says) in [
        (
            "unknown authority",
            group(port, trusting(&stranger)),
            "UnknownIssuer",
        ),
        ("expired", group(expired, trusting(&authority)), "expired"),
        (
            "no certificate of ours",
            group(port, trusting(&authority)),
            "",
        ),
        (
            "one that the server does not know",
            group(port, identity_of(stranger.vouch_for("console"))),
            "",
        ),
    ] {
        let view = first_state(config).await;
        let reason = view.reason.unwrap();
        assert_eq!(view.state, NodeState::Down, "{what}: {reason}");
        assert!(
            reason.to_lowercase().contains(&says.to_lowercase()),
            "{what}: {reason}"
        );
    }
}

#[tokio::test]
async fn a_certificate_that_is_replaced_is_used_without_a_restart() {
    let authority = Authority::new();
    let (_node, port) = server(&authority, &authority.vouch_for("server"), false).await;
    let stranger = Authority::new();
    let trusted = tempfile::NamedTempFile::new().unwrap();
    std::fs::copy(stranger.file(), trusted.path()).unwrap();
    let files = Files {
        ca: Some(trusted.path().to_owned()),
        ..Files::default()
    };
    let group = TestGroup::start(group(port, files));
    group.node_is(0, |view| view.since.is_some()).await;
    std::fs::copy(authority.file(), trusted.path()).unwrap();
    group.is_up().await;
}
