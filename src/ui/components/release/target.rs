//! The hold to force-release, tracked while the user decides.

use leptos::prelude::*;

use super::draft::ReleaseDraft;
use super::node_coverage::NodeCoverage;
use super::target_state::{TargetState, last_confirmed};
use crate::domain::{Fingerprint, Lock};
use crate::ui::live::Live;

/// The hold to release. A copyable handle.
#[derive(Clone, Copy)]
pub(super) struct TrackedHold {
    /// The chosen owner.
    pub(super) owner: Memo<Fingerprint>,
    /// The current state of the lock, with any owner.
    pub(super) current: Memo<Lock>,
    /// The last state of the lock with the displayed hold.
    pub(super) confirmed: Memo<Lock>,
    /// The state of the displayed hold.
    pub(super) state: Memo<TargetState>,
}

impl TrackedHold {
    /// Tracks the lock that is displayed.
    pub(super) fn new(live: Live, displayed: &Lock, draft: RwSignal<ReleaseDraft>) -> Self {
        let (id, since) = (
            StoredValue::new(displayed.id.clone()),
            displayed.acquired_at,
        );
        let displayed = StoredValue::new(displayed.clone());
        let lock = move || id.with_value(|id| live.lock(id));
        let owner = Memo::new(move |_| draft.with(|draft| draft.owner));
        let current = Memo::new(move |before: Option<&Lock>| {
            lock().unwrap_or_else(|| before.cloned().unwrap_or_else(|| displayed.get_value()))
        });
        let confirmed = Memo::new(move |before: Option<&Lock>| {
            let before = before.cloned().unwrap_or_else(|| displayed.get_value());
            owner.with(|owner| last_confirmed((owner, since), lock().as_ref(), &before).clone())
        });
        let state = Memo::new(move |before: Option<&TargetState>| {
            let gone = id.with_value(|id| live.ending(id));
            let now = live.now.get_untracked();
            owner
                .with(|owner| TargetState::next((owner, since), lock().as_ref(), gone, now, before))
        });
        Self {
            owner,
            current,
            confirmed,
            state,
        }
    }

    /// Why the hold can no longer be released. Tracked, together with the clock.
    pub(super) fn blocked_reason(self, live: Live) -> Option<String> {
        self.state.read().blocked_reason(live.now.get())
    }

    /// The nodes of the displayed hold. Tracked.
    pub(super) fn node_coverage(self) -> NodeCoverage {
        let (lock, owner) = (self.confirmed.read(), self.owner.read());
        NodeCoverage::of(&lock, &owner)
    }

    /// The owner that replaced the displayed one.
    pub(super) fn new_owner(self) -> Option<Fingerprint> {
        match &*self.state.read() {
            TargetState::OwnerChanged { to, .. } => Some(to.fingerprint),
            TargetState::Unchanged | TargetState::Reacquired | TargetState::Gone(_) => None,
        }
    }
}
