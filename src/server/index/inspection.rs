//! Reads one lock from its nodes on request.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::fold::{Transition, fold};
use super::merge::{KeyObservation, merge};
use super::report::Report;
use super::{Index, LockInspection};
use crate::domain::{Change, Lock, LockId, LockKey};
use crate::server::clock::ClockReading;
use crate::server::stores::{Group, ReadCause};

impl Index {
    /// Reads one lock from all nodes and updates the index.
    ///
    /// A name that matches none of the group's patterns is returned to the caller but not indexed:
    /// otherwise every user would see it, and it could be selected for a release. Takes as long as
    /// the slowest reachable node, at most `command_timeout`.
    pub async fn inspect(&self, group: &Group, key: &LockKey) -> Option<LockInspection> {
        let keys = std::slice::from_ref(key);
        let reading = self.read_locks(group, keys, ReadCause::Routine).await;
        let read_at = reading.requested_at;
        let mut observations = merge(reading, keys);
        let feed = group.feed_coverage();
        for observation in &mut observations {
            let feed_since = feed.complete_since(&observation.key);
            observation.feed.complete_since = feed_since.map(|since| read_at.wall_at(since));
        }
        let id = LockId {
            group: group.config.name.clone(),
            key: key.clone(),
        };
        let was_known = self.snapshot().lock(&id).is_some();
        if !was_known && !group.config.key_patterns().matches_keys(key.as_bytes()) {
            let observation = observations.into_iter().next()?;
            return Some(inspect_unlisted(group, id, read_at, observation));
        }
        let (reply, result) = oneshot::channel();
        let report = Report::KeysRead {
            group: group.config.name.clone(),
            read_at,
            observations,
            reply: Some(reply),
        };
        // `None` during shutdown, when the observer has stopped.
        self.reports.send(report).await.ok()?;
        let inspection = result.await.ok()?;
        if inspection.lock.is_some() && !was_known {
            // The watcher may have read the key as absent before it was indexed, and will not
            // report that again.
            self.poll_soon(&id);
        }
        Some(inspection)
    }
}

/// The lock as this single reading shows it, without indexing it.
fn inspect_unlisted(
    group: &Group,
    id: LockId,
    read_at: ClockReading,
    observation: KeyObservation,
) -> LockInspection {
    let nodes = observation.nodes.clone();
    let max_hold = group.config.locking.max_hold;
    let transition = fold(id, None, None, read_at, max_hold, observation);
    let lock: Option<Lock> = match transition {
        Transition::Store(_, Change::Appeared { lock }) => Some(Arc::unwrap_or_clone(lock)),
        Transition::Ignore
        | Transition::Remove(_)
        | Transition::ShowOnly(_)
        | Transition::Store(..)
        | Transition::Touch(..) => None,
    };
    LockInspection { lock, nodes }
}
