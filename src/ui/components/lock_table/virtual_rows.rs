//! The rows of the virtual list, and the rules that keep visible rows in place while the list
//! changes.

use std::collections::HashSet;
use std::ops::Range;

use crate::domain::LockId;
use crate::ui::locks_query::LocksQuery;

/// The loaded part of the list, as it is displayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VirtualRows {
    /// The query of the list.
    pub query: LocksQuery,
    /// Whether the rows are those of the query, and not of an earlier one.
    is_current: bool,
    /// The offset of the first loaded row.
    pub from: usize,
    /// The locks, in order.
    pub ids: Vec<LockId>,
    /// The number of rows in the list.
    pub total: usize,
    /// The number of rows that would appear or disappear if the order were not frozen.
    pub pending_changes: usize,
    /// The number of rows of locks that have ended and are still displayed. Included in `total`.
    pub lingering: usize,
    /// How many rows the list has shifted down since it was opened. The page is scrolled by as
    /// much, so that visible rows stay in place.
    pub origin: isize,
    /// The offset of the last page from the server.
    fetched_from: usize,
    /// The value of [`ViewState::apply_count`] at the last update.
    apply_count: u32,
}

/// The part of the list that the server sent.
#[derive(Clone, PartialEq)]
pub struct ServerPage {
    /// The query of the list.
    pub query: LocksQuery,
    /// Whether these are the locks of the query. The server has not answered yet otherwise, and they
    /// are those of an earlier query.
    pub is_current: bool,
    /// The offset of the first row.
    pub from: usize,
    /// The locks, in order.
    pub ids: Vec<LockId>,
    /// The number of rows in the list.
    pub total: usize,
}

/// The state of the view that decides whether rows may move.
pub struct ViewState {
    /// The visible rows.
    pub visible: Range<usize>,
    /// Whether the order is frozen.
    pub is_frozen: bool,
    /// How many times the user applied pending changes.
    pub apply_count: u32,
}

impl VirtualRows {
    /// Returns the rows to display after the server sent a page.
    pub fn next(before: Option<&Self>, page: ServerPage, view: ViewState) -> Self {
        let apply_count = view.apply_count;
        let before =
            before.filter(|before| before.matches_query(&page.query) && !before.ids.is_empty());
        let Some(before) = before else {
            return Self::from_page(page, 0, apply_count);
        };
        let is_at_top = view.visible.start == 0;
        if before.apply_count != apply_count || !view.is_frozen {
            let moved = match is_at_top {
                true => 0,
                false => before.shift(&page, &view.visible).unwrap_or(0),
            };
            return Self::from_page(page, before.origin + moved, apply_count);
        }
        if before.fetched_from == page.from {
            return Self {
                pending_changes: count_differences(&before.ids, &page.ids),
                total: page.total.max(before.from + before.ids.len()),
                ..before.clone()
            };
        }
        before.merge_around_visible(page, &view.visible)
    }

    /// Whether the rows are those of this query.
    fn matches_query(&self, query: &LocksQuery) -> bool {
        self.is_current && self.query == *query
    }

    /// Takes the page as it is.
    fn from_page(page: ServerPage, origin: isize, apply_count: u32) -> Self {
        Self {
            query: page.query,
            is_current: page.is_current,
            from: page.from,
            total: page.total.max(page.from + page.ids.len()),
            fetched_from: page.from,
            ids: page.ids,
            pending_changes: 0,
            lingering: 0,
            origin,
            apply_count,
        }
    }

    /// Returns the row of a lock.
    pub fn row_of(&self, id: &LockId) -> Option<usize> {
        let at = self.ids.iter().position(|other| other == id)?;
        Some(self.from + at)
    }

    /// Returns the lock in a row, if it is loaded.
    pub fn id_at(&self, row: usize) -> Option<&LockId> {
        self.ids.get(row.checked_sub(self.from)?)
    }

    /// Returns the range that the visible rows have in the server's current list.
    pub fn current_range(
        &self,
        page: (usize, &[LockId]),
        visible_range: &Range<usize>,
    ) -> Range<usize> {
        let (from, ids) = page;
        let first = visible_range.clone().find_map(|row| {
            let id = self.id_at(row)?;
            let now = from + ids.iter().position(|other| other == id)?;
            Some(now.saturating_sub(row - visible_range.start))
        });
        let start = first.unwrap_or(visible_range.start);
        start..start + visible_range.len()
    }

    /// Returns the visible rows as they are displayed.
    fn visible_ids(&self, visible_range: &Range<usize>) -> (usize, &[LockId]) {
        let start = visible_range
            .start
            .clamp(self.from, self.from + self.ids.len());
        let end = visible_range.end.clamp(start, self.from + self.ids.len());
        (start, &self.ids[start - self.from..end - self.from])
    }

    /// Returns how many rows the first visible lock that still exists moves down.
    fn shift(&self, page: &ServerPage, visible_range: &Range<usize>) -> Option<isize> {
        let (start, visible) = self.visible_ids(visible_range);
        visible.iter().enumerate().find_map(|(nth, id)| {
            let now = page.from + page.ids.iter().position(|other| other == id)?;
            now.checked_signed_diff(start + nth)
        })
    }

    /// Keeps the visible rows and replaces the rows around them with those of the server.
    fn merge_around_visible(&self, page: ServerPage, visible_range: &Range<usize>) -> Self {
        let (start, visible) = self.visible_ids(visible_range);
        let position = |id: &LockId| page.ids.iter().position(|other| other == id);
        let first = visible.iter().find_map(position);
        let last = visible.iter().rev().find_map(position);
        let (Some(first), Some(last)) = (first, last) else {
            // No visible row is in the new page: the user scrolled far away.
            return Self::from_page(page, self.origin, self.apply_count);
        };
        let frozen: HashSet<&LockId> = visible.iter().collect();
        let others = |ids: &[LockId]| -> Vec<LockId> {
            let ids = ids.iter().filter(|id| !frozen.contains(id));
            ids.cloned().collect()
        };
        let head = others(&page.ids[..first]);
        let tail = others(&page.ids[last.max(first) + 1..]);
        let new_start = page.from + head.len();
        let ids: Vec<LockId> = head
            .into_iter()
            .chain(visible.iter().cloned())
            .chain(tail)
            .collect();
        Self {
            origin: self.origin + new_start.checked_signed_diff(start).unwrap_or(0),
            pending_changes: count_differences(&ids, &page.ids),
            from: page.from,
            total: page.total.max(page.from + ids.len()),
            fetched_from: page.from,
            ids,
            query: page.query,
            is_current: page.is_current,
            lingering: 0,
            apply_count: self.apply_count,
        }
    }

    /// Keeps the rows of `before` that have `ended` at their places, so that the end of a lock can
    /// be seen.
    pub fn with_lingering(mut self, before: &Self, ended: &[LockId]) -> Self {
        if ended.is_empty() || !before.matches_query(&self.query) || self.from != before.from {
            return self;
        }
        for (place, id) in before.ids.iter().enumerate() {
            if ended.contains(id) && !self.ids.contains(id) {
                self.ids.insert(place.min(self.ids.len()), id.clone());
                self.lingering += 1;
                self.total += 1;
            }
        }
        self
    }
}

/// Counts the locks that are in only one of the lists.
fn count_differences(frozen: &[LockId], page: &[LockId]) -> usize {
    let old: HashSet<&LockId> = frozen.iter().collect();
    let new: HashSet<&LockId> = page.iter().collect();
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

    fn page(from: usize, names: &str, total: usize) -> ServerPage {
        ServerPage {
            query: LocksQuery::default(),
            is_current: true,
            from,
            ids: ids(names),
            total,
        }
    }

    fn view(visible_range: Range<usize>, is_frozen: bool, apply_count: u32) -> ViewState {
        ViewState {
            visible: visible_range,
            is_frozen,
            apply_count,
        }
    }

    fn names(rows: &VirtualRows) -> String {
        rows.ids
            .iter()
            .map(|id| id.key.text().into_owned())
            .collect()
    }

    #[test]
    fn rows_follow_the_list_until_the_order_is_frozen() {
        let rows = VirtualRows::next(None, page(0, "abc", 3), view(0..3, false, 0));
        let rows = VirtualRows::next(Some(&rows), page(0, "xac", 3), view(0..3, false, 0));
        assert_eq!(
            (names(&rows).as_str(), rows.pending_changes, rows.origin),
            ("xac", 0, 0)
        );
        let frozen = VirtualRows::next(Some(&rows), page(0, "yxa", 9), view(0..3, true, 0));
        assert_eq!(
            (
                names(&frozen).as_str(),
                frozen.pending_changes,
                frozen.total
            ),
            ("xac", 2, 9)
        );
        let applied = VirtualRows::next(Some(&frozen), page(0, "yxa", 9), view(0..3, true, 1));
        assert_eq!(
            (names(&applied).as_str(), applied.pending_changes),
            ("yxa", 0)
        );
        let other = page(0, "q", 1);
        let other = ServerPage {
            query: LocksQuery::parse("q=q"),
            ..other
        };
        let other = VirtualRows::next(Some(&frozen), other, view(0..3, true, 1));
        assert_eq!(names(&other), "q", "another query is not frozen");
    }

    #[test]
    fn visible_rows_stay_in_place_while_rows_around_them_change() {
        let rows = VirtualRows::next(None, page(10, "abcdefgh", 100), view(12..15, true, 0));
        // Two rows above were removed, `d` was removed, and `n` was inserted between visible rows.
        let next = VirtualRows::next(
            Some(&rows),
            page(6, "wxabcnefghij", 97),
            view(12..15, true, 0),
        );
        assert_eq!(names(&next), "wxabcdefghij");
        assert_eq!((next.from, next.row_of(&ids("c")[0])), (6, Some(10)));
        assert_eq!(
            next.origin, -2,
            "the page scrolls up by the rows removed above"
        );
        assert_eq!(next.pending_changes, 2);
    }

    #[test]
    fn applying_changes_while_scrolled_keeps_the_visible_lock_in_place() {
        let rows = VirtualRows::next(None, page(10, "abcdef", 100), view(12..15, true, 0));
        let next = VirtualRows::next(Some(&rows), page(10, "bxyzdef", 100), view(12..15, true, 1));
        assert_eq!((names(&next).as_str(), next.origin), ("bxyzdef", 1));
    }

    #[test]
    fn rows_of_ended_locks_linger_at_their_places() {
        let rows = VirtualRows::next(None, page(0, "abcd", 4), view(0..4, false, 0));
        let next = |names: &str, ended: &str| {
            let total = names.len();
            let next = VirtualRows::next(Some(&rows), page(0, names, total), view(0..4, false, 0));
            next.with_lingering(&rows, &ids(ended))
        };
        let lingering = next("xad", "bc");
        assert_eq!(names(&lingering), "xbcad");
        assert_eq!((lingering.total, lingering.lingering), (5, 2));
        // A lock that was acquired again is not a lingering row.
        let again = next("bad", "b");
        assert_eq!((names(&again).as_str(), again.lingering), ("bad", 0));
        // Only rows that were displayed linger.
        assert_eq!(names(&next("ad", "z")), "ad");
    }

    #[test]
    fn rows_of_an_earlier_query_neither_stay_nor_linger_when_the_server_answers() {
        for is_frozen in [false, true] {
            let earlier = VirtualRows::next(None, page(0, "abc", 3), view(0..3, is_frozen, 0));
            let query = || LocksQuery::parse("q=b");
            let waiting = ServerPage {
                query: query(),
                is_current: false,
                ..page(0, "abc", 3)
            };
            let waiting = VirtualRows::next(Some(&earlier), waiting, view(0..3, is_frozen, 0));
            let answer = ServerPage {
                query: query(),
                ..page(0, "b", 1)
            };
            let rows = VirtualRows::next(Some(&waiting), answer, view(0..3, is_frozen, 0));
            let rows = rows.with_lingering(&waiting, &ids("a"));
            assert_eq!((names(&rows).as_str(), rows.total), ("b", 1));
        }
    }

    #[test]
    fn rows_far_from_the_visible_ones_replace_the_list() {
        let rows = VirtualRows::next(None, page(0, "abc", 500), view(0..3, true, 0));
        let next = VirtualRows::next(Some(&rows), page(400, "xyz", 500), view(400..403, true, 0));
        assert_eq!(
            (names(&next).as_str(), next.from, next.origin),
            ("xyz", 400, 0)
        );
    }

    #[test]
    fn the_requested_range_follows_the_visible_rows() {
        let rows = VirtualRows::next(None, page(10, "abcdef", 100), view(12..15, true, 0));
        let drifted = ids("defghi");
        assert_eq!(rows.current_range((10, &drifted), &(12..15)), 9..12);
        assert_eq!(rows.current_range((10, &ids("xyz")), &(12..15)), 12..15);
    }
}
