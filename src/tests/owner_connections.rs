//! The connections of an owner as a sign of life: the advice has them as a fact, and they are listed
//! seldom.

use redis::aio::MultiplexedConnection;
use serde_json::Value;

use crate::support::console::{ApiClient, TestConsole};
use crate::support::redis_nodes::{RedisNodes, config_for_urls};
use crate::support::{run_command, wait_for};

const LOCK: &str = "/api/v1/groups/orders/locks/job-lock%3Aprod%3Aa";

/// A ShedLock key, whose value names the host.
async fn hold(nodes: &RedisNodes, host: &str) {
    let value =
        format!("ADDED:2026-11-21T03:00:00.000Z@{host}:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05");
    let key = b"job-lock:prod:a";
    nodes.set(0, key, value.as_bytes(), Some(600_000)).await;
}

async fn named_client(nodes: &RedisNodes, name: &str) -> MultiplexedConnection {
    let mut client = nodes.0[0].client().await;
    let _: String = run_command(&mut client, &format!("CLIENT SETNAME {name}")).await;
    client
}

/// The fact of this kind in the advice, once the lock is observed.
async fn fact(api: &ApiClient, kind: &str) -> Value {
    wait_for(&format!("the fact {kind}"), async || {
        let lock = api.get(LOCK).await.json();
        let reasons = lock["release_advice"]["reasons"].as_array()?.clone();
        reasons.into_iter().find(|reason| reason["kind"] == kind)
    })
    .await
}

#[tokio::test]
async fn the_connections_of_the_owner_are_a_fact_of_the_advice() {
    let nodes = RedisNodes::start(1).await;
    hold(&nodes, "worker-3").await;
    let _owner = named_client(&nodes, "worker-3").await;
    let _other = named_client(&nodes, "worker-31").await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let connected = fact(&api, "connected").await;
    assert_eq!(
        (&connected["client"], &connected["count"]),
        (&"worker-3".into(), &1.into())
    );
    assert_eq!(connected["address"], "127.0.0.1");

    // Further requests within five seconds, for the lock and for the page of its owner, list no
    // connections again.
    let mut admin = nodes.0[0].client().await;
    for _ in 0..20 {
        api.get(LOCK).await;
        api.get("/api/v1/owners/worker-3").await;
        api.get("/owners/worker-3").await;
    }
    let stats: String = run_command(&mut admin, "INFO commandstats").await;
    let mut lines = stats.lines();
    let listed = lines.find_map(|line| line.strip_prefix("cmdstat_client|list:calls="));
    let calls: u64 = listed.unwrap().split(',').next().unwrap().parse().unwrap();
    assert!(calls < 20, "{stats}");
    let page = api
        .get("/groups/orders/locks/job-lock%3Aprod%3Aa")
        .await
        .text;
    assert!(page.contains("1 connection of worker-3 (127.0.0.1)"));
    console.stop().await;
}

#[tokio::test]
async fn an_owner_without_connections_is_reported_with_those_that_have_no_name() {
    let nodes = RedisNodes::start(1).await;
    hold(&nodes, "worker-9").await;
    let _other = named_client(&nodes, "worker-31").await;
    let _unnamed = nodes.0[0].client().await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let absent = fact(&api, "not-connected").await;
    assert_eq!((&absent["nodes"], &absent["total"]), (&1.into(), &1.into()));
    assert!(absent["unnamed"].as_u64() >= Some(1), "{absent}");
    console.stop().await;
}

#[tokio::test]
async fn without_the_permission_the_advice_names_it() {
    let nodes = RedisNodes::start(1).await;
    hold(&nodes, "worker-3").await;
    let mut admin = nodes.0[0].client().await;
    let user = "ACL SETUSER console on >secret ~* &* +@all -client|list";
    let _: String = run_command(&mut admin, user).await;
    let url = format!("redis://console:secret@127.0.0.1:{}", nodes.0[0].port());
    let console = TestConsole::start(vec![config_for_urls(&[url])]).await;
    let api = console.api();
    let denied = fact(&api, "connections-denied").await;
    assert_eq!(denied["client"], "worker-3");
    let text = api
        .get("/groups/orders/locks/job-lock%3Aprod%3Aa")
        .await
        .text;
    assert!(text.contains("+client|list"));
    console.stop().await;
}
