//! Pure: which bundles stand in which row, and what holds them there while somebody looks.

use std::collections::HashSet;

use crate::domain::{Bundle, Bundles};
use crate::ui::components::pager::Page;
use crate::ui::query::Query;

/// The bundles as they stand on screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// The bundles, in order.
    pub rows: Vec<Bundle>,
    /// Which of how many they are.
    pub page: Page,
    /// How many would come or go if the order were not held.
    pub waiting: usize,
    /// Whether they were told yet.
    pub is_known: bool,
    query: Query,
    let_in: u32,
}

impl Shown {
    /// What is shown after this was told, to somebody under whose eyes the order holds or does not, and who let in what waits
    /// so many times.
    pub fn next(
        before: Option<&Self>,
        query: &Query,
        told: Option<Bundles>,
        (holds, let_in): (bool, u32),
    ) -> Self {
        let before = before.filter(|before| before.query == *query && before.is_known);
        let Some(told) = told else {
            return before.cloned().unwrap_or_default();
        };
        let size = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        let page = |rows: &[Bundle]| Page {
            from: size(told.from),
            rows: rows.len(),
            total: size(told.total).max(size(told.from) + rows.len()),
        };
        let held = before.filter(|before| {
            holds && before.let_in == let_in && before.page.from == size(told.from)
        });
        let (rows, waiting) = match held {
            Some(held) => {
                let now = |row: &Bundle| told.rows.iter().find(|told| told.name == row.name);
                let rows = held.rows.iter().map(|row| match now(row) {
                    Some(now) => now.clone(),
                    None => emptied(row),
                });
                (rows.collect(), differing(&held.rows, &told.rows))
            }
            None => (told.rows.clone(), 0),
        };
        Self {
            page: page(&rows),
            rows,
            waiting,
            is_known: true,
            query: query.clone(),
            let_in,
        }
    }

    /// The names of the bundles, in order.
    pub fn names(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.name.clone()).collect()
    }

    /// The bundle of this name.
    pub fn bundle(&self, name: &str) -> Option<&Bundle> {
        self.rows.iter().find(|row| row.name == name)
    }
}

/// A bundle that is not among those told any more.
fn emptied(row: &Bundle) -> Bundle {
    Bundle {
        locks: 0,
        attention: 0,
        verdicts: Default::default(),
        flags: Default::default(),
        ..row.clone()
    }
}

/// How many stand in one list and not in the other.
fn differing(held: &[Bundle], told: &[Bundle]) -> usize {
    let names =
        |rows: &[Bundle]| -> HashSet<String> { rows.iter().map(|row| row.name.clone()).collect() };
    names(held).symmetric_difference(&names(told)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{By, Timestamp};

    fn told(names: &str, total: u32) -> Option<Bundles> {
        let row = |name: char| Bundle {
            name: name.to_string(),
            locks: total,
            attention: 0,
            verdicts: Default::default(),
            flags: Default::default(),
            oldest: Timestamp::from_millis(0),
            first: crate::domain::LockId {
                group: "g".into(),
                key: "k".into(),
            },
        };
        Some(Bundles {
            by: By::Prefix,
            rows: names.chars().map(row).collect(),
            from: 0,
            total,
        })
    }

    fn rows(shown: &Shown) -> String {
        shown.names().concat()
    }

    #[test]
    fn bundles_hold_their_places_while_somebody_looks_and_count_on() {
        let query = Query::default();
        let first = Shown::next(None, &query, told("abc", 3), (true, 0));
        assert_eq!((rows(&first).as_str(), first.waiting), ("abc", 0));
        let held = Shown::next(Some(&first), &query, told("xca", 4), (true, 0));
        assert_eq!((rows(&held).as_str(), held.waiting), ("abc", 2));
        let counts: Vec<u32> = held.rows.iter().map(|row| row.locks).collect();
        assert_eq!(counts, [4, 0, 4], "what is gone has no locks any more");
        let let_in = Shown::next(Some(&held), &query, told("xca", 4), (true, 1));
        assert_eq!((rows(&let_in).as_str(), let_in.waiting), ("xca", 0));
        let free = Shown::next(Some(&held), &query, told("xca", 4), (false, 0));
        assert_eq!(rows(&free), "xca");
    }

    #[test]
    fn another_list_is_not_held_and_an_answer_on_its_way_shows_nothing_wrong() {
        let query = Query::default();
        let first = Shown::next(None, &query, told("abc", 3), (true, 0));
        let other = Query::parse("q=x");
        assert_eq!(Shown::next(Some(&first), &query, None, (true, 0)), first);
        let waits = Shown::next(Some(&first), &other, None, (true, 0));
        assert!(!waits.is_known && waits.rows.is_empty());
        let came = Shown::next(Some(&waits), &other, told("x", 1), (true, 0));
        assert_eq!((rows(&came).as_str(), came.is_known), ("x", true));
    }
}
