//! The recently visited lock pages, stored in the browser.

use crate::domain::LockId;
use crate::ui::{local_storage, paths};

const MAX_RECENT: usize = 6;
/// Longer paths are not stored, to limit the size of the entry.
const MAX_PATH_BYTES: usize = 1_000;

/// Stores a path, if it is a lock's page with its current state.
pub(super) fn record_visit(path: &str) {
    let is_pinned = paths::pinned_time(&paths::query_string(path)).is_some();
    if path.len() > MAX_PATH_BYTES || is_pinned || lock_of_path(path).is_none() {
        return;
    }
    let mut paths = stored_paths();
    paths.retain(|other| other != path);
    paths.insert(0, path.to_owned());
    paths.truncate(MAX_RECENT);
    local_storage::set(local_storage::RECENT_LOCKS, &paths.join("\n"));
}

/// Returns the paths with their locks, the latest first.
pub(super) fn recent_locks() -> Vec<(String, LockId)> {
    let paths = stored_paths().into_iter();
    paths
        .filter_map(|path| lock_of_path(&path).map(|id| (path, id)))
        .collect()
}

fn stored_paths() -> Vec<String> {
    let text = local_storage::get(local_storage::RECENT_LOCKS).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn lock_of_path(path: &str) -> Option<LockId> {
    let (pathname, search) = path.split_once('?').unwrap_or((path, ""));
    paths::parse_lock(pathname, search)
}
