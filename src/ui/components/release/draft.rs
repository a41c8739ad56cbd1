//! What somebody typed into the dialog of one lock, kept for this tab until it is sent or the dialog is closed. No token is in it.

use serde::{Deserialize, Serialize};

use crate::domain::{Fingerprint, LockId, Timestamp};
use crate::ui::kit::draft;
use crate::ui::{paths, wire};

/// What was typed, and about whose hold.
#[derive(Serialize, Deserialize)]
pub(super) struct Draft {
    /// Whose hold.
    pub(super) owner: Fingerprint,
    /// Since when it was held.
    pub(super) since: Timestamp,
    pub(super) reason: String,
    pub(super) typed: String,
}

impl Draft {
    pub(super) fn keep(&self, id: &LockId) {
        if let Ok(text) = serde_json::to_string(self) {
            draft::keep(&name(id), &text);
        }
    }

    pub(super) fn kept(id: &LockId) -> Option<Self> {
        wire::read(&draft::kept(&name(id))?).ok()
    }

    pub(super) fn forget(id: &LockId) {
        draft::forget(&name(id));
    }
}

fn name(id: &LockId) -> String {
    format!("lockkeeper-release:{}", paths::lock(id))
}
