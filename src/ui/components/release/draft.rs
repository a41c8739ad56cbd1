//! The input of a release dialog. It is stored for the tab until it is sent or the dialog is
//! closed. It has no token.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{Fingerprint, Lock, LockId, ReleaseMethod, Timestamp};
use crate::ui::i18n::operations as t;
use crate::ui::kit::draft;
use crate::ui::{calls, paths};

/// The typed text and the hold that it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReleaseDraft {
    pub(super) owner: Fingerprint,
    /// The start of the hold.
    pub(super) since: Timestamp,
    pub(super) reason: String,
    /// The typed confirmation.
    pub(super) typed: String,
    /// Revoke the lease whose keys were displayed. Not saved: the keys must be displayed again.
    #[serde(skip)]
    pub(super) revoke_lease: Option<Fingerprint>,
    /// Cancel the statement of the owner.
    #[serde(skip)]
    pub(super) cancel_statement: bool,
}

impl ReleaseDraft {
    /// Restores the draft of the lock, or starts one for its `first` owner. The text reports what
    /// was restored; it is empty if there was no draft.
    pub(super) fn restore(displayed: &Lock, first: Fingerprint) -> (Self, &'static str) {
        let since = displayed.acquired_at;
        let is_an_owner = |owner: &Fingerprint| {
            let mut owners = displayed.owners.iter();
            owners.any(|candidate| candidate.fingerprint == *owner)
        };
        match draft::load::<Self>(&storage_key(&displayed.id)) {
            Some(saved) if saved.since == since && is_an_owner(&saved.owner) => {
                (saved, t::draft_restored())
            }
            // A draft about another hold keeps only the reason: the user must decide about this
            // hold again.
            saved => {
                let notice = saved
                    .as_ref()
                    .map_or("", |_| t::draft_restored_owner_changed());
                let reason = saved.map(|saved| saved.reason).unwrap_or_default();
                let (owner, typed) = (first, String::new());
                let draft = Self {
                    owner,
                    since,
                    reason,
                    typed,
                    revoke_lease: None,
                    cancel_statement: false,
                };
                (draft, notice)
            }
        }
    }

    /// Returns the request that releases the chosen owner's hold of `lock`.
    pub(super) fn request(self, lock: Lock, is_confirmed: bool) -> calls::ForceRelease {
        calls::ForceRelease {
            expected_hold: lock.observed_hold(&self.owner, self.since),
            confirm: is_confirmed.then(|| lock.id.key.text().into_owned()),
            id: lock.id,
            fingerprint: self.owner,
            reason: self.reason,
            method: match self.revoke_lease {
                Some(keys) => ReleaseMethod::RevokeLease(keys),
                None if self.cancel_statement => ReleaseMethod::CancelStatement,
                None => ReleaseMethod::Lock,
            },
        }
    }

    /// Saves every change of the draft in the tab's session storage.
    pub(super) fn save_changes(draft: RwSignal<Self>, id: &LockId) {
        draft::autosave(storage_key(id), draft);
    }

    /// Whether a draft of this lock is saved.
    pub(super) fn is_saved(id: &LockId) -> bool {
        draft::exists(&storage_key(id))
    }

    /// Deletes the saved draft.
    pub(super) fn delete(id: &LockId) {
        draft::discard(&storage_key(id));
    }
}

fn storage_key(id: &LockId) -> String {
    format!("lockkeeper-release:{}", paths::lock(id))
}
