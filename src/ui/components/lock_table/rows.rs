//! Pure: which locks stand in which row, and what holds them there while somebody looks.

use std::collections::HashSet;
use std::ops::Range;

use crate::domain::LockId;
use crate::ui::query::Query;

/// The rows of the list that the browser has, as they stand on screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The list.
    pub query: Query,
    /// How many rows come before these.
    pub from: usize,
    /// The locks, in order.
    pub ids: Vec<LockId>,
    /// How many rows the list has.
    pub total: usize,
    /// How many rows would come or go if the order were not held.
    pub waiting: usize,
    /// By how many rows everything has moved down since the list was opened: the page is scrolled by as much, so that what
    /// is looked at stays.
    pub origin: isize,
    /// Where the rows that the server sent began.
    sent_from: usize,
    /// The last time that changes were let in.
    let_in: u32,
}

/// What the server sent.
pub struct Sent {
    /// The list.
    pub query: Query,
    /// How many rows come before those that were sent.
    pub from: usize,
    /// The locks, in order.
    pub ids: Vec<LockId>,
    /// How many rows the list has.
    pub total: usize,
}

/// How somebody looks at the rows.
pub struct Looking {
    /// The rows on screen.
    pub seen: Range<usize>,
    /// Whether the order holds.
    pub holds: bool,
    /// How many times changes were let in.
    pub let_in: u32,
}

impl Rows {
    /// The rows after this was sent.
    pub fn next(before: Option<&Self>, sent: Sent, looking: Looking) -> Self {
        let let_in = looking.let_in;
        let before = before.filter(|before| before.query == sent.query && !before.ids.is_empty());
        let Some(before) = before else {
            return Self::of(sent, 0, let_in);
        };
        let is_at_top = looking.seen.start == 0;
        if before.let_in != let_in || !looking.holds {
            let moved = match is_at_top {
                true => 0,
                false => before.moved(&sent, &looking.seen).unwrap_or(0),
            };
            return Self::of(sent, before.origin + moved, let_in);
        }
        if before.sent_from == sent.from {
            return Self {
                waiting: differing(&before.ids, &sent.ids),
                total: sent.total.max(before.from + before.ids.len()),
                ..before.clone()
            };
        }
        before.spliced(sent, &looking.seen)
    }

    /// The same list as it is now.
    fn of(sent: Sent, origin: isize, let_in: u32) -> Self {
        Self {
            query: sent.query,
            from: sent.from,
            total: sent.total.max(sent.from + sent.ids.len()),
            sent_from: sent.from,
            ids: sent.ids,
            waiting: 0,
            origin,
            let_in,
        }
    }

    /// The row of a lock.
    pub fn row_of(&self, id: &LockId) -> Option<usize> {
        let at = self.ids.iter().position(|known| known == id)?;
        Some(self.from + at)
    }

    /// The lock in a row, if it was sent.
    pub fn at(&self, row: usize) -> Option<&LockId> {
        self.ids.get(row.checked_sub(self.from)?)
    }

    /// Where those rows that are seen stand in the list as the server has it now.
    pub fn stand(&self, sent: (usize, &[LockId]), seen: &Range<usize>) -> Range<usize> {
        let (from, ids) = sent;
        let first = seen.clone().find_map(|row| {
            let id = self.at(row)?;
            let now = from + ids.iter().position(|known| known == id)?;
            Some(now.saturating_sub(row - seen.start))
        });
        let start = first.unwrap_or(seen.start);
        start..start + seen.len()
    }

    /// The rows that are seen, as they are held.
    fn kept(&self, seen: &Range<usize>) -> (usize, &[LockId]) {
        let start = seen.start.clamp(self.from, self.from + self.ids.len());
        let end = seen.end.clamp(start, self.from + self.ids.len());
        (start, &self.ids[start - self.from..end - self.from])
    }

    /// By how many rows the first one that is seen, and still there, moves down.
    fn moved(&self, sent: &Sent, seen: &Range<usize>) -> Option<isize> {
        let (start, kept) = self.kept(seen);
        kept.iter().enumerate().find_map(|(nth, id)| {
            let now = sent.from + sent.ids.iter().position(|known| known == id)?;
            now.checked_signed_diff(start + nth)
        })
    }

    /// What is seen stays as it is; around it comes what was sent.
    fn spliced(&self, sent: Sent, seen: &Range<usize>) -> Self {
        let (start, kept) = self.kept(seen);
        let place = |id: &LockId| sent.ids.iter().position(|known| known == id);
        let first = kept.iter().find_map(place);
        let last = kept.iter().rev().find_map(place);
        let (Some(first), Some(last)) = (first, last) else {
            // Scrolled to somewhere else altogether.
            return Self::of(sent, self.origin, self.let_in);
        };
        let held: HashSet<&LockId> = kept.iter().collect();
        let others = |ids: &[LockId]| -> Vec<LockId> {
            let ids = ids.iter().filter(|id| !held.contains(id));
            ids.cloned().collect()
        };
        let head = others(&sent.ids[..first]);
        let tail = others(&sent.ids[last.max(first) + 1..]);
        let now_at = sent.from + head.len();
        let ids: Vec<LockId> = head
            .into_iter()
            .chain(kept.iter().cloned())
            .chain(tail)
            .collect();
        Self {
            origin: self.origin + now_at.checked_signed_diff(start).unwrap_or(0),
            waiting: differing(&ids, &sent.ids),
            from: sent.from,
            total: sent.total.max(sent.from + ids.len()),
            sent_from: sent.from,
            ids,
            query: sent.query,
            let_in: self.let_in,
        }
    }
}

/// How many stand in one list and not in the other.
fn differing(held: &[LockId], sent: &[LockId]) -> usize {
    let old: HashSet<&LockId> = held.iter().collect();
    let new: HashSet<&LockId> = sent.iter().collect();
    old.symmetric_difference(&new).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &str) -> Vec<LockId> {
        let id = |name: char| LockId {
            group: "g".into(),
            key: name.to_string().as_str().into(),
        };
        names.chars().map(id).collect()
    }

    fn sent(from: usize, names: &str, total: usize) -> Sent {
        Sent {
            query: Query::default(),
            from,
            ids: ids(names),
            total,
        }
    }

    fn looking(seen: Range<usize>, holds: bool, let_in: u32) -> Looking {
        Looking {
            seen,
            holds,
            let_in,
        }
    }

    fn names(rows: &Rows) -> String {
        rows.ids
            .iter()
            .map(|id| id.key.text().into_owned())
            .collect()
    }

    #[test]
    fn rows_follow_the_list_until_they_are_held() {
        let rows = Rows::next(None, sent(0, "abc", 3), looking(0..3, false, 0));
        let rows = Rows::next(Some(&rows), sent(0, "xac", 3), looking(0..3, false, 0));
        assert_eq!(
            (names(&rows).as_str(), rows.waiting, rows.origin),
            ("xac", 0, 0)
        );
        let held = Rows::next(Some(&rows), sent(0, "yxa", 9), looking(0..3, true, 0));
        assert_eq!(
            (names(&held).as_str(), held.waiting, held.total),
            ("xac", 2, 9)
        );
        let let_in = Rows::next(Some(&held), sent(0, "yxa", 9), looking(0..3, true, 1));
        assert_eq!((names(&let_in).as_str(), let_in.waiting), ("yxa", 0));
        let other = sent(0, "q", 1);
        let other = Sent {
            query: Query::parse("q=q"),
            ..other
        };
        let other = Rows::next(Some(&held), other, looking(0..3, true, 1));
        assert_eq!(names(&other), "q", "another list is not held");
    }

    #[test]
    fn what_is_seen_stays_while_other_rows_come_around_it() {
        let rows = Rows::next(None, sent(10, "abcdefgh", 100), looking(12..15, true, 0));
        // Two went above, `d` went, `n` came between what is seen.
        let next = Rows::next(
            Some(&rows),
            sent(6, "wxabcnefghij", 97),
            looking(12..15, true, 0),
        );
        assert_eq!(names(&next), "wxabcdefghij");
        assert_eq!((next.from, next.row_of(&ids("c")[0])), (6, Some(10)));
        assert_eq!(next.origin, -2, "the page scrolls up by what went above");
        assert_eq!(next.waiting, 2);
    }

    #[test]
    fn a_list_that_is_let_in_while_scrolled_stays_at_the_lock_that_is_looked_at() {
        let rows = Rows::next(None, sent(10, "abcdef", 100), looking(12..15, true, 0));
        let next = Rows::next(
            Some(&rows),
            sent(10, "bxyzdef", 100),
            looking(12..15, true, 1),
        );
        assert_eq!((names(&next).as_str(), next.origin), ("bxyzdef", 1));
    }

    #[test]
    fn rows_far_away_are_taken_as_they_are() {
        let rows = Rows::next(None, sent(0, "abc", 500), looking(0..3, true, 0));
        let next = Rows::next(
            Some(&rows),
            sent(400, "xyz", 500),
            looking(400..403, true, 0),
        );
        assert_eq!(
            (names(&next).as_str(), next.from, next.origin),
            ("xyz", 400, 0)
        );
    }

    #[test]
    fn where_the_seen_rows_stand_now_is_what_is_asked_for() {
        let rows = Rows::next(None, sent(10, "abcdef", 100), looking(12..15, true, 0));
        let drifted = ids("defghi");
        assert_eq!(rows.stand((10, &drifted), &(12..15)), 9..12);
        assert_eq!(rows.stand((10, &ids("xyz")), &(12..15)), 12..15);
    }
}
