//! One lock, read from its nodes right now because somebody asks for it.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::fold::{Step, fold};
use super::merge::Entry;
use super::report::Report;
use super::{Index, Looked};
use crate::domain::{Change, Lock, LockId, LockKey};
use crate::server::clock::Moment;
use crate::server::nodes::Group;

impl Index {
    /// Asks the nodes about one lock right now, and puts what they say on the board.
    ///
    /// A name that no pattern of the group matches is shown to whoever asks and is not put on the board: there, everybody would
    /// see it, and it could be picked for a release. Takes as long as the slowest node that is up, at most the command time limit.
    pub async fn look_again(&self, group: &Group, key: &LockKey) -> Option<Looked> {
        let keys = std::slice::from_ref(key);
        let look = group.look(keys).await;
        let asked = look.asked;
        let mut entries = self.merged(group, look, keys);
        let fed = group.fed();
        for entry in &mut entries {
            let fed_since = fed.since(&entry.key);
            entry.watched.fed_since = fed_since.map(|since| asked.wall_at(since));
        }
        let id = LockId {
            group: group.config.name.clone(),
            key: key.clone(),
        };
        let was_known = self.snapshot().lock(&id).is_some();
        if !was_known && !group.config.naming().is_scanned(key.as_bytes()) {
            let entry = entries.into_iter().next()?;
            return Some(shown(group, id, asked, entry));
        }
        let (reply, answer) = oneshot::channel();
        let report = Report::Looked {
            group: group.config.name.clone(),
            asked,
            entries,
            reply: Some(reply),
        };
        self.reports.send(report).await.ok()?;
        let looked = answer.await.ok()?;
        if looked.lock.is_some() && !was_known {
            // The watcher may have seen it gone in the meantime, when it was not on the board yet.
            self.look_soon(&id);
        }
        Some(looked)
    }
}

/// What a lock that is not on the board looks like by this one reading.
fn shown(group: &Group, id: LockId, asked: Moment, entry: Entry) -> Looked {
    let nodes = entry.nodes.clone();
    let max_hold = group.config.locking.longest_hold;
    let step = fold(id, None, None, asked, max_hold, entry);
    let lock: Option<Lock> = match step {
        Step::Remember(_, Change::Appeared { lock }) => Some(Arc::unwrap_or_clone(lock)),
        Step::Nothing
        | Step::Forget(_)
        | Step::Show(_)
        | Step::Remember(..)
        | Step::Refresh(..) => None,
    };
    Looked { lock, nodes }
}
