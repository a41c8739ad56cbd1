//! What the console shows of locks in etcd, and that it shows changes by itself.

use lockkeeper::domain::{Format, Lease, LockKey};
use lockkeeper::server::stores::etcd::client::{KeyRange, Order};

use super::{owner, wait_for_lock, wait_for_queue};
use crate::support::console::{ApiClient, TestConsole};
use crate::support::etcd::EtcdCluster;
use crate::support::{wait_for, wait_until};

const PREFIXES: [&str; 3] = ["jobs/", "leader/", "/locks/"];

async fn start_console(cluster: &EtcdCluster) -> (TestConsole, ApiClient) {
    let console = TestConsole::start(vec![cluster.config(&PREFIXES)]).await;
    let api = console.api();
    wait_until("all prefixes are watched", async || {
        let groups = api.get("/api/v1/groups").await.json();
        let nodes = groups["groups"][0]["nodes"].as_array().unwrap().clone();
        nodes.iter().all(|node| node["feed"] == "watch")
    })
    .await;
    (console, api)
}

async fn lock(api: &ApiClient, key: &str) -> Option<serde_json::Value> {
    let locks = api.get("/api/v1/locks").await.json();
    let locks = locks["locks"].as_array().unwrap().clone();
    locks.into_iter().find(|lock| lock["key"] == key)
}

#[tokio::test]
async fn locks_of_real_clients_are_recognised_with_their_queues() {
    let cluster = EtcdCluster::start(1).await;
    let group = cluster.group(&PREFIXES).await;
    let mut holder = cluster.spawn_etcdctl(&["lock", "jobs/nightly", "--ttl", "20"]);
    let holder_key = holder.next_line().await;
    let _second = cluster.spawn_etcdctl(&["lock", "jobs/nightly"]);
    wait_for_queue(&group, "jobs/nightly", 1).await;
    let _third = cluster.spawn_etcdctl(&["lock", "jobs/nightly"]);
    let mutex = wait_for_queue(&group, "jobs/nightly", 2).await;
    assert_eq!(owner(&mutex), (Format::EtcdMutex, None));
    let Lease::Expires { left_ms, .. } = mutex.lease else {
        panic!("{mutex:?}");
    };
    assert!(left_ms <= 20_000, "{left_ms}");
    let range = KeyRange::key(holder_key.as_bytes());
    let stored = cluster.client().range(&range, Order::Key, 1).await.unwrap();
    assert_eq!(stored.body.count, 1, "the first client holds the lock");

    let mut leader = cluster.spawn_etcdctl(&["elect", "leader/scheduler", "node-a"]);
    leader.next_line().await;
    let _candidate = cluster.spawn_etcdctl(&["elect", "leader/scheduler", "node-b"]);
    let election = wait_for_queue(&group, "leader/scheduler", 1).await;
    assert_eq!(owner(&election), (Format::EtcdElection, Some("node-a")));
    let queues = group.read_queues(&["leader/scheduler".into()]).await;
    let queue = &queues[0].result.as_ref().unwrap()[0];
    assert_eq!(queue.length, 1);
    assert_eq!(queue.head[0].label.as_deref(), Some("node-b"));

    let mut python = cluster.spawn_etcd3gw("orders", "20");
    assert_eq!(python.next_line().await, "acquired");
    let python = wait_for_lock(&group, "/locks/orders").await;
    assert_eq!(python.format, Format::Etcd3gw);
    assert_eq!(python.waiter_count, None);
}

#[tokio::test]
async fn a_change_is_shown_without_polling() {
    let cluster = EtcdCluster::start(3).await;
    let (_console, api) = start_console(&cluster).await;
    let mut holder = cluster.spawn_etcdctl(&["lock", "jobs/nightly"]);
    holder.next_line().await;
    let first = wait_for("the lock is listed", async || {
        lock(&api, "jobs/nightly").await
    })
    .await;
    assert_eq!(first["verdict"], "held");
    assert_eq!(first["format"], "etcd-mutex");
    let mut next = cluster.spawn_etcdctl(&["lock", "jobs/nightly"]);
    wait_until("the waiter is evidence of contention", async || {
        let lock = lock(&api, "jobs/nightly").await.unwrap();
        lock["evidence"][0]["kind"] == "queue" && lock["evidence"][0]["value"] == 1
    })
    .await;
    holder.interrupt().await;
    next.next_line().await;
    wait_until("the next owner is shown", async || {
        let lock = lock(&api, "jobs/nightly").await.unwrap();
        lock["owner"]["fingerprint"] != first["owner"]["fingerprint"]
    })
    .await;
    next.interrupt().await;
    wait_until("the lock is gone", async || {
        lock(&api, "jobs/nightly").await.is_none()
    })
    .await;
}

#[tokio::test]
async fn renewals_are_counted_although_etcd_reports_none() {
    let cluster = EtcdCluster::start(1).await;
    let (_console, api) = start_console(&cluster).await;
    let mut holder = cluster.spawn_etcdctl(&["lock", "jobs/nightly", "--ttl", "6"]);
    holder.next_line().await;
    let lock = wait_for("two renewals are counted", async || {
        let lock = lock(&api, "jobs/nightly").await?;
        (lock["renewals"]["count"].as_u64()? >= 2).then_some(lock)
    })
    .await;
    assert!(lock["lease_ms"].as_u64().unwrap() <= 6_000, "{lock}");
}

#[tokio::test]
async fn a_lock_whose_owner_dies_expires_with_its_lease() {
    let cluster = EtcdCluster::start(1).await;
    let (_console, api) = start_console(&cluster).await;
    let mut holder = cluster.spawn_etcdctl(&["lock", "jobs/nightly", "--ttl", "2"]);
    holder.next_line().await;
    wait_for("the lock is listed", async || {
        lock(&api, "jobs/nightly").await
    })
    .await;
    holder.kill().await;
    wait_until("the lock is gone", async || {
        lock(&api, "jobs/nightly").await.is_none()
    })
    .await;
}

#[tokio::test]
async fn names_outside_of_the_prefixes_are_not_read() {
    let cluster = EtcdCluster::start(1).await;
    let group = cluster.group(&["jobs/"]).await;
    let mut holder = cluster.spawn_etcdctl(&["lock", "jobs-of-others/nightly"]);
    holder.next_line().await;
    assert_eq!(
        super::read(&group, "jobs-of-others/nightly").await,
        Ok(None)
    );
    let raw = group
        .read_raw(&LockKey::from("jobs-of-others/nightly"))
        .await;
    assert_eq!(raw[0].content, Ok(None));
}
