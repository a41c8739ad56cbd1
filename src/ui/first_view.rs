//! What comes with a page that the server renders.

use super::paths;
use super::query::Query;
use crate::domain::{LockId, View};

/// How many rows come with the page. Few screens have more, and all of them have to wake up before anything can be clicked.
pub const ROWS_AT_FIRST: usize = 20;
/// How many bundles make a page.
pub const BUNDLES: usize = 60;

/// How many rows of this list come with the page.
pub fn rows_at_first(query: &Query) -> usize {
    match query.by {
        Some(_) => BUNDLES,
        None => ROWS_AT_FIRST,
    }
}

/// What the page at an address shows of the board: the list that the address names, or the usual one, and its lock.
pub fn seen_from(page: &str) -> (View, Vec<LockId>) {
    let (path, search) = page.split_once('?').unwrap_or((page, ""));
    let query = match path {
        paths::LOCKS => Query::parse(search),
        _ => Query::default(),
    };
    let lock = paths::parse_lock(path, search);
    (
        query.view(rows_at_first(&query)),
        lock.into_iter().collect(),
    )
}
