//! What is told to all who look at the same part of the board and were told the same before: worked out and written once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;

use super::event::EventId;
use super::frame::{self, Frame};
use super::stream::Stream;
use super::watched::{Told, Watched};
use super::windows::Seen;
use crate::domain::Timestamp;

/// So many steps are kept in mind: those of the parts that are looked at, for as long as others may follow.
const MOST_STEPS: usize = 64;

/// What viewers are told next.
#[derive(Debug)]
pub struct Said {
    /// In this order.
    says: Vec<Told>,
    /// Where in the stream of changes that is.
    pub place: EventId,
    /// Before that, nothing else is worth looking for.
    pub until: Instant,
    frame: Frame,
}

impl Said {
    /// All of it as server-sent events: written out by the first who sends it. Nothing where there is nothing to tell.
    pub fn frame(&self) -> Option<Bytes> {
        let write = || {
            let mut written = Vec::new();
            for told in &self.says {
                match told {
                    Told::Snapshot(all) => frame::add(&mut written, "snapshot", self.place, all),
                    Told::Change(change) => frame::add(&mut written, "change", self.place, change),
                    Told::Window(news) => frame::add(&mut written, "window", self.place, news),
                }
            }
            written
        };
        (!self.says.is_empty()).then(|| self.frame.get_or_write(write))
    }
}

/// From what viewers saw to what there is to see now.
#[derive(Debug)]
struct Step {
    from: Option<Arc<Seen>>,
    to: Arc<Seen>,
    said: Arc<Said>,
    after: Arc<Watched>,
}

/// The latest steps.
#[derive(Debug, Default)]
pub struct Steps(Mutex<VecDeque<Step>>);

impl Stream {
    /// What a viewer is told next, and what it knows then.
    pub fn advance(&self, viewer: &Arc<Watched>, now: Timestamp) -> (Arc<Said>, Arc<Watched>) {
        if !viewer.is_one_of_many() {
            let (said, after, _) = walk(self, viewer, now);
            return (said, after);
        }
        // One at a time: those who come to the same step at the same moment share it.
        let mut steps = self
            .steps()
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let here = self.window(viewer.view(), now);
        // What is seen of a part is seen of no other: nothing else need be compared.
        let is_it = |step: &&Step| {
            Arc::ptr_eq(&step.to, &here) && is_same(step.from.as_ref(), viewer.seen())
        };
        if let Some(step) = steps.iter().find(is_it) {
            return (Arc::clone(&step.said), Arc::clone(&step.after));
        }
        let (said, after, to) = walk(self, viewer, now);
        if let Some(to) = to {
            if steps.len() == MOST_STEPS {
                steps.pop_front();
            }
            steps.push_back(Step {
                from: viewer.seen().cloned(),
                to,
                said: Arc::clone(&said),
                after: Arc::clone(&after),
            });
        }
        (said, after)
    }
}

fn is_same(one: Option<&Arc<Seen>>, other: Option<&Arc<Seen>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn walk(
    stream: &Stream,
    viewer: &Watched,
    now: Timestamp,
) -> (Arc<Said>, Arc<Watched>, Option<Arc<Seen>>) {
    let mut after = viewer.clone();
    let telling = after.next(stream, now);
    let said = Said {
        says: telling.told,
        frame: Frame::default(),
        place: telling.place,
        until: telling.until,
    };
    let to = after.seen().cloned();
    (Arc::new(said), Arc::new(after), to)
}
