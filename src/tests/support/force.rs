//! Releasing somebody else's lock as a person does who knows what it means and says nothing of the hold.

use lockkeeper::domain::{Fingerprint, LockKey, SeenHold};
use lockkeeper::server::locking::{self, Condemned, Forced};
use lockkeeper::server::nodes::Group;

/// Releases the owner with this fingerprint.
pub async fn force_release(group: &Group, key: &LockKey, fingerprint: &Fingerprint) -> Forced {
    let condemned = Condemned {
        key,
        fingerprint,
        seen: SeenHold::default(),
        known_as: None,
        harm_accepted: true,
    };
    locking::force_release(group, condemned).await.unwrap()
}
