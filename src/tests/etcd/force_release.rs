//! Force-release in etcd: exactly the hold that was seen, and never another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lockkeeper::domain::{Fingerprint, Format, NodeOutcome, ObservedHold};
use lockkeeper::server::stores::etcd::client::{EtcdClient, LeaseId, encode};
use lockkeeper::server::stores::{ForceRefusal, ForceReleaseOutcome, ForceTarget, Group};
use serde_json::json;

use super::{read, wait_for_lock, wait_for_queue};
use crate::support::etcd::EtcdCluster;

/// The number of owners that the race releases by force or by themselves.
const OWNER_CHANGES: u64 = 1_000;

async fn force_release(
    group: &Group,
    key: &str,
    fingerprint: &Fingerprint,
) -> Result<ForceReleaseOutcome, ForceRefusal> {
    let key = key.into();
    let target = ForceTarget {
        key: &key,
        fingerprint,
        expected_hold: ObservedHold::default(),
        known_format: None,
        harm_accepted: true,
    };
    group.force_release(target).await
}

#[tokio::test]
async fn the_hold_that_was_seen_is_released_and_the_next_waiter_acquires_it() {
    let cluster = EtcdCluster::start(3).await;
    let group = cluster.group(&["jobs/"]).await;
    let mut holder = cluster.spawn_etcdctl(&["lock", "jobs/nightly"]);
    holder.next_line().await;
    let mut waiter = cluster.spawn_etcdctl(&["lock", "jobs/nightly"]);
    let seen = wait_for_queue(&group, "jobs/nightly", 1).await;
    let fingerprint = &seen.owners[0].owner.fingerprint;
    let key = "jobs/nightly".into();
    let target = ForceTarget {
        key: &key,
        fingerprint,
        expected_hold: ObservedHold::default(),
        known_format: None,
        harm_accepted: false,
    };
    let dry_run = group.dry_run_force_release(target).await.unwrap();
    assert_eq!(dry_run.nodes[0].outcome, NodeOutcome::Releasable);
    let released = group.force_release(target).await.unwrap();
    assert_eq!(released.nodes[0].outcome, NodeOutcome::Released);
    waiter.next_line().await;
    let next = wait_for_lock(&group, "jobs/nightly").await;
    let next = &next.owners[0].owner;
    assert_ne!(next.fingerprint, *fingerprint);

    // The same request again is for another owner now.
    let again = force_release(&group, "jobs/nightly", fingerprint)
        .await
        .unwrap();
    assert_eq!(again.current_owner.as_ref(), Some(next));
    assert_eq!(
        again.nodes[0].outcome,
        NodeOutcome::OtherOwner {
            owner: Some(next.clone())
        }
    );
    let unchanged = read(&group, "jobs/nightly").await.unwrap().unwrap();
    assert_eq!(unchanged.owners[0].owner, *next);
}

#[tokio::test]
async fn a_lock_that_is_gone_is_not_held_and_a_possible_lock_is_not_released() {
    let cluster = EtcdCluster::start(1).await;
    let group = cluster.group(&["jobs/", "members/"]).await;
    let client = cluster.client();
    let seen = put(&client, "jobs/a/7", LeaseId(7)).await;
    let seen = wait_for_lock(&group, seen).await;
    client.revoke(LeaseId(7)).await.unwrap();
    let released = force_release(&group, "jobs/a", &seen.owners[0].owner.fingerprint).await;
    assert_eq!(released.unwrap().nodes[0].outcome, NodeOutcome::NotHeld);

    // An empty key with a lease can be the registration of a service.
    client
        .grant(LeaseId(8), Duration::from_secs(60))
        .await
        .unwrap();
    put_key(&client, "members/1", LeaseId(8)).await;
    let member = wait_for_lock(&group, "members/1").await;
    assert_eq!(member.format, Format::NodeEtcd3);
    let refused = force_release(&group, "members/1", &member.owners[0].owner.fingerprint).await;
    assert_eq!(refused.unwrap_err(), ForceRefusal::UncertainLock);
}

/// One owner after the other holds the lock, while an operator releases whatever hold was read last.
/// Each owner knows whether it released its lock itself, and each release names the hold that it
/// deleted, so every hold ends exactly once.
#[tokio::test]
async fn a_race_of_owners_and_releases_never_ends_another_hold() {
    let cluster = EtcdCluster::start(1).await;
    let group = cluster.group(&["jobs/"]).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let deleted_by_owner = Arc::new(AtomicU64::new(0));
    let owners = tokio::spawn({
        let (client, is_over) = (cluster.client(), Arc::clone(&is_over));
        let deleted_by_owner = Arc::clone(&deleted_by_owner);
        async move {
            let mut lost = 0;
            for n in 1..=OWNER_CHANGES {
                let lease = LeaseId(i64::try_from(n).unwrap() + 0x1000);
                client.grant(lease, Duration::from_secs(60)).await.unwrap();
                let key = format!("jobs/race/{}", lease.hex());
                put_key(&client, &key, lease).await;
                // Every other owner gives the operator the time of some requests.
                for _ in 0..n % 3 {
                    client.time_to_live(lease).await.unwrap();
                }
                if delete(&client, &key).await {
                    deleted_by_owner.fetch_add(1, Ordering::SeqCst);
                } else {
                    lost += 1;
                }
                client.revoke(lease).await.unwrap();
            }
            is_over.store(true, Ordering::SeqCst);
            lost
        }
    });
    let mut released = 0;
    while !is_over.load(Ordering::SeqCst) {
        let Some(lock) = read(&group, "jobs/race").await.unwrap() else {
            continue;
        };
        let fingerprint = &lock.owners[0].owner.fingerprint;
        let outcome = force_release(&group, "jobs/race", fingerprint)
            .await
            .unwrap();
        match &outcome.nodes[0].outcome {
            NodeOutcome::Released => released += 1,
            NodeOutcome::NotHeld | NodeOutcome::OtherOwner { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    let lost = owners.await.unwrap();
    // A release of another hold than the one that was seen would show here: its owner would lose its
    // lock without a release that says so.
    assert_eq!(released, lost);
    assert_eq!(
        lost + deleted_by_owner.load(Ordering::SeqCst),
        OWNER_CHANGES
    );
    assert!(released > 0 && lost < OWNER_CHANGES, "{released} releases");
}

/// Grants the lease, puts the key and returns the name of its lock.
async fn put<'a>(client: &EtcdClient, key: &'a str, lease: LeaseId) -> &'a str {
    client.grant(lease, Duration::from_secs(60)).await.unwrap();
    put_key(client, key, lease).await;
    key.rsplit_once('/').unwrap().0
}

pub async fn put_key(client: &EtcdClient, key: &str, lease: LeaseId) {
    let put = json!({ "request_put": { "key": encode(key.as_bytes()), "lease": lease } });
    client.txn(&json!({ "success": [put] })).await.unwrap();
}

/// Whether the key existed.
async fn delete(client: &EtcdClient, key: &str) -> bool {
    let delete = json!({ "request_delete_range": { "key": encode(key.as_bytes()) } });
    let reply = client.txn(&json!({ "success": [delete] })).await.unwrap();
    let deleted = reply.body.responses[0].response_delete_range.as_ref();
    deleted.unwrap().deleted == 1
}
