//! Faults of the cluster: no lock is reported as gone that is still held, and what is not known is
//! reported as unknown.

use std::time::Duration;

use lockkeeper::domain::reason::Reason;
use lockkeeper::domain::{FeedLevel, NodeState, ReplicationRole};
use lockkeeper::server::config::{CredentialFiles, ServiceCredentials};
use lockkeeper::server::stores::etcd::client::{LeaseId, encode};
use serde_json::json;

use super::{read, wait_for_lock};
use crate::support::certificates::CertificateAuthority;
use crate::support::console::TestConsole;
use crate::support::etcd::{EtcdCluster, EtcdGroup, EtcdProcess, config, url};
use crate::support::proxy::Proxy;
use crate::support::{wait_for, wait_until};

/// Starts a cluster and a console that shows a lock of `etcdctl`.
async fn start_with_held_lock() -> (EtcdCluster, TestConsole, EtcdProcess) {
    let cluster = EtcdCluster::start(3).await;
    let console = TestConsole::start(vec![cluster.config(&["jobs/"])]).await;
    let mut holder = cluster.spawn_etcdctl(&["lock", "jobs/nightly", "--ttl", "60"]);
    holder.next_line().await;
    console.api().wait_for_lock_count(1).await;
    (cluster, console, holder)
}

#[tokio::test]
async fn no_lock_is_gone_while_the_leader_is_replaced() {
    let cluster = EtcdCluster::start(3).await;
    let group = cluster.group(&["jobs/"]).await;
    let client = cluster.client();
    client
        .grant(LeaseId(7), Duration::from_secs(600))
        .await
        .unwrap();
    let put = json!({ "request_put": { "key": encode(b"jobs/a/7"), "lease": LeaseId(7) } });
    client.txn(&json!({ "success": [put] })).await.unwrap();
    let before = wait_for_lock(&group, "jobs/a").await;
    let leader = cluster.leader().await;
    cluster.members[leader].kill().await;
    let mut unknown = 0;
    let mut held = 0;
    // Until the lock has been read ten times from the new leader.
    while held < 10 {
        match read(&group, "jobs/a").await {
            Ok(lock) => {
                let lock = lock.expect("the lock is not gone");
                assert_eq!(lock.owners, before.owners);
                held += 1;
            }
            Err(_) => unknown += 1,
        }
    }
    assert!(unknown < 10_000, "{unknown}");
    wait_until(
        "the killed member is down and another one leads",
        async || {
            let views = group.node_views();
            let leads = |role| role == Some(ReplicationRole::Leader);
            views[leader].state == NodeState::Down && views.iter().any(|view| leads(view.role))
        },
    )
    .await;
}

#[tokio::test]
async fn without_a_majority_locks_are_unknown_and_not_gone() {
    let (cluster, console, _holder) = start_with_held_lock().await;
    let api = console.api();
    for member in &cluster.members[1..] {
        member.kill().await;
    }
    wait_until("the verdict is unknown", async || {
        let locks = api.get("/api/v1/locks").await.json();
        assert_eq!(locks["total"], 1, "the lock is not gone");
        locks["locks"][0]["verdict"] == "unknown"
    })
    .await;
    wait_until("the remaining member has no leader", async || {
        let groups = api.get("/api/v1/groups").await.json();
        let node = groups["groups"][0]["nodes"][0].clone();
        node["state"] == "down" && node["reason"]["message"] == "etcd has no leader"
    })
    .await;
    for member in &cluster.members[1..] {
        member.spawn();
    }
    wait_until("the lock is held again", async || {
        let locks = api.get("/api/v1/locks").await.json();
        locks["locks"][0]["verdict"] == "held"
    })
    .await;
}

#[tokio::test]
async fn changes_during_an_outage_of_the_network_are_found_after_a_compaction() {
    let cluster = EtcdCluster::start(1).await;
    let proxy = Proxy::in_front_of(cluster.members[0].port()).await;
    let group = config(
        vec![url(proxy.port())],
        &["jobs/"],
        ServiceCredentials::default(),
    );
    let console = TestConsole::start(vec![group]).await;
    let api = console.api();
    let mut first = cluster.spawn_etcdctl(&["lock", "jobs/first"]);
    first.next_line().await;
    api.wait_for_lock_count(1).await;
    proxy.cut();
    first.interrupt().await;
    let mut second = cluster.spawn_etcdctl(&["lock", "jobs/second"]);
    second.next_line().await;
    let status = cluster.client().status(0).await.unwrap();
    let revision = status.header.revision.to_string();
    cluster.etcdctl(&["compact", &revision]).await;
    proxy.heal();
    wait_until("only the new lock is listed", async || {
        let locks = api.get("/api/v1/locks").await.json();
        locks["total"] == 1 && locks["locks"][0]["key"] == "jobs/second"
    })
    .await;
}

#[tokio::test]
async fn a_watch_continues_without_a_gap_on_another_member() {
    let (cluster, console, mut holder) = start_with_held_lock().await;
    let api = console.api();
    // Whichever member is watched: two restarts, one after the other, hit it or its successor.
    for member in 0..2 {
        cluster.members[member].kill().await;
        cluster.members[member].spawn();
        cluster.wait_until_serving().await;
    }
    let mut waiter = cluster.spawn_etcdctl(&["lock", "jobs/nightly"]);
    holder.interrupt().await;
    waiter.next_line().await;
    wait_until("the next owner is shown, and every change", async || {
        let groups = api.get("/api/v1/groups").await.json();
        let nodes = groups["groups"][0]["nodes"].as_array().unwrap().clone();
        let locks = api.get("/api/v1/locks").await.json();
        nodes.iter().all(|node| node["feed"] == "watch")
            && locks["locks"][0]["verdict"] == "held"
            && locks["locks"][0]["evidence"]
                .as_array()
                .is_none_or(Vec::is_empty)
    })
    .await;
}

#[tokio::test]
async fn a_lease_that_is_revoked_ends_its_locks() {
    let cluster = EtcdCluster::start(1).await;
    let console = TestConsole::start(vec![cluster.config(&["jobs/"])]).await;
    let api = console.api();
    let client = cluster.client();
    client
        .grant(LeaseId(9), Duration::from_secs(600))
        .await
        .unwrap();
    for key in ["jobs/a/9", "jobs/b/9"] {
        let put = json!({ "request_put": { "key": encode(key.as_bytes()), "lease": LeaseId(9) } });
        client.txn(&json!({ "success": [put] })).await.unwrap();
    }
    api.wait_for_lock_count(2).await;
    client.revoke(LeaseId(9)).await.unwrap();
    api.wait_for_lock_count(0).await;
}

#[tokio::test]
async fn a_wrong_password_is_a_refused_state_and_a_token_is_renewed() {
    // A token is valid for 2 s.
    let cluster = EtcdCluster::start_with(1, &["--auth-token-ttl", "2"]).await;
    for command in [
        "user add root:secret",
        "user grant-role root root",
        "role add viewer",
        "role grant-permission viewer --prefix=true read jobs/",
        "user add viewer:secret",
        "user grant-role viewer viewer",
        "auth enable",
    ] {
        let arguments: Vec<&str> = command.split(' ').collect();
        cluster.etcdctl(&arguments).await;
    }
    let credentials = |password: &str| ServiceCredentials {
        username: Some("viewer".to_owned()),
        password: Some(password.to_owned()),
        ..ServiceCredentials::default()
    };
    let with = |password| config(cluster.endpoints(), &["jobs/"], credentials(password));
    let refused = EtcdGroup::start(with("wrong")).await;
    let view = wait_for("the member is refused", async || {
        let view = refused.node_views().remove(0);
        (view.state == NodeState::Refused).then_some(view)
    })
    .await;
    let reason = view.reason.unwrap().to_string();
    assert!(
        reason.contains("rejected the user name or password"),
        "{reason}"
    );
    assert!(read(&refused, "jobs/a").await.is_err());

    let group = EtcdGroup::start(with("secret")).await;
    assert_eq!(read(&group, "jobs/a").await, Ok(None));
    // Another prefix than the permitted one is unknown, not gone.
    let other = config(cluster.endpoints(), &["other/"], credentials("secret"));
    let other = EtcdGroup::start(other).await;
    let error = read(&other, "other/a").await.unwrap_err();
    assert!(error.contains("permission denied"), "{error}");
    // The first token has expired when a member has been checked for longer than its validity.
    let since = group.node_views()[0].since.unwrap();
    wait_until("the token has expired", async || {
        let view = group.node_views().remove(0);
        assert_eq!(view.state, NodeState::Up);
        view.last_reply_at
            .is_some_and(|at| at.millis_since(since) > 4_000)
    })
    .await;
    assert_eq!(read(&group, "jobs/a").await, Ok(None));
    assert_ne!(
        group.node_views()[0].feed,
        FeedLevel::Watch,
        "nothing is watched"
    );
}

#[tokio::test]
async fn tls_with_a_client_certificate_is_supported_and_its_errors_are_reported() {
    let authority = CertificateAuthority::new();
    let cluster = EtcdCluster::start_with_tls(&authority).await;
    let group = cluster.group(&["jobs/"]).await;
    assert_eq!(group.node_views()[0].state, NodeState::Up);
    assert_eq!(read(&group, "jobs/a").await, Ok(None));

    let stranger = CertificateAuthority::new();
    let other_ca = CredentialFiles {
        ca: Some(stranger.ca_file()),
        ..CredentialFiles::default()
    };
    let no_certificate = CredentialFiles {
        identity: None,
        ..cluster.credentials().files
    };
    for files in [other_ca, no_certificate] {
        let credentials = ServiceCredentials {
            files,
            ..ServiceCredentials::default()
        };
        let group = config(cluster.endpoints(), &["jobs/"], credentials);
        let group = EtcdGroup::start(group).await;
        let view = wait_for("the member was tried", async || {
            let view = group.node_views().remove(0);
            view.since.map(|_| view)
        })
        .await;
        assert_eq!(view.state, NodeState::Down);
        assert!(
            matches!(view.reason, Some(Reason::Tls { .. })),
            "{:?}",
            view.reason
        );
        assert!(read(&group, "jobs/a").await.is_err());
    }
}

#[tokio::test]
async fn members_report_their_lag_and_their_metrics_name_the_leader() {
    let cluster = EtcdCluster::start(3).await;
    let group = cluster.group(&["jobs/"]).await;
    wait_until("every member reports its lag", async || {
        group.node_views().iter().all(|view| view.lag.is_some())
    })
    .await;
    let leader = cluster.leader().await;
    let client = cluster.client();
    for member in 0..3 {
        let metrics = client.metrics(member).await.unwrap();
        assert_eq!(metrics.is_leader, Some(member == leader), "{metrics:?}");
        assert_eq!(metrics.has_leader, Some(true));
        assert!(metrics.version.unwrap().starts_with("3."));
    }
}
