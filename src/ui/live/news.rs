//! What the server tells, taken into the board that the pages look at.

use std::sync::Arc;

use leptos::prelude::*;

use super::Live;
use super::asked::Sums;
use crate::domain::{Board, Change, Ending, LockId, Snapshot, Timestamp, WindowNews};

/// How many endings are remembered for the pages that still show their locks.
const ENDINGS_KEPT: usize = 1_000;

/// How many lost locks are told at once.
const LOST_KEPT: usize = 100;

/// How a lock left the board, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// How it went.
    pub ending: Ending,
    /// When that was seen.
    pub at: Timestamp,
}

/// A lock that the console kept for its owner, and lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Which lock.
    pub id: LockId,
    /// What the owner called itself.
    pub label: Option<String>,
    /// When it was lost.
    pub at: Timestamp,
    /// Why.
    pub why: String,
}

impl Live {
    /// Takes a whole board in place of what was known.
    pub(super) fn replace(self, snapshot: Snapshot) {
        let at = snapshot.observed_at;
        self.position.set(Some(snapshot.id.clone()));
        self.sums.set(Sums {
            total: snapshot.total,
            counts: snapshot.counts.clone(),
            from: snapshot.from,
            apart: snapshot.apart.clone(),
            bundles: snapshot.bundles.clone(),
        });
        let mut board = Board::from(snapshot);
        self.board.with_value(|before| {
            // What stayed as it was need not be drawn again.
            for (id, lock) in &mut board.locks {
                if let Some(known) = before.locks.get(id).filter(|known| *known == lock) {
                    *lock = Arc::clone(known);
                }
            }
            // Others may stand further down in another list.
            let followed = self.asked.with_untracked(|asked| asked.followed.clone());
            let lost = followed
                .into_keys()
                .filter(|id| before.locks.contains_key(id) && !board.locks.contains_key(id));
            self.remember(
                lost.map(|id| {
                    (
                        id,
                        Gone {
                            ending: Ending::Unknown,
                            at,
                        },
                    )
                })
                .collect(),
            );
        });
        self.board.set_value(board);
        self.locks_changed.update(|n| *n = n.wrapping_add(1));
        self.groups_changed.update(|n| *n = n.wrapping_add(1));
    }

    /// Applies what has arrived since the last time as one change of the page.
    pub(super) fn apply(self, changes: Vec<Change>) {
        let (mut locks, mut groups) = (false, false);
        let (mut gone, mut lost) = (Vec::new(), Vec::new());
        for change in &changes {
            match change {
                Change::Group { .. } => groups = true,
                Change::Gone { id, ending, at } => {
                    locks = true;
                    gone.push((
                        id.clone(),
                        Gone {
                            ending: *ending,
                            at: *at,
                        },
                    ));
                }
                Change::Lost {
                    id, label, at, why, ..
                } => {
                    lost.push(Lost {
                        id: id.clone(),
                        label: label.clone(),
                        at: *at,
                        why: why.clone(),
                    });
                }
                Change::Appeared { .. }
                | Change::Renewed { .. }
                | Change::ChangedHands { .. }
                | Change::Updated { .. } => {
                    locks = true;
                }
            }
        }
        self.board
            .update_value(|board| changes.into_iter().for_each(|change| board.apply(change)));
        self.remember(gone);
        if !lost.is_empty() {
            self.lost.update(|all| {
                // What a stream told shortly before its end, the next one may tell again.
                lost.retain(|lost| !all.contains(lost));
                all.extend(lost);
                all.drain(..all.len().saturating_sub(LOST_KEPT));
            });
        }
        if locks {
            self.locks_changed.update(|n| *n = n.wrapping_add(1));
        }
        if groups {
            self.groups_changed.update(|n| *n = n.wrapping_add(1));
        }
    }

    /// Takes what changed beside the locks.
    pub(super) fn take(self, news: WindowNews) {
        self.board.update_value(|board| {
            for id in &news.left {
                board.locks.remove(id);
            }
        });
        self.sums.set(Sums {
            total: news.total,
            counts: news.counts,
            from: news.from,
            apart: news.apart,
            bundles: news.bundles,
        });
        self.locks_changed.update(|n| *n = n.wrapping_add(1));
    }

    fn remember(self, endings: Vec<(LockId, Gone)>) {
        self.gone.update_value(|gone| {
            gone.extend(endings);
            let surplus = gone.len().saturating_sub(ENDINGS_KEPT);
            gone.drain(..surplus);
        });
    }
}
