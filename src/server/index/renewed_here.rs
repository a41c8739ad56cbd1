//! Renewals that went through this console: whoever made them is known, whatever the nodes tell.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};

use crate::domain::{Fingerprint, LockId};

/// So many locks are counted for at once; renewals of others beyond are known as the nodes tell them.
const MOST_LOCKS: usize = 100_000;

/// How often each lock was renewed for the owner that has it.
#[derive(Debug, Default)]
pub(super) struct RenewedHere(Mutex<HashMap<LockId, (Fingerprint, u32)>>);

impl RenewedHere {
    /// This owner's lease was renewed so many times.
    pub(super) fn note(&self, id: &LockId, owner: &Fingerprint, times: u32) {
        let mut renewed = self.renewed();
        let has_room = renewed.len() < MOST_LOCKS;
        match renewed.get_mut(id) {
            Some((known, count)) if known == owner => *count = count.saturating_add(times),
            Some(another) => *another = (owner.clone(), times),
            None if has_room => {
                renewed.insert(id.clone(), (owner.clone(), times));
            }
            None => {}
        }
    }

    /// Whose lease of this lock was renewed, and how often.
    pub(super) fn of(&self, id: &LockId) -> Option<(Fingerprint, u32)> {
        self.renewed().get(id).cloned()
    }

    /// Forgets a lock that is gone.
    pub(super) fn forget(&self, id: &LockId) {
        self.renewed().remove(id);
    }

    fn renewed(&self) -> MutexGuard<'_, HashMap<LockId, (Fingerprint, u32)>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renewals_count_for_one_owner_and_the_next_begins_anew() {
        let here = RenewedHere::default();
        let id = LockId {
            group: "default".into(),
            key: "lock:a".into(),
        };
        let owner = |n: u8| Fingerprint::parse(&format!("{n:016x}")).unwrap();
        assert_eq!(here.of(&id), None);
        here.note(&id, &owner(1), 1);
        here.note(&id, &owner(1), 2);
        assert_eq!(here.of(&id), Some((owner(1), 3)));
        here.note(&id, &owner(2), 1);
        assert_eq!(here.of(&id), Some((owner(2), 1)));
        here.forget(&id);
        assert_eq!(here.of(&id), None);
    }
}
