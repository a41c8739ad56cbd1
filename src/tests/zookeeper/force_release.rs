//! A force-release deletes exactly the node of the hold that was seen.

use std::collections::BTreeSet;

use lockkeeper::domain::{Fingerprint, LockKey, NodeOutcome, ObservedHold};
use lockkeeper::server::stores::{ForceTarget, Group, KeyReading, ReadCause};
use serde_json::json;

use super::{lock_url, start_console, start_group, wait_for_owner};
use crate::support::lock_client::LockClient;
use crate::support::zookeeper::ZookeeperServers;

#[tokio::test]
async fn a_stuck_lock_is_released_and_the_next_waiter_acquires_it() {
    let servers = ZookeeperServers::start(3).await;
    let (_console, api) = start_console(&servers).await;
    let mut kazoo = LockClient::kazoo(&servers).await;
    kazoo.hold("lock", "/locks/orders", "stuck").await;
    kazoo.send("lock /locks/orders own:next").await;
    let lock = wait_for_owner(&api, "/locks/orders", "stuck").await;
    let url = format!("{}/force-release", lock_url("/locks/orders"));
    let body = |fingerprint: &str| json!({ "fingerprint": fingerprint, "reason": "stuck" });
    let other = api.post(&url, body("0123456789abcdef")).await;
    other.assert_problem(409, "owner-changed");
    let fingerprint = lock["owner"]["fingerprint"].as_str().unwrap();
    let released = api.post(&url, body(fingerprint)).await;
    assert_eq!(released.status, 200, "{}", released.text);
    assert_eq!(released.json()["nodes"][0]["outcome"], "released");
    kazoo.wait_for("held own:next").await;
    wait_for_owner(&api, "/locks/orders", "own:next").await;
    // The same request again must not release the next owner.
    api.post(&url, body(fingerprint))
        .await
        .assert_problem(409, "owner-changed");
    wait_for_owner(&api, "/locks/orders", "own:next").await;
}

/// The fingerprints of the owners now.
async fn owners(group: &Group, key: &LockKey) -> Vec<Fingerprint> {
    let reading = group
        .read_locks(std::slice::from_ref(key), ReadCause::Routine, &[])
        .await;
    match &reading.nodes[0].result.as_ref().unwrap()[0] {
        KeyReading::Lock(lock) => lock
            .owners
            .iter()
            .map(|owner| owner.owner.fingerprint)
            .collect(),
        KeyReading::Absent | KeyReading::NotALock => Vec::new(),
    }
}

/// Clients change the owner a thousand times while holds that were seen earlier are released. The
/// clients check that no other hold was deleted: each reports when its node is gone early.
#[tokio::test]
async fn a_thousand_changes_of_owner_never_make_a_release_hit_another_hold() {
    let servers = ZookeeperServers::start(1).await;
    let mut curator = LockClient::curator(&servers).await;
    let (group, stop) = start_group(servers.config());
    group.wait_for_first_attempts().await;
    let key = LockKey::from("/locks/race");
    let (mut seen, mut released) = (BTreeSet::new(), BTreeSet::new());
    // On a busy machine every release of a thousand changes may come too late, which proves nothing.
    while released.is_empty() {
        curator.send("churn /locks/race 1000").await;
        let finished = async {
            curator.wait_for("churned 1000").await;
            curator
        };
        let releasing = async {
            loop {
                for fingerprint in owners(&group, &key).await {
                    let is_new = seen.insert(fingerprint.as_str().to_owned());
                    // Every other hold that is seen is to be released.
                    if !is_new || seen.len() % 2 == 0 {
                        continue;
                    }
                    let target = ForceTarget {
                        key: &key,
                        fingerprint: &fingerprint,
                        expected_hold: ObservedHold::default(),
                        known_format: None,
                        harm_accepted: true,
                    };
                    let outcome = group.force_release(target).await.unwrap();
                    match &outcome.nodes[0].outcome {
                        NodeOutcome::Released => {
                            released.insert(fingerprint.as_str().to_owned());
                        }
                        NodeOutcome::NotHeld | NodeOutcome::OtherOwner { .. } => {}
                        other => panic!("{other:?}"),
                    }
                }
            }
        };
        curator = tokio::select! {
            curator = finished => curator,
            () = releasing => unreachable!("it ends with the clients"),
        };
    }
    // The clients count the nodes that were gone before they deleted them.
    curator.send("deleted").await;
    curator
        .wait_for(&format!("deleted {}", released.len()))
        .await;
    println!("{} holds seen, {} released", seen.len(), released.len());
    stop.cancel();
}
