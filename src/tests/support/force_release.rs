//! Force-releases a lock as an operator who confirms the harm and expects no particular hold.

use lockkeeper::domain::{Fingerprint, LockKey, ObservedHold};
use lockkeeper::server::stores::redis::locking::{self, ForceReleaseOutcome, ForceTarget};
use lockkeeper::server::stores::redis::nodes::Group;

/// Force-releases the lock of the owner with this fingerprint.
pub async fn force_release(
    group: &Group,
    key: &LockKey,
    fingerprint: &Fingerprint,
) -> ForceReleaseOutcome {
    let target = ForceTarget {
        key,
        fingerprint,
        expected_hold: ObservedHold::default(),
        known_format: None,
        harm_accepted: true,
    };
    locking::force_release(group, target).await.unwrap()
}
