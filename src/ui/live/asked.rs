//! Which part of the board a page asks for, and what it is told of the rest.

use std::collections::BTreeMap;

use crate::domain::{Counts, LockId, View};
use crate::ui::paths;
use crate::ui::query::Query;

/// How many rows of the table are asked for at first, and how many more each time.
const ROWS: usize = 200;
/// No more rows than this: the server has no larger windows.
pub const MOST_ROWS: usize = 1_000;

/// Which part of the board is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Asked {
    /// The list.
    pub(super) query: Query,
    /// How many times [`ROWS`] beyond the first.
    pub(super) more: usize,
    /// Locks that are shown by themselves, and by how many at once.
    pub(super) followed: BTreeMap<LockId, u32>,
}

impl Asked {
    /// How many rows that are.
    pub(super) fn rows(&self) -> usize {
        (ROWS * (self.more + 1)).min(MOST_ROWS)
    }
}

/// What is told of the server's board beside the locks that are sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// How many the list has.
    pub(super) total: u32,
    /// How many are in which state.
    pub(super) counts: Counts,
}

/// What the page at an address shows of the board: the list that the address names, or the usual one, and its lock.
pub fn seen_from(page: &str) -> (View, Vec<LockId>) {
    let (path, search) = page.split_once('?').unwrap_or((page, ""));
    let query = match path {
        paths::LOCKS => Query::parse(search),
        _ => Query::default(),
    };
    let lock = paths::parse_lock(path, search);
    (query.view(ROWS), lock.into_iter().collect())
}
