//! Renewals made through this console. Their source is known even without notifications.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};

use crate::domain::{Fingerprint, LockId};

/// Locks that are counted at most. Renewals of further locks are attributed by observation only.
const MAX_LOCKS: usize = 100_000;

/// The number of renewals of each lock's current owner.
#[derive(Debug, Default)]
pub(super) struct LocalRenewals(Mutex<HashMap<LockId, (Fingerprint, u32)>>);

impl LocalRenewals {
    /// Adds renewals of an owner. A new owner starts at zero.
    pub(super) fn record(&self, id: &LockId, owner: &Fingerprint, times: u32) {
        let mut counts = self.counts();
        let has_room = counts.len() < MAX_LOCKS;
        match counts.get_mut(id) {
            Some((known, count)) if known == owner => *count = count.saturating_add(times),
            Some(another) => *another = (*owner, times),
            None if has_room => {
                counts.insert(id.clone(), (*owner, times));
            }
            None => {}
        }
    }

    /// The owner and its number of renewals.
    pub(super) fn get(&self, id: &LockId) -> Option<(Fingerprint, u32)> {
        self.counts().get(id).cloned()
    }

    /// Removes a lock that is gone.
    pub(super) fn remove(&self, id: &LockId) {
        self.counts().remove(id);
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<LockId, (Fingerprint, u32)>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_owner_starts_at_zero_renewals() {
        let renewals = LocalRenewals::default();
        let id = LockId {
            group: "default".into(),
            key: "lock:a".into(),
        };
        let owner = |n: u8| Fingerprint::parse(&format!("{n:016x}")).unwrap();
        assert_eq!(renewals.get(&id), None);
        renewals.record(&id, &owner(1), 1);
        renewals.record(&id, &owner(1), 2);
        assert_eq!(renewals.get(&id), Some((owner(1), 3)));
        renewals.record(&id, &owner(2), 1);
        assert_eq!(renewals.get(&id), Some((owner(2), 1)));
        renewals.remove(&id);
        assert_eq!(renewals.get(&id), None);
    }
}
