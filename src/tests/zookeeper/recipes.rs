//! Locks of real libraries are shown with library, owner and queue.

use std::path::PathBuf;

use lockkeeper::domain::LockKey;
use lockkeeper::server::config::ServiceConfig;
use lockkeeper::server::stores::{CallError, ReadCause};
use serde_json::Value;

use super::{lock_url, start_console, start_group, wait_for_owner, wait_until_gone};
use crate::support::certificates::CertificateAuthority;
use crate::support::console::{ApiClient, TestConsole};
use crate::support::lock_client::LockClient;
use crate::support::redis_nodes::free_port;
use crate::support::wait_for;
use crate::support::zookeeper::ZookeeperServers;

/// Waits until the lock has this many waiters, and returns their labels in order.
async fn wait_for_waiters(api: &ApiClient, key: &str, count: usize) -> Vec<String> {
    wait_for(&format!("{key} has {count} waiters"), async || {
        let waits = api.get("/api/v1/waits?group=zk").await.json();
        let locks = waits["locks"].as_array()?.clone();
        let lock = locks.into_iter().find(|lock| lock["lock"]["key"] == key)?;
        let waiters = lock["waiters"].as_array()?.clone();
        let label = |waiter: &Value| waiter["label"].as_str().unwrap_or_default().to_owned();
        assert!(
            waiters
                .iter()
                .all(|waiter| waiter["waiting_since"].is_string())
        );
        (waiters.len() == count).then(|| waiters.iter().map(label).collect())
    })
    .await
}

fn owner_labels(lock: &Value) -> Vec<&str> {
    let owners = lock["owners"].as_array().unwrap();
    let mut labels: Vec<&str> = owners
        .iter()
        .map(|owner| owner["label"].as_str().unwrap())
        .collect();
    labels.sort_unstable();
    labels
}

#[tokio::test]
async fn locks_of_kazoo_are_shown_with_owner_and_queue() {
    let servers = ZookeeperServers::start(1).await;
    let (_console, api) = start_console(&servers).await;
    let mut kazoo = LockClient::kazoo(&servers).await;
    kazoo.hold("lock", "/locks/orders", "web-1:pid42").await;
    kazoo.send("lock /locks/orders own:web-2").await;
    let lock = wait_for_owner(&api, "/locks/orders", "web-1:pid42").await;
    assert_eq!(lock["format"], "kazoo");
    assert_eq!(lock["mode"], "exclusive");
    assert_eq!(lock["ends_with_session"], true, "{lock}");
    assert_eq!(lock["acquired_at_source"], "claimed");
    let waiters = wait_for_waiters(&api, "/locks/orders", 1).await;
    assert_eq!(waiters, ["own:web-2"]);
    kazoo.send("release web-1:pid42").await;
    kazoo.wait_for("held own:web-2").await;
    wait_for_owner(&api, "/locks/orders", "own:web-2").await;
    kazoo.send("release own:web-2").await;
    wait_until_gone(&api, "/locks/orders").await;

    kazoo.hold("read", "/locks/rw", "r1").await;
    kazoo.hold("read", "/locks/rw", "own:r2").await;
    kazoo.send("write /locks/rw own:w").await;
    wait_for_waiters(&api, "/locks/rw", 1).await;
    // Readers are equal: either may be listed first.
    let lock = wait_for("both readers are shown", async || {
        let response = api.get(&lock_url("/locks/rw")).await;
        let lock = (response.status == 200).then(|| response.json())?;
        (owner_labels(&lock) == ["own:r2", "r1"]).then_some(lock)
    })
    .await;
    assert_eq!(lock["format"], "kazoo-read-write");
    assert_eq!(lock["mode"], "shared");

    for holder in ["own:s1", "own:s2"] {
        kazoo.hold("semaphore", "/locks/sem", holder).await;
    }
    kazoo.send("semaphore /locks/sem own:s3").await;
    assert_eq!(wait_for_waiters(&api, "/locks/sem", 1).await, ["own:s3"]);
    let lock = wait_for("both owners of leases are shown", async || {
        let response = api.get(&lock_url("/locks/sem")).await;
        let lock = (response.status == 200).then(|| response.json())?;
        (owner_labels(&lock) == ["own:s1", "own:s2"]).then_some(lock)
    })
    .await;
    assert_eq!(lock["format"], "kazoo-semaphore");
    // The directory of the waiters is no lock of its own.
    assert_eq!(api.get(&lock_url("/locks/sem-__lock__")).await.status, 404);

    kazoo.hold("persistent", "/locks/forever", "batch").await;
    let lock = wait_for_owner(&api, "/locks/forever", "batch").await;
    assert!(
        lock["flags"]
            .as_array()
            .unwrap()
            .contains(&"no-expiry".into()),
        "{lock}"
    );

    kazoo
        .send("set /locks/shedlock/report 2099-01-01T00:00:00.000Z")
        .await;
    kazoo.wait_for("set /locks/shedlock/report").await;
    let lock = wait_for("the lock of ShedLock is shown", async || {
        let response = api.get(&lock_url("/locks/shedlock/report")).await;
        (response.status == 200).then(|| response.json())
    })
    .await;
    assert_eq!(lock["format"], "shedlock");
    assert_eq!(lock["expires_at"], "2099-01-01T00:00:00.000Z");
    kazoo
        .send("set /locks/shedlock/report 2020-01-01T00:00:00.000Z")
        .await;
    wait_until_gone(&api, "/locks/shedlock/report").await;
}

#[tokio::test]
async fn locks_of_curator_are_shown_with_owner_and_queue() {
    let servers = ZookeeperServers::start(1).await;
    let mut curator = LockClient::curator(&servers).await;
    // These are found by the walk, the others by the watch.
    curator.hold("mutex", "/locks/mutex", "a").await;
    curator.hold("semaphore", "/locks/sem", "worker-7").await;
    let (_console, api) = start_console(&servers).await;
    let lock = wait_for_owner(&api, "/locks/mutex", "127.0.0.1").await;
    assert_eq!(lock["format"], "curator");
    curator.send("mutex /locks/mutex b").await;
    wait_for_waiters(&api, "/locks/mutex", 1).await;
    curator.send("release a").await;
    curator.wait_for("held b").await;
    let next = wait_for("the waiter is shown as the owner", async || {
        let next = api.get(&lock_url("/locks/mutex")).await.json();
        (next["owner"]["fingerprint"] != lock["owner"]["fingerprint"]).then_some(next)
    })
    .await;
    assert_eq!(next["verdict"], "held");

    curator.hold("semaphore", "/locks/sem", "worker-8").await;
    curator.send("semaphore /locks/sem worker-9").await;
    wait_for_waiters(&api, "/locks/sem", 1).await;
    let lock = wait_for("both permits are shown", async || {
        let lock = api.get(&lock_url("/locks/sem")).await.json();
        (lock["owners"].as_array()?.len() == 2).then_some(lock)
    })
    .await;
    assert_eq!(lock["format"], "curator-semaphore");
    assert_eq!(owner_labels(&lock), ["worker-7", "worker-8"]);

    curator
        .hold("write", "/locks/rw", "order-service@web-7")
        .await;
    curator.send("read /locks/rw reader").await;
    assert_eq!(wait_for_waiters(&api, "/locks/rw", 1).await, ["reader"]);
    let lock = wait_for_owner(&api, "/locks/rw", "order-service@web-7").await;
    assert_eq!(
        (lock["format"].as_str(), lock["mode"].as_str()),
        (Some("curator-read-write"), Some("exclusive"))
    );

    curator.hold("latch", "/locks/leader", "node-1").await;
    let lock = wait_for_owner(&api, "/locks/leader", "node-1").await;
    assert_eq!(lock["format"], "curator-leader-latch");
}

#[tokio::test]
async fn a_killed_owner_is_shown_with_the_end_of_its_session() {
    let servers = ZookeeperServers::start(3).await;
    let (_console, api) = start_console(&servers).await;
    let mut kazoo = LockClient::kazoo(&servers).await;
    kazoo.hold("lock", "/locks/orders", "web-1").await;
    let lock = wait_for_owner(&api, "/locks/orders", "web-1").await;
    assert_eq!(lock["lease_ms"], Value::Null);
    kazoo.kill().await;
    let lease_ms = wait_for("the end of the session is shown", async || {
        let lock = api.get(&lock_url("/locks/orders")).await.json();
        lock["lease_ms"].as_u64()
    })
    .await;
    // The session of the client has a timeout of 10 s; deadlines are rounded up to a tick.
    assert!(lease_ms <= 11_500, "{lease_ms}");
    wait_until_gone(&api, "/locks/orders").await;
}

#[tokio::test]
async fn a_directory_that_may_not_be_read_is_named() {
    let servers = ZookeeperServers::start(1).await;
    let mut kazoo = LockClient::kazoo(&servers).await;
    kazoo.hold("lock", "/locks/open", "web-1").await;
    kazoo.send("deny /locks/secret").await;
    kazoo.wait_for("denied /locks/secret").await;
    let (_console, api) = start_console(&servers).await;
    wait_for_owner(&api, "/locks/open", "web-1").await;
    let missing = wait_for("the missing permission is shown", async || {
        let node = api.first_node().await;
        node["missing_permissions"].as_array()?.first().cloned()
    })
    .await;
    assert_eq!(missing["permission"], "READ on /locks/secret");
    // A known lock that may not be read any more is not gone.
    kazoo.send("deny /locks/open").await;
    kazoo.wait_for("denied /locks/open").await;
    let (group, stop) = start_group(servers.config());
    group.wait_for_first_attempts().await;
    let key = LockKey::from("/locks/open");
    let reading = wait_for("the lock is read", async || {
        let keys = std::slice::from_ref(&key);
        let reading = group.read_locks(keys, ReadCause::Routine, &[]).await;
        let denied = reading
            .nodes
            .into_iter()
            .find(|node| matches!(&node.result, Err(CallError::Rejected { .. })));
        denied.map(|node| node.result)
    })
    .await;
    let Err(error) = reading else {
        panic!("{reading:?}");
    };
    assert!(error.reason().to_string().contains("NoAuth"), "{error:?}");
    stop.cancel();
}

#[tokio::test]
async fn servers_are_shown_without_more_than_srvr() {
    let servers = ZookeeperServers::start_with(1, "4lw.commands.whitelist=srvr").await;
    let (_console, api) = start_console(&servers).await;
    let mut kazoo = LockClient::kazoo(&servers).await;
    kazoo.hold("lock", "/locks/orders", "web-1").await;
    let lock = wait_for_owner(&api, "/locks/orders", "web-1").await;
    assert_eq!(lock["ends_with_session"], true);
    let node = api.first_node().await;
    assert_eq!(node["state"], "up");
    assert!(
        node["version"].as_str().unwrap().starts_with("3."),
        "{node}"
    );
}

#[tokio::test]
async fn the_admin_server_shows_sessions_if_its_port_is_configured() {
    let port = free_port();
    let lines = format!(
        "4lw.commands.whitelist=srvr\nadmin.enableServer=true\nadmin.serverPort={port}\nadmin.serverAddress=127.0.0.1"
    );
    let servers = ZookeeperServers::start_with(1, &lines).await;
    let mut config = servers.config();
    if let ServiceConfig::Zookeeper(zookeeper) = &mut config.service {
        zookeeper.admin_port = Some(port);
    }
    let console = TestConsole::start(vec![config]).await;
    let api = console.api();
    let mut kazoo = LockClient::kazoo(&servers).await;
    kazoo.hold("lock", "/locks/orders", "web-1").await;
    wait_for_owner(&api, "/locks/orders", "web-1").await;
    kazoo.kill().await;
    wait_for("the end of the session is shown", async || {
        let lock = api.get(&lock_url("/locks/orders")).await.json();
        lock["lease_ms"].as_u64()
    })
    .await;
}

#[tokio::test]
async fn servers_are_reached_over_tls_with_the_configured_authority() {
    let authority = CertificateAuthority::new();
    let identity = authority.issue("zookeeper");
    let (key, certificate) = (
        std::fs::read_to_string(&identity.key).unwrap(),
        std::fs::read_to_string(&identity.certificate).unwrap(),
    );
    let key_store = identity.certificate.with_extension("store.pem");
    std::fs::write(&key_store, format!("{key}{certificate}")).unwrap();
    let port = free_port();
    let lines = [
        format!("secureClientPort={port}"),
        "secureClientPortAddress=127.0.0.1".to_owned(),
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory".to_owned(),
        format!("ssl.keyStore.location={}", key_store.display()),
        "ssl.keyStore.type=PEM".to_owned(),
        format!("ssl.trustStore.location={}", authority.ca_file().display()),
        "ssl.trustStore.type=PEM".to_owned(),
        "ssl.clientAuth=none".to_owned(),
    ];
    let servers = ZookeeperServers::start_with(1, &lines.join("\n")).await;
    let mut kazoo = LockClient::kazoo(&servers).await;
    kazoo.hold("lock", "/locks/orders", "web-1").await;
    let config = |name: &str, ca: Option<PathBuf>| {
        let mut config = servers.config();
        config.name = name.to_owned();
        if let ServiceConfig::Zookeeper(zookeeper) = &mut config.service {
            zookeeper.servers = vec![format!("127.0.0.1:{port}")];
            zookeeper.tls = true;
            zookeeper.credentials.files.ca = ca;
        }
        config
    };
    let trusting = config("zk", Some(authority.ca_file()));
    let console = TestConsole::start(vec![trusting, config("mistrusting", None)]).await;
    let api = console.api();
    wait_for_owner(&api, "/locks/orders", "web-1").await;
    let reason = wait_for("the certificate is rejected", async || {
        let groups = api.get("/api/v1/groups").await.json();
        let groups = groups["groups"].as_array()?.clone();
        let group = groups
            .into_iter()
            .find(|group| group["name"] == "mistrusting")?;
        let reason = group["nodes"][0]["reason"].clone();
        (reason["code"] == "tls").then_some(reason)
    })
    .await;
    assert!(
        reason["message"]
            .as_str()
            .unwrap()
            .contains("UnknownIssuer"),
        "{reason}"
    );
}
