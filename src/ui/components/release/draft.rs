//! What somebody typed into the dialog of one lock, kept for this tab until it is sent or the dialog is closed. No token is in it.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{Fingerprint, Lock, LockId, Timestamp};
use crate::ui::kit::draft;
use crate::ui::words::act as words;
use crate::ui::{calls, paths};

/// What was typed, and about whose hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReleaseDraft {
    /// Whose hold.
    pub(super) owner: Fingerprint,
    /// Since when it was held.
    pub(super) since: Timestamp,
    pub(super) reason: String,
    /// What was typed to confirm it.
    pub(super) typed: String,
}

impl ReleaseDraft {
    /// What is to be decided about the lock's `first` owner or the one that was chosen before, and what somebody is told who had begun to
    /// decide.
    pub(super) fn restore(seen: &Lock, first: Fingerprint) -> (Self, &'static str) {
        let since = seen.acquired_at;
        let is_an_owner = |owner: &Fingerprint| {
            let mut owners = seen.owners.iter();
            owners.any(|one| one.fingerprint == *owner)
        };
        match draft::kept::<Self>(&name(&seen.id)) {
            Some(kept) if kept.since == since && is_an_owner(&kept.owner) => (kept, words::kept()),
            // Another hold is not the one that somebody had made up their mind about.
            kept => {
                let told = kept.as_ref().map_or("", |_| words::kept_for_another());
                let reason = kept.map(|kept| kept.reason).unwrap_or_default();
                let (owner, typed) = (first, String::new());
                let fresh = Self {
                    owner,
                    since,
                    reason,
                    typed,
                };
                (fresh, told)
            }
        }
    }

    /// Asks for the release of `lock`, as it is now, from the owner that was chosen.
    pub(super) fn request(self, lock: Lock, is_confirmed: bool) -> calls::ForceRelease {
        calls::ForceRelease {
            seen: lock.seen_hold(&self.owner, self.since),
            confirm: is_confirmed.then(|| lock.id.key.text().into_owned()),
            id: lock.id,
            fingerprint: self.owner,
            reason: self.reason,
        }
    }

    /// Keeps it for this tab whenever something is typed.
    pub(super) fn keep_changes(draft: RwSignal<Self>, id: &LockId) {
        draft::keep_changes(name(id), draft);
    }

    /// Whether anything is kept for this lock.
    pub(super) fn is_kept(id: &LockId) -> bool {
        draft::is_kept(&name(id))
    }

    /// Keeps it no longer.
    pub(super) fn forget(id: &LockId) {
        draft::forget(&name(id));
    }
}

fn name(id: &LockId) -> String {
    format!("lockkeeper-release:{}", paths::lock(id))
}
