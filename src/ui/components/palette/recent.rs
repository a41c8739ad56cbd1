//! The locks that somebody looked at lately, as this browser remembers them.

use crate::domain::LockId;
use crate::ui::{paths, traces};

const KEPT: usize = 6;
/// Longer addresses are not worth their room.
const LONGEST: usize = 1_000;

/// Remembers an address, if it is that of a lock.
pub(super) fn remember(path: &str) {
    if path.len() > LONGEST || lock(path).is_none() {
        return;
    }
    let mut all = stored();
    all.retain(|known| known != path);
    all.insert(0, path.to_owned());
    all.truncate(KEPT);
    traces::keep(traces::RECENT, &all.join("\n"));
}

/// The addresses, the latest first, with their locks.
pub(super) fn all() -> Vec<(String, LockId)> {
    let known = stored().into_iter();
    known
        .filter_map(|path| lock(&path).map(|id| (path, id)))
        .collect()
}

fn stored() -> Vec<String> {
    let text = traces::kept(traces::RECENT).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn lock(path: &str) -> Option<LockId> {
    let (pathname, search) = path.split_once('?').unwrap_or((path, ""));
    paths::parse_lock(pathname, search)
}
