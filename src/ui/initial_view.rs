//! The part of the lock index that is sent with a server-rendered page.

use super::locks_query::LocksQuery;
use super::paths;
use crate::domain::{LockId, WindowQuery};

/// Rows in the first page. Few screens show more, and all rows must be hydrated before the page is
/// interactive.
pub const INITIAL_ROWS: usize = 20;
/// Buckets per page.
pub const BUCKETS_PER_PAGE: usize = 60;

/// The number of rows that are sent with this list.
pub fn initial_rows(query: &LocksQuery) -> usize {
    match query.group_by {
        Some(_) => BUCKETS_PER_PAGE,
        None => INITIAL_ROWS,
    }
}

/// The list and the lock that the page at this URL shows. Pages other than the lock list get the
/// default list.
pub fn initial_window(page: &str) -> (WindowQuery, Vec<LockId>) {
    let (path, search) = page.split_once('?').unwrap_or((page, ""));
    let query = match path {
        paths::LOCKS => LocksQuery::parse(search),
        _ => LocksQuery::default(),
    };
    // A page of a lock as it was does not show its current state.
    let lock = paths::parse_lock(path, search).filter(|_| paths::pinned_time(search).is_none());
    (
        query.window_query(initial_rows(&query)),
        lock.into_iter().collect(),
    )
}
