//! A bulk release: a dry run on the nodes, then one lock after the other until all are done or the
//! user stops it.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::domain::release_advice::AdviceCounts;
use crate::domain::{
    AdviceLevel, Lock, LockId, NodeResult, ObservedHold, OperationError, ReleaseMethod,
    ReleaseResult, ReleaseTarget,
};
use crate::ui::i18n::libraries;
use crate::ui::kit::draft;
use crate::ui::live::Live;
use crate::ui::{calls, format};

/// The storage key of the draft.
pub(super) const DRAFT_KEY: &str = "lockkeeper-bulk";

/// The state of one item.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ItemState {
    /// The dry run has not finished.
    Pending,
    /// The dry run would release it.
    WouldRelease(Vec<NodeResult>),
    /// It was not released, or not on enough nodes.
    NotReleased(OperationError),
    /// The release is in progress.
    Releasing,
    Released(Box<ReleaseResult>),
    /// The user stopped before this item.
    NotAttempted,
}

/// A lock of the bulk release.
#[derive(Clone)]
pub(super) struct BulkItem {
    pub(super) target: ReleaseTarget,
    /// The owner's label, or the start of its fingerprint.
    pub(super) owner: String,
    /// A warning about the harm that a release does.
    pub(super) harm: Option<&'static str>,
    /// Whether the user must confirm it.
    pub(super) needs_confirmation: bool,
    /// Whether the owner shows signs of life, according to the dry run.
    pub(super) advice: Option<AdviceLevel>,
    pub(super) state: ItemState,
}

/// The phase of a bulk release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BulkPhase {
    /// Not started.
    Idle,
    /// The dry run is in progress.
    DryRun,
    /// The user decides.
    Confirming,
    /// The release is in progress.
    Releasing,
    /// All items were processed, or the user stopped.
    Finished,
}

/// A bulk release. A copyable handle.
#[derive(Clone, Copy)]
pub(super) struct BulkReleaseState {
    pub(super) items: RwSignal<Vec<BulkItem>>,
    pub(super) phase: RwSignal<BulkPhase>,
    pub(super) is_stop_requested: RwSignal<bool>,
    /// An error that concerns all items.
    pub(super) error: RwSignal<Option<OperationError>>,
    pub(super) reason: RwSignal<String>,
    /// Whether the dialog is open. Closing it stops the release.
    is_open: RwSignal<bool>,
}

/// The number of items by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BulkTotals {
    pub(super) all: usize,
    pub(super) releasable: usize,
    pub(super) released: usize,
    pub(super) partly_released: usize,
    pub(super) not_released: usize,
    pub(super) not_attempted: usize,
    /// The levels of the releasable ones.
    pub(super) advice: AdviceCounts,
}

impl BulkTotals {
    /// Counts the items. `lock_of` returns the current entry of a lock in the index.
    pub(super) fn of<'a>(
        items: &[BulkItem],
        lock_of: impl Fn(&LockId) -> Option<&'a Lock>,
    ) -> Self {
        let mut totals = Self {
            all: items.len(),
            ..Self::default()
        };
        let is_releasable = |item: &&BulkItem| {
            matches!(item.state, ItemState::WouldRelease(_))
                && !item.has_other_owner(lock_of(&item.target.id))
        };
        let releasable = items.iter().filter(is_releasable);
        totals.advice = AdviceCounts::of(releasable.filter_map(|item| item.advice));
        for item in items {
            match &item.state {
                ItemState::WouldRelease(_) if item.has_other_owner(lock_of(&item.target.id)) => {
                    totals.not_released += 1;
                }
                ItemState::WouldRelease(_) => totals.releasable += 1,
                ItemState::Released(_) => totals.released += 1,
                ItemState::NotReleased(OperationError::PartlyReleased { .. }) => {
                    totals.partly_released += 1
                }
                ItemState::NotReleased(_) => totals.not_released += 1,
                ItemState::NotAttempted => totals.not_attempted += 1,
                ItemState::Pending | ItemState::Releasing => {}
            }
        }
        totals
    }
}

impl BulkItem {
    /// Whether `lock` shows the owner of this item.
    pub(super) fn is_owner_of(&self, lock: &Lock) -> bool {
        let mut owners = lock.owners.iter();
        owners.any(|owner| owner.fingerprint == self.target.fingerprint)
    }

    /// Whether the lock is held by another owner now.
    pub(super) fn has_other_owner(&self, lock: Option<&Lock>) -> bool {
        lock.is_some_and(|lock| !self.is_owner_of(lock))
    }
}

impl BulkReleaseState {
    pub(super) fn new(is_open: RwSignal<bool>) -> Self {
        Self {
            items: RwSignal::new(Vec::new()),
            phase: RwSignal::new(BulkPhase::Idle),
            is_stop_requested: RwSignal::new(false),
            error: RwSignal::new(None),
            reason: RwSignal::new(String::new()),
            is_open,
        }
    }

    /// Discards the report.
    pub(super) fn reset(self) {
        self.phase.set(BulkPhase::Idle);
        self.items.set(Vec::new());
    }

    /// Starts a dry run for these locks.
    pub(super) fn start(self, live: Live, targets: Vec<ReleaseTarget>) {
        let item = |target: ReleaseTarget| {
            let group = untrack(|| live.group(&target.id.group));
            let harm = libraries::harm(target.format);
            let environment = group.map(|group| group.environment);
            BulkItem {
                owner: match &target.label {
                    Some(label) => format::escape_invisible(label),
                    None => target.fingerprint.short().to_owned(),
                },
                harm,
                needs_confirmation: target.format.requires_confirmation(environment),
                advice: None,
                state: ItemState::Pending,
                target,
            }
        };
        self.items.set(targets.into_iter().map(item).collect());
        self.save_draft();
        self.dry_run();
    }

    /// Runs the dry run for all items that are not released.
    pub(super) fn dry_run(self) {
        self.items.update(|items| {
            for item in items {
                if !matches!(item.state, ItemState::Released(_)) {
                    item.state = ItemState::Pending;
                }
            }
        });
        let to_check: Vec<ReleaseTarget> = self.items.with_untracked(|items| {
            let pending = items.iter().filter(|item| item.state == ItemState::Pending);
            pending.map(|item| item.target.clone()).collect()
        });
        self.error.set(None);
        self.phase.set(BulkPhase::DryRun);
        spawn_local(async move {
            match calls::dry_run_releases(to_check).await {
                Ok(replies) => {
                    let mut replies = replies.into_iter();
                    self.items.try_update(|items| {
                        let pending = items
                            .iter_mut()
                            .filter(|item| item.state == ItemState::Pending);
                        for (item, reply) in pending.zip(&mut replies) {
                            item.advice = reply.advice;
                            item.state = match reply.result {
                                Ok(nodes) | Err(OperationError::PartlyReleased { nodes, .. }) => {
                                    ItemState::WouldRelease(nodes)
                                }
                                Err(error) => ItemState::NotReleased(error),
                            };
                        }
                        sort_by_risk(items);
                    });
                }
                Err(error) => {
                    self.error.try_set(Some(error));
                }
            }
            self.phase.try_set(BulkPhase::Confirming);
        });
    }

    /// Releases the releasable items one after the other, so that a stop takes effect between two
    /// locks.
    pub(super) fn release(self, live: Live) {
        self.is_stop_requested.set(false);
        self.error.set(None);
        self.phase.set(BulkPhase::Releasing);
        spawn_local(async move {
            let mut nth = 0;
            while let Some(Some(item)) = self
                .items
                .try_with_untracked(|items| items.get(nth).cloned())
            {
                if matches!(item.state, ItemState::WouldRelease(_)) {
                    let state = self.release_one(live, nth, item).await;
                    self.set_state(nth, state);
                }
                nth += 1;
            }
            // After a sign-out the draft is kept, so that the user can continue after signing in.
            if self.error.try_with_untracked(Option::is_none) == Some(true) {
                draft::discard(DRAFT_KEY);
            }
            self.phase.try_set(BulkPhase::Finished);
        });
    }

    async fn release_one(self, live: Live, nth: usize, item: BulkItem) -> ItemState {
        let may_continue = self.is_stop_requested.try_get_untracked() == Some(false)
            && self.is_open.try_get_untracked() == Some(true);
        if !may_continue {
            return ItemState::NotAttempted;
        }
        self.set_state(nth, ItemState::Releasing);
        let ReleaseTarget {
            id, fingerprint, ..
        } = item.target.clone();
        let expected_hold = current_hold(live.lock_untracked(&id).as_ref(), &item.target);
        let reason = self.reason.get_untracked();
        let confirm = item.needs_confirmation.then(|| id.key.text().into_owned());
        match calls::force_release(
            id,
            fingerprint,
            expected_hold,
            reason,
            confirm,
            ReleaseMethod::Lock,
        )
        .await
        {
            Ok(released) => ItemState::Released(Box::new(released)),
            Err(error @ OperationError::SignInRequired { .. }) => {
                // Without a session, the next requests would fail too.
                self.is_stop_requested.try_set(true);
                self.error.try_set(Some(error));
                ItemState::NotAttempted
            }
            Err(error) => ItemState::NotReleased(error),
        }
    }

    fn set_state(self, nth: usize, state: ItemState) {
        self.items.try_update(|items| {
            if let Some(item) = items.get_mut(nth) {
                item.state = state;
            }
        });
    }

    /// The totals of the displayed states. Tracked.
    pub(super) fn totals(self, live: Live) -> BulkTotals {
        self.items.with(|items| {
            live.with_locks(|locks| BulkTotals::of(items, |id| locks.get(id).map(|lock| &**lock)))
        })
    }

    /// Saves the selection and the reason in this tab's session storage.
    pub(super) fn save_draft(self) {
        let targets: Vec<ReleaseTarget> = self
            .items
            .with_untracked(|items| items.iter().map(|item| item.target.clone()).collect());
        draft::save(DRAFT_KEY, &(targets, self.reason.get_untracked()));
    }
}

/// Sorts the items by the risk of their release, the highest first. Items that would not be released
/// are last.
pub(super) fn sort_by_risk(items: &mut [BulkItem]) {
    items.sort_by_key(|item| (item.advice.is_none(), item.advice));
}

/// Returns the selected hold with its latest observed lease: renewals while the dialog is open are
/// not a change.
fn current_hold(lock: Option<&Lock>, target: &ReleaseTarget) -> ObservedHold {
    let is_same = |lock: &&Lock| {
        let mut owners = lock.owners.iter();
        owners.any(|owner| owner.fingerprint == target.fingerprint)
    };
    match (lock.filter(is_same), target.observed_hold.acquired_at) {
        (Some(lock), Some(since)) => lock.observed_hold(&target.fingerprint, since),
        (Some(_) | None, _) => target.observed_hold,
    }
}

/// Returns the draft that was saved before the page was left.
pub(super) fn saved_draft() -> Option<(Vec<ReleaseTarget>, String)> {
    draft::load(DRAFT_KEY)
}
