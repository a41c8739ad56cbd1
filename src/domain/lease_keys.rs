//! The keys that end together with a lock, because they have the same lease (etcd).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::code_tag::json_with_code;
use super::{Fingerprint, LockKey};

/// The keys of the lease that a lock is held with. All of them are deleted if the lease is revoked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseKeys {
    /// The keys, in order, with that of the lock itself; at most 100. Empty for a lock without a
    /// lease.
    pub keys: Vec<LeaseKey>,
    /// The number of keys.
    pub total: u32,
    /// The number of keys outside of the configured prefixes, which are not listed.
    pub outside_prefixes: u32,
    /// Identifies the lease and the list of its keys. Null if the lease cannot be revoked: there is
    /// none, or not all of its keys are listed.
    pub fingerprint: Option<Fingerprint>,
}

/// One key of a lease.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct LeaseKey {
    /// The key; of a contender the name of its lock, because the rest of the key is the lease.
    pub key: LockKey,
    /// The key holds or waits for the lock of that name.
    pub is_contender: bool,
}

/// Why a lease was not revoked. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum LeaseRefusal {
    /// The lock has no lease that can be revoked.
    #[error("the lock has no lease that can be revoked")]
    NoLease,
    /// The lease has other keys than those that the caller was shown.
    #[error("the keys of the lease have changed since you viewed them; nothing was changed")]
    KeysChanged,
    /// The lease has keys outside of the configured prefixes.
    #[error("{count} keys of the lease are outside of the configured prefixes")]
    OutsidePrefixes {
        /// Their number.
        count: u32,
    },
    /// The lease has more keys than are shown.
    #[error("the lease has {total} keys; at most {max} are revoked together")]
    TooManyKeys {
        /// The number of keys.
        total: u32,
        /// The largest number.
        max: u32,
    },
}

json_with_code!(LeaseRefusal);

impl LeaseKeys {
    /// The number of keys besides that of the lock itself.
    pub fn other_count(&self) -> u32 {
        self.total.saturating_sub(1)
    }
}
