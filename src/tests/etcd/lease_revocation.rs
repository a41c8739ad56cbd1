//! Force-release in etcd by revoking the lease, after all of its keys were read.

use std::time::Duration;

use lockkeeper::domain::{Fingerprint, LeaseKey, LeaseRefusal, NodeOutcome, ObservedHold};
use lockkeeper::server::stores::etcd::client::LeaseId;
use lockkeeper::server::stores::{ForceRefusal, ForceReleaseOutcome, ForceTarget, Group};

use super::force_release::put_key;
use super::{read, wait_for_lock};
use crate::support::etcd::EtcdCluster;

const LEASE: LeaseId = LeaseId(7);

async fn revoke(
    group: &Group,
    key: &str,
    owner: &Fingerprint,
    shown: &Fingerprint,
) -> Result<ForceReleaseOutcome, ForceRefusal> {
    let target = ForceTarget {
        key: &key.into(),
        fingerprint: owner,
        expected_hold: ObservedHold::default(),
        known_format: None,
        harm_accepted: true,
    };
    group.revoke_lease(target, shown).await
}

fn contender(key: &str) -> LeaseKey {
    LeaseKey {
        key: key.into(),
        is_contender: true,
    }
}

#[tokio::test]
async fn a_lease_is_revoked_only_with_the_keys_that_were_shown() {
    let cluster = EtcdCluster::start(1).await;
    let group = cluster.group(&["jobs/"]).await;
    let client = cluster.client();
    client.grant(LEASE, Duration::from_secs(60)).await.unwrap();
    put_key(&client, "jobs/a/7", LEASE).await;
    put_key(&client, "jobs/b/7", LEASE).await;
    put_key(&client, "jobs/registration", LEASE).await;
    let lock = wait_for_lock(&group, "jobs/a").await;
    let owner = &lock.owners[0].owner.fingerprint;

    let before = group.lease_keys(&"jobs/a".into()).await.unwrap().unwrap();
    let registration = LeaseKey {
        key: "jobs/registration".into(),
        is_contender: false,
    };
    assert_eq!(
        before.keys,
        [contender("jobs/a"), contender("jobs/b"), registration]
    );
    assert_eq!((before.total, before.outside_prefixes), (3, 0));
    let shown = before.fingerprint.unwrap();

    put_key(&client, "jobs/c/7", LEASE).await;
    let refused = revoke(&group, "jobs/a", owner, &shown).await;
    assert_eq!(
        refused.unwrap_err(),
        ForceRefusal::LeaseNotRevoked(LeaseRefusal::KeysChanged)
    );
    assert_eq!(
        read(&group, "jobs/a").await.unwrap().unwrap().owners.len(),
        1
    );

    let after = group.lease_keys(&"jobs/a".into()).await.unwrap().unwrap();
    let shown = after.fingerprint.unwrap();
    // Another owner than the expected one.
    let other = Fingerprint::parse("0123456789abcdef").unwrap();
    let refused = revoke(&group, "jobs/a", &other, &shown).await.unwrap();
    assert!(matches!(
        refused.nodes[0].outcome,
        NodeOutcome::OtherOwner { .. }
    ));

    let revoked = revoke(&group, "jobs/a", owner, &shown).await.unwrap();
    assert_eq!(revoked.nodes[0].outcome, NodeOutcome::Released);
    for name in ["jobs/a", "jobs/b", "jobs/c"] {
        assert_eq!(read(&group, name).await.unwrap(), None, "{name}");
    }
    assert_eq!(group.lease_keys(&"jobs/a".into()).await.unwrap(), None);
    let again = revoke(&group, "jobs/a", owner, &shown).await.unwrap();
    assert_eq!(again.nodes[0].outcome, NodeOutcome::NotHeld);
}

#[tokio::test]
async fn a_lease_with_keys_outside_of_the_prefixes_or_too_many_is_not_revoked() {
    let cluster = EtcdCluster::start(1).await;
    let group = cluster.group(&["jobs/"]).await;
    let client = cluster.client();
    client.grant(LEASE, Duration::from_secs(60)).await.unwrap();
    put_key(&client, "jobs/a/7", LEASE).await;
    put_key(&client, "services/billing", LEASE).await;
    let lock = wait_for_lock(&group, "jobs/a").await;
    let owner = &lock.owners[0].owner.fingerprint;
    let keys = group.lease_keys(&"jobs/a".into()).await.unwrap().unwrap();
    assert_eq!(keys.keys, [contender("jobs/a")]);
    assert_eq!((keys.total, keys.outside_prefixes), (2, 1));
    assert_eq!(keys.fingerprint, None);
    let refused = revoke(&group, "jobs/a", owner, owner).await;
    assert_eq!(
        refused.unwrap_err(),
        ForceRefusal::LeaseNotRevoked(LeaseRefusal::OutsidePrefixes { count: 1 })
    );

    let many = LeaseId(8);
    client.grant(many, Duration::from_secs(60)).await.unwrap();
    for n in 0..101 {
        put_key(&client, &format!("jobs/{n}/8"), many).await;
    }
    let lock = wait_for_lock(&group, "jobs/0").await;
    let owner = &lock.owners[0].owner.fingerprint;
    let keys = group.lease_keys(&"jobs/0".into()).await.unwrap().unwrap();
    assert_eq!((keys.keys.len(), keys.total), (100, 101));
    let refused = revoke(&group, "jobs/0", owner, owner).await;
    assert_eq!(
        refused.unwrap_err(),
        ForceRefusal::LeaseNotRevoked(LeaseRefusal::TooManyKeys {
            total: 101,
            max: 100
        })
    );
}
