//! Which keys of a group are on the board already.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::domain::{Board, Format, Lock, LockId, LockKey};

/// Every lock of one group, in order.
fn locks_of<'a>(board: &'a Board, group: &'a str) -> impl Iterator<Item = &'a Lock> {
    let first = LockId {
        group: group.to_owned(),
        key: LockKey::new([]),
    };
    board
        .locks
        .range((Bound::Included(first), Bound::Unbounded))
        .map(|(_, lock)| &**lock)
        .take_while(move |lock| lock.id.group == group)
}

/// The names of every lock of one group.
pub(super) fn keys_of(board: &Board, group: &str) -> BTreeSet<LockKey> {
    locks_of(board, group)
        .map(|lock| lock.id.key.clone())
        .collect()
}

/// The names of so many locks of one group behind this one, or from the first.
pub(super) fn next_of(
    board: &Board,
    group: &str,
    behind: Option<LockId>,
    many: usize,
) -> Vec<LockKey> {
    match behind {
        Some(behind) => board
            .locks
            .range((Bound::Excluded(behind), Bound::Unbounded))
            .map(|(_, lock)| lock)
            .take_while(|lock| lock.id.group == group)
            .take(many)
            .map(|lock| lock.id.key.clone())
            .collect(),
        None => locks_of(board, group)
            .take(many)
            .map(|lock| lock.id.key.clone())
            .collect(),
    }
}

/// The names and formats of so many locks of one group behind this one, or from the first.
pub(super) fn next_with_format(
    board: &Board,
    group: &str,
    behind: Option<LockId>,
    many: usize,
) -> Vec<(LockKey, Format)> {
    let first = match behind {
        Some(behind) => Bound::Excluded(behind),
        None => Bound::Included(LockId {
            group: group.to_owned(),
            key: LockKey::new([]),
        }),
    };
    let locks = board.locks.range((first, Bound::Unbounded));
    locks
        .map(|(_, lock)| lock)
        .take_while(|lock| lock.id.group == group)
        .take(many)
        .map(|lock| (lock.id.key.clone(), lock.format))
        .collect()
}

/// Drops the keys that are on the board.
pub(super) fn retain_unknown(board: &Board, group: &str, keys: &mut BTreeSet<LockKey>) {
    keys.retain(|key| {
        !board.locks.contains_key(&LockId {
            group: group.to_owned(),
            key: key.clone(),
        })
    });
}

/// The names of the locks that one of these nodes left unanswered.
pub(super) fn unanswered(
    board: &Board,
    group: &str,
    is_meant: impl Fn(&str) -> bool,
) -> Vec<LockKey> {
    let was_missed = |lock: &&Lock| {
        lock.nodes
            .iter()
            .any(|node| !node.answer.is_answer() && is_meant(&node.node))
    };
    locks_of(board, group)
        .filter(was_missed)
        .map(|lock| lock.id.key.clone())
        .collect()
}
