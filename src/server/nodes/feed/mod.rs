//! How a node tells what was written on it, on a connection of its own: client tracking, else keyspace notifications that
//! are already on, else nothing, and it has to be looked at again and again. Nothing is ever configured on a server.

mod group;
mod inbox;
mod interest;
mod keeper;
mod lacking;
mod prefixes;
mod probe;
mod session;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

pub use inbox::{Inbox, Writes};
pub use interest::{Interest, Meaning};
pub use prefixes::{learn, of_patterns as prefixes_of};

use super::touch::Written;
use crate::domain::{FeedLevel, LockKey, MissingPermission};
use crate::server::clock::Steady;

/// What one node's feed is like.
pub struct Feed {
    /// Where it tells; shared by the nodes of a group.
    inbox: Arc<Inbox>,
    /// Its node's place in the configuration.
    place: usize,
    /// What the sensor of touches is to know of.
    pub(super) written: Written,
    is_kept: AtomicBool,
    state: Mutex<FeedState>,
    /// How often the picture of the node was found to have a gap, and whether the first attempt has ended.
    gaps: watch::Sender<Gaps>,
}

#[derive(Clone, Copy, Default)]
struct Gaps {
    count: u64,
    is_settled: bool,
}

/// What a feed is like right now.
#[derive(Clone)]
pub struct FeedState {
    /// How changes are learnt.
    pub level: FeedLevel,
    /// What is told that way, or why it is no better.
    pub reason: Option<String>,
    /// Which names it tells of.
    pub covers: Covers,
    /// Since when nothing can have been missed.
    pub since: Steady,
    /// What its user may not do.
    pub missing: Vec<MissingPermission>,
}

/// Which names a feed tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Covers {
    /// None for certain.
    Nothing,
    /// Those that begin like this.
    Prefixes(Arc<[Vec<u8>]>),
    /// All that the group's patterns match.
    Everything,
}

impl Covers {
    pub(super) fn covers(&self, key: &LockKey) -> bool {
        match self {
            Self::Nothing => false,
            Self::Prefixes(prefixes) => prefixes
                .iter()
                .any(|prefix| key.as_bytes().starts_with(prefix)),
            Self::Everything => true,
        }
    }
}

impl Feed {
    /// A feed that nobody keeps yet.
    pub(super) fn new(inbox: Arc<Inbox>, place: usize) -> Self {
        Self {
            inbox,
            place,
            written: Written::default(),
            is_kept: AtomicBool::new(false),
            state: Mutex::new(FeedState {
                level: FeedLevel::Poll,
                reason: None,
                covers: Covers::Nothing,
                since: Steady::default(),
                missing: Vec::new(),
            }),
            gaps: watch::Sender::new(Gaps::default()),
        }
    }

    /// What it is like.
    pub fn state(&self) -> FeedState {
        self.locked().clone()
    }

    /// Something may have happened unseen before `now`: everything is looked at, and the node scanned, once more.
    pub(super) fn has_a_gap(&self, now: Steady) {
        self.locked().since = now;
        self.written.everything();
        self.gaps.send_modify(|gaps| gaps.count += 1);
        self.inbox.everything();
    }

    /// Waits until the first attempt to be told of changes has ended, well or badly; not at all where nobody makes one.
    pub(super) async fn settled(&self, limit: Duration) {
        if self.is_kept.load(Ordering::Relaxed) {
            let mut gaps = self.gaps.subscribe();
            let _late = tokio::time::timeout(limit, gaps.wait_for(|gaps| gaps.is_settled)).await;
        }
    }

    /// Tells of gaps.
    pub(super) fn gaps(&self) -> GapWatch {
        GapWatch(self.gaps.subscribe())
    }

    fn settle(&self) {
        self.gaps.send_if_modified(|gaps| {
            let was_settled = std::mem::replace(&mut gaps.is_settled, true);
            !was_settled
        });
    }

    fn locked(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock()
    }
}

/// Waits for gaps.
pub(super) struct GapWatch(watch::Receiver<Gaps>);

impl GapWatch {
    /// Those so far are dealt with.
    pub(super) fn forget(&mut self) {
        self.0.mark_unchanged();
    }

    /// Waits for one that is not dealt with.
    pub(super) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Which names the nodes of a group tell of, at one moment.
pub struct Fed(Vec<(Covers, Steady)>);

impl Fed {
    /// Since when no change of this key can have been missed; nothing where it has to be looked at again and again.
    pub fn since(&self, key: &LockKey) -> Option<Steady> {
        let since = |(covers, since): &(Covers, Steady)| covers.covers(key).then_some(*since);
        let each: Option<Vec<Steady>> = self.0.iter().map(since).collect();
        each?.into_iter().max()
    }

    /// Whether nothing has to be looked at again and again.
    pub fn is_everything(&self) -> bool {
        !self.0.is_empty()
            && self
                .0
                .iter()
                .all(|(covers, _)| *covers == Covers::Everything)
    }

    /// Whether some node tells only of names that begin like known locks.
    pub fn is_learning(&self) -> bool {
        let learns = |(covers, _): &(Covers, Steady)| matches!(covers, Covers::Prefixes(_));
        self.0.iter().any(learns)
    }
}
