//! Groups in ZooKeeper, with real servers and the clients of real libraries.

mod acquire;
mod force_release;
mod outages;
mod products;
mod recipes;
mod scale;

use std::sync::Arc;

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::GroupConfig;
use lockkeeper::server::stores::{Group, GroupOptions};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::support::console::{ApiClient, TestConsole};
use crate::support::wait_for;
use crate::support::zookeeper::ZookeeperServers;

/// Starts a console on these servers, and waits until changes are reported.
async fn start_console(servers: &ZookeeperServers) -> (TestConsole, ApiClient) {
    let console = TestConsole::start(vec![servers.config()]).await;
    let api = console.api();
    wait_for("changes are watched", async || {
        let groups = api.get("/api/v1/groups").await.json();
        (groups["groups"][0]["nodes"][0]["feed"] == "watch").then_some(())
    })
    .await;
    (console, api)
}

/// Starts a group without a console. It is stopped when the token is cancelled.
fn start_group(config: GroupConfig) -> (Arc<Group>, CancellationToken) {
    let stop = CancellationToken::new();
    let options = GroupOptions {
        closing: stop.clone(),
        stop: stop.clone(),
        history: Default::default(),
        observations: Default::default(),
    };
    (Group::start(config, options, Clock::system()), stop)
}

/// The path of a lock in the API.
fn lock_url(key: &str) -> String {
    format!("/api/v1/groups/zk/locks/{}", key.replace('/', "%2F"))
}

/// Waits until the lock is shown with the first owner that has this label, and returns the lock.
async fn wait_for_owner(api: &ApiClient, key: &str, label: &str) -> Value {
    wait_for(&format!("{key} is held by {label}"), async || {
        let response = api.get(&lock_url(key)).await;
        let lock = (response.status == 200).then(|| response.json())?;
        (lock["verdict"] == "held" && lock["owner"]["label"] == label).then_some(lock)
    })
    .await
}

/// Waits until the lock is not observed any more.
async fn wait_until_gone(api: &ApiClient, key: &str) {
    wait_for(&format!("{key} is gone"), async || {
        (api.get(&lock_url(key)).await.status == 404).then_some(())
    })
    .await;
}
