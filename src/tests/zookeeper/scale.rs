//! Many locks, and many contenders for one.

use std::time::Instant;

use super::{lock_url, start_console};
use crate::support::console::TestConsole;
use crate::support::lock_client::LockClient;
use crate::support::wait_for;
use crate::support::zookeeper::ZookeeperServers;

#[tokio::test]
async fn five_thousand_locks_are_listed() {
    let servers = ZookeeperServers::start(1).await;
    let mut curator = LockClient::curator(&servers).await;
    curator.send("fill /locks 5000").await;
    curator.wait_for("filled 5000").await;
    let started = Instant::now();
    let console = TestConsole::start(vec![servers.config()]).await;
    console.api().wait_for_lock_count(5_000).await;
    println!("5,000 locks listed after {:?}", started.elapsed());
}

#[tokio::test]
async fn fifteen_thousand_contenders_of_one_lock_are_counted() {
    let servers = ZookeeperServers::start(1).await;
    let mut curator = LockClient::curator(&servers).await;
    curator.send("crowd /locks/popular 15000").await;
    curator.wait_for("crowded 15000").await;
    let (_console, api) = start_console(&servers).await;
    wait_for("the queue is counted", async || {
        let response = api.get(&lock_url("/locks/popular")).await;
        let lock = (response.status == 200).then(|| response.json())?;
        let evidence = lock["evidence"].as_array()?.clone();
        let queue = evidence.into_iter().find(|item| item["kind"] == "queue")?;
        (queue["value"] == 14_999).then_some(())
    })
    .await;
}

#[tokio::test]
async fn changes_are_published_at_once() {
    let servers = ZookeeperServers::start(1).await;
    let (_console, api) = start_console(&servers).await;
    let mut kazoo = LockClient::kazoo(&servers).await;
    let mut events = api.subscribe("?group=zk", None).await;
    let mut latencies = Vec::new();
    for n in 0..50 {
        let key = format!("/locks/job-{n}");
        let started = Instant::now();
        kazoo.send(&format!("lock {key} job-{n}")).await;
        events
            .wait_for(|event| event.event == "change" && event.data["lock"]["key"] == *key)
            .await;
        latencies.push(started.elapsed());
    }
    latencies.sort_unstable();
    // Includes the time that kazoo needs to acquire the lock.
    println!(
        "from the client's call to the event: median {:?}",
        latencies[25]
    );
}
