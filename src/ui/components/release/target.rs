//! What a forced release is about, followed while somebody decides.

use leptos::prelude::*;

use super::draft::ReleaseDraft;
use super::reach::Reach;
use super::standing::{Standing, confirmed};
use crate::domain::{Fingerprint, Lock};
use crate::ui::live::Live;

/// The hold that is to be released. A handle: copy it freely.
#[derive(Clone, Copy)]
pub(super) struct Target {
    /// Whose hold was chosen.
    pub(super) owner: Memo<Fingerprint>,
    /// The lock as it is now, whoever holds it.
    pub(super) current: Memo<Lock>,
    /// The lock as it was last with the hold that was seen.
    pub(super) confirmed: Memo<Lock>,
    /// What became of that hold.
    pub(super) standing: Memo<Standing>,
}

impl Target {
    /// Follows the lock that was `seen`.
    pub(super) fn follow(live: Live, seen: &Lock, draft: RwSignal<ReleaseDraft>) -> Self {
        let (id, since) = (StoredValue::new(seen.id.clone()), seen.acquired_at);
        let seen = StoredValue::new(seen.clone());
        let lock = move || id.with_value(|id| live.lock(id));
        let owner = Memo::new(move |_| draft.with(|draft| draft.owner.clone()));
        let current = Memo::new(move |before: Option<&Lock>| {
            lock().unwrap_or_else(|| before.cloned().unwrap_or_else(|| seen.get_value()))
        });
        let confirmed = Memo::new(move |before: Option<&Lock>| {
            let before = before.cloned().unwrap_or_else(|| seen.get_value());
            owner.with(|owner| confirmed((owner, since), lock().as_ref(), &before).clone())
        });
        let standing = Memo::new(move |before: Option<&Standing>| {
            let gone = id.with_value(|id| live.ending(id));
            let now = live.now.get_untracked();
            owner.with(|owner| Standing::now((owner, since), lock().as_ref(), gone, now, before))
        });
        Self {
            owner,
            current,
            confirmed,
            standing,
        }
    }

    /// Why it cannot be released any more; tracks it, and the time.
    pub(super) fn obstacle(self, live: Live) -> Option<String> {
        self.standing.read().why_not(live.now.get())
    }

    /// Which nodes its release is for; tracks what was confirmed, and of whose hold.
    pub(super) fn reach(self) -> Reach {
        let (lock, owner) = (self.confirmed.read(), self.owner.read());
        Reach::of(&lock, &owner)
    }

    /// Whoever holds it in the place of the owner that was seen.
    pub(super) fn next(self) -> Option<Fingerprint> {
        match &*self.standing.read() {
            Standing::Changed { to, .. } => Some(to.fingerprint.clone()),
            Standing::AsSeen | Standing::Again | Standing::Gone(_) => None,
        }
    }
}
