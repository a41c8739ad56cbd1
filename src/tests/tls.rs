//! Servers with TLS: private certificate authorities, client certificates, and invalid
//! certificates.

use lockkeeper::domain::{NodeState, NodeView};
use lockkeeper::server::config::{CredentialFiles, GroupConfig, NodeConfig};
use redis::AsyncCommands as _;
use serde_json::json;

use crate::support::certificates::{CertificateAuthority, Identity, path_str};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::{RedisNode, TestGroup, free_port, url};
use crate::support::wait_for;

/// Starts a TLS server that requires client certificates of `authority`, or none.
async fn start_tls_server(
    authority: &CertificateAuthority,
    identity: &Identity,
    requires_client_certificate: bool,
) -> (RedisNode, u16) {
    let port = free_port();
    let node = RedisNode::start_with(&[
        "--tls-port",
        &port.to_string(),
        "--tls-cert-file",
        path_str(&identity.certificate),
        "--tls-key-file",
        path_str(&identity.key),
        "--tls-ca-cert-file",
        path_str(&authority.ca_file()),
        "--tls-auth-clients",
        if requires_client_certificate {
            "yes"
        } else {
            "no"
        },
    ])
    .await;
    (node, port)
}

fn group_config(port: u16, files: CredentialFiles) -> GroupConfig {
    let node = NodeConfig {
        credential_files: files,
        ..NodeConfig::new("a", url(&format!("rediss://127.0.0.1:{port}")))
    };
    GroupConfig {
        nodes: vec![node],
        ..GroupConfig::new("orders", [url("redis://127.0.0.1:1")])
    }
}

fn credentials_trusting(authority: &CertificateAuthority) -> CredentialFiles {
    CredentialFiles {
        ca: Some(authority.ca_file()),
        ..CredentialFiles::default()
    }
}

async fn first_node_view(config: GroupConfig) -> NodeView {
    let group = TestGroup::start(config);
    group.wait_for_node(0, |view| view.since.is_some()).await
}

#[tokio::test]
async fn locks_are_listed_acquired_and_released_over_tls_with_a_client_certificate() {
    let authority = CertificateAuthority::new();
    let (node, port) = start_tls_server(&authority, &authority.issue("server"), true).await;
    let identity = authority.issue("console");
    let files = CredentialFiles {
        identity: Some((identity.certificate, identity.key)),
        ..credentials_trusting(&authority)
    };
    let console = TestConsole::start(vec![group_config(port, files)]).await;
    let api = console.api();

    let mut client = node.client().await;
    let () = client.pset_ex("lock:seen", "owner", 60_000).await.unwrap();
    wait_for("the lock is listed", async || {
        let locks = api.get("/api/v1/locks").await.json();
        (locks["total"] == 1).then_some(())
    })
    .await;
    let acquired = api
        .post(
            "/api/v1/groups/orders/locks/lock%3Aours/acquire",
            json!({"ttl_ms": 30_000}),
        )
        .await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let token = acquired.json()["token"].clone();
    assert_eq!(client.get::<_, String>("lock:ours").await.unwrap(), token);
    let released = api
        .post(
            "/api/v1/groups/orders/locks/lock%3Aours/release",
            json!({"token": token}),
        )
        .await;
    assert_eq!(released.status, 200, "{}", released.text);
    let node = &api.get("/api/v1/groups").await.json()["groups"][0]["nodes"][0];
    assert_eq!(node["feed"], "tracking", "{node}");
}

#[tokio::test]
async fn an_invalid_certificate_is_reported_with_its_reason() {
    let (authority, other_authority) = (CertificateAuthority::new(), CertificateAuthority::new());
    let (_node, port) = start_tls_server(&authority, &authority.issue("server"), true).await;
    let (_expired_node, expired) =
        start_tls_server(&authority, &authority.issue_expired("old"), false).await;
    let identity_of = |identity: Identity| CredentialFiles {
        identity: Some((identity.certificate, identity.key)),
        ..credentials_trusting(&authority)
    };
    for (case, config, expected) in [
        (
            "unknown authority",
            group_config(port, credentials_trusting(&other_authority)),
            "UnknownIssuer",
        ),
        (
            "expired",
            group_config(expired, credentials_trusting(&authority)),
            "expired",
        ),
        (
            "no client certificate",
            group_config(port, credentials_trusting(&authority)),
            "",
        ),
        (
            "client certificate of another authority",
            group_config(port, identity_of(other_authority.issue("console"))),
            "",
        ),
    ] {
        let view = first_node_view(config).await;
        let reason = view.reason.unwrap();
        assert_eq!(view.state, NodeState::Down, "{case}: {reason}");
        assert!(
            reason
                .to_string()
                .to_lowercase()
                .contains(&expected.to_lowercase()),
            "{case}: {reason}"
        );
    }
}

#[tokio::test]
async fn a_replaced_ca_certificate_is_used_without_a_restart() {
    let authority = CertificateAuthority::new();
    let (_node, port) = start_tls_server(&authority, &authority.issue("server"), false).await;
    let other_authority = CertificateAuthority::new();
    let trusted = tempfile::NamedTempFile::new().unwrap();
    std::fs::copy(other_authority.ca_file(), trusted.path()).unwrap();
    let files = CredentialFiles {
        ca: Some(trusted.path().to_owned()),
        ..CredentialFiles::default()
    };
    let group = TestGroup::start(group_config(port, files));
    group.wait_for_node(0, |view| view.since.is_some()).await;
    std::fs::copy(authority.ca_file(), trusted.path()).unwrap();
    group.wait_until_up().await;
}
