//! Applies events of the server to the lock index in the browser.

use std::sync::Arc;

use leptos::prelude::*;

use super::Live;
use super::subscription::ListSummary;
use crate::domain::reason::Reason;
use crate::domain::{
    Change, GoneReason, GroupView, IndexState, LockId, NodeRecovery, Snapshot, Timestamp,
    WindowUpdate,
};

/// The maximum number of recorded endings, for pages that still show a lock that has ended.
const MAX_ENDINGS: usize = 1_000;

/// The maximum number of lost locks that are shown.
const MAX_LOST_LOCKS: usize = 100;

/// The maximum number of recovered nodes that are shown.
const MAX_RECOVERIES: usize = 5;

/// How and when a lock left the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockEnding {
    /// How the hold ended.
    pub ending: GoneReason,
    /// When that was observed.
    pub at: Timestamp,
}

/// A lock that the console auto-renewed, and lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostLock {
    /// The lock.
    pub id: LockId,
    /// The label of the owner.
    pub label: Option<String>,
    /// When it was lost.
    pub at: Timestamp,
    /// The reason.
    pub reason: Reason,
}

impl Live {
    /// Replaces the index by a snapshot.
    pub(super) fn apply_snapshot(self, snapshot: Snapshot) {
        let at = snapshot.observed_at;
        // The initial snapshot is applied before there is a subscription.
        if self.last_event_id.with_untracked(Option::is_some) {
            // A stream is closed when the subscription changes, so its snapshot is the one of the
            // current query.
            self.listed_query.set(Some(
                self.subscription
                    .with_untracked(|subscription| subscription.query.clone()),
            ));
        }
        self.last_event_id.set(Some(snapshot.id.clone()));
        self.summary.set(ListSummary {
            total: snapshot.total,
            counts: snapshot.counts.clone(),
            offset: snapshot.offset,
            pinned: snapshot.pinned.clone(),
            buckets: snapshot.buckets.clone(),
        });
        let mut index = IndexState::from(snapshot);
        self.record_recoveries(index.groups.iter());
        self.index.with_value(|before| {
            // Unchanged locks keep their allocation, so that they are not rendered again.
            for (id, lock) in &mut index.locks {
                if let Some(known) = before.locks.get(id).filter(|known| *known == lock) {
                    *lock = Arc::clone(known);
                }
            }
            // Only pinned locks are known to have ended. Others may just not be part of the new
            // window.
            let pinned = self
                .subscription
                .with_untracked(|subscription| subscription.pinned.clone());
            let lost = pinned
                .into_keys()
                .filter(|id| before.locks.contains_key(id) && !index.locks.contains_key(id));
            self.record_endings(
                lost.map(|id| {
                    (
                        id,
                        LockEnding {
                            ending: GoneReason::Unknown,
                            at,
                        },
                    )
                })
                .collect(),
            );
        });
        self.index.set_value(index);
        self.locks_changed.update(|n| *n = n.wrapping_add(1));
        self.groups_changed.update(|n| *n = n.wrapping_add(1));
    }

    /// Applies a batch of changes as one update of the page.
    pub(super) fn apply_changes(self, changes: Vec<Change>) {
        let (mut locks, mut groups) = (false, false);
        let (mut gone, mut lost) = (Vec::new(), Vec::new());
        for change in &changes {
            match change {
                Change::Group { .. } => groups = true,
                Change::Gone {
                    id,
                    end_reason: ending,
                    at,
                } => {
                    locks = true;
                    gone.push((
                        id.clone(),
                        LockEnding {
                            ending: *ending,
                            at: *at,
                        },
                    ));
                }
                Change::Lost {
                    id,
                    label,
                    at,
                    reason: why,
                    ..
                } => {
                    lost.push(LostLock {
                        id: id.clone(),
                        label: label.clone(),
                        at: *at,
                        reason: why.clone(),
                    });
                }
                Change::Appeared { .. }
                | Change::Renewed { .. }
                | Change::OwnerChanged { .. }
                | Change::Updated { .. } => {
                    locks = true;
                }
            }
        }
        self.record_recoveries(changes.iter().filter_map(|change| match change {
            Change::Group { group } => Some(&**group),
            Change::Appeared { .. }
            | Change::Renewed { .. }
            | Change::OwnerChanged { .. }
            | Change::Updated { .. }
            | Change::Gone { .. }
            | Change::Lost { .. } => None,
        }));
        self.index
            .update_value(|index| changes.into_iter().for_each(|change| index.apply(change)));
        self.record_endings(gone);
        if !lost.is_empty() {
            self.lost_locks.update(|all| {
                // After a reconnect the server may send the same event again.
                lost.retain(|lost| !all.contains(lost));
                all.extend(lost);
                all.drain(..all.len().saturating_sub(MAX_LOST_LOCKS));
            });
        }
        if locks {
            self.locks_changed.update(|n| *n = n.wrapping_add(1));
        }
        if groups {
            self.groups_changed.update(|n| *n = n.wrapping_add(1));
        }
    }

    /// Applies an update of the list summary and its removed rows.
    pub(super) fn apply_window_update(self, update: WindowUpdate) {
        self.index.update_value(|index| {
            for id in &update.removed {
                index.locks.remove(id);
            }
        });
        self.summary.set(ListSummary {
            total: update.total,
            counts: update.counts,
            offset: update.offset,
            pinned: update.pinned,
            buckets: update.buckets,
        });
        self.locks_changed.update(|n| *n = n.wrapping_add(1));
    }

    /// Records the nodes that are up in these groups and were not up in the index.
    fn record_recoveries<'a>(self, groups: impl Iterator<Item = &'a GroupView>) {
        let recovered: Vec<NodeRecovery> = self.index.with_value(|index| {
            let known = groups.filter_map(|group| Some((index.group(&group.name)?, group)));
            known
                .flat_map(|(before, after)| NodeRecovery::between(before, after))
                .collect()
        });
        if recovered.is_empty() {
            return;
        }
        self.recoveries.update(|all| {
            // A node that failed again is shown once.
            all.retain(|known| {
                let is_same =
                    |new: &NodeRecovery| new.group == known.group && new.node == known.node;
                !recovered.iter().any(is_same)
            });
            all.extend(recovered);
            all.drain(..all.len().saturating_sub(MAX_RECOVERIES));
        });
    }

    fn record_endings(self, endings: Vec<(LockId, LockEnding)>) {
        self.endings.update_value(|gone| {
            gone.extend(endings);
            let surplus = gone.len().saturating_sub(MAX_ENDINGS);
            gone.drain(..surplus);
        });
    }
}
