//! The only writer of the board: reports in, changes out.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::Looked;
use super::fold::{Memory, Step, fold};
use super::merge::Entry;
use super::stream::Stream;
use super::wants::Wants;
use crate::domain::{Change, GroupView, LockId, Timestamp};

/// What a watcher tells the observer.
#[derive(Debug)]
pub(super) enum Report {
    /// What the nodes showed of some keys.
    Looked {
        /// The group.
        group: String,
        /// When they were asked: older answers never overwrite newer ones.
        asked_at: Timestamp,
        /// One per key.
        entries: Vec<Entry>,
        /// Told what the first entry came to.
        reply: Option<oneshot::Sender<Looked>>,
    },
    /// A group's health and coverage.
    Group(Box<GroupView>),
    /// Something that was not seen on the nodes, and leaves the board as it is.
    Told(Box<Change>),
}

/// Keeps what the board does not carry, and writes it.
pub(super) struct Observer {
    stream: Arc<Stream>,
    wants: Arc<Wants>,
    gone: broadcast::Sender<LockId>,
    memories: BTreeMap<LockId, Memory>,
}

impl Observer {
    pub(super) fn new(
        stream: Arc<Stream>,
        wants: Arc<Wants>,
        gone: broadcast::Sender<LockId>,
    ) -> Self {
        Self {
            stream,
            wants,
            gone,
            memories: BTreeMap::new(),
        }
    }

    /// Takes reports until `stop` is cancelled.
    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<Report>, stop: CancellationToken) {
        loop {
            let report = tokio::select! {
                () = stop.cancelled() => return,
                report = inbox.recv() => report,
            };
            match report {
                Some(Report::Looked {
                    group,
                    asked_at,
                    entries,
                    reply,
                }) => {
                    let first = entries.first().map(|entry| {
                        (
                            LockId {
                                group: group.clone(),
                                key: entry.key.clone(),
                            },
                            entry.nodes.clone(),
                        )
                    });
                    let changes = entries
                        .into_iter()
                        .filter_map(|entry| self.see(&group, asked_at, entry))
                        .collect();
                    self.stream.publish(changes);
                    if let (Some(reply), Some((id, nodes))) = (reply, first) {
                        let lock = self.stream.read(|board| board.locks.get(&id).cloned());
                        // Whoever asked may have gone away in the meantime.
                        let _gone = reply.send(Looked { lock, nodes });
                    }
                }
                Some(Report::Group(group)) => self.stream.publish(vec![Change::Group { group }]),
                Some(Report::Told(change)) => self.stream.publish(vec![*change]),
                None => return,
            }
        }
    }

    /// What the answers about one key change.
    fn see(&mut self, group: &str, asked_at: Timestamp, mut entry: Entry) -> Option<Change> {
        let id = LockId {
            group: group.to_owned(),
            key: entry.key.clone(),
        };
        entry.evidence = self.wants.evidence(&id, asked_at);
        let before = self.stream.read(|board| board.locks.get(&id).cloned());
        match fold(id.clone(), before, self.memories.get(&id), asked_at, entry) {
            Step::Nothing => None,
            Step::Forget(change) => {
                self.memories.remove(&id);
                // Nobody listens where nobody can wait.
                let _nobody = self.gone.send(id);
                Some(change)
            }
            Step::Show(change) => Some(change),
            Step::Remember(memory, change) => {
                self.memories.insert(id, memory);
                Some(change)
            }
            Step::Refresh(memory, lock) => {
                self.memories.insert(id.clone(), memory);
                self.stream.touch(|board| {
                    board.locks.insert(id, *lock);
                });
                None
            }
        }
    }
}
