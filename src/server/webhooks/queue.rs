//! The events that wait for one webhook: bounded, the oldest goes first when there are too many.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::Event;

/// So many wait.
const MOST: usize = 1_000;

/// The events, and a bell.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<VecDeque<Event>>,
    rung: Notify,
}

impl Queue {
    /// Adds one at the end; the oldest, where there was no room. The first may just be being tried: it stays.
    pub(super) fn push(&self, event: Event) -> Option<Event> {
        let mut waiting = self.waiting();
        let oldest = if waiting.len() >= MOST {
            waiting.remove(1)
        } else {
            None
        };
        waiting.push_back(event);
        drop(waiting);
        self.rung.notify_one();
        oldest
    }

    /// The one whose turn it is, once there is one. It waits until it is [`Queue::done`].
    pub(super) async fn first(&self) -> Event {
        loop {
            let first = self.waiting().front().cloned();
            match first {
                Some(event) => return event,
                None => self.rung.notified().await,
            }
        }
    }

    /// The first has been told, or given up.
    pub(super) fn done(&self) {
        self.waiting().pop_front();
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting().len()
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Event>> {
        // Only ever changed by whole events, so a panic elsewhere left it sound.
        self.waiting.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn event(n: usize) -> Event {
        let at = Timestamp::from_millis(0);
        Event::new("test", at, &serde_json::json!({ "n": n }))
    }

    #[tokio::test]
    async fn events_come_in_order_and_the_oldest_that_is_not_being_tried_goes() {
        let queue = Queue::default();
        let events: Vec<Event> = (0..MOST + 2).map(event).collect();
        let mut dropped = Vec::new();
        for event in &events {
            dropped.extend(queue.push(event.clone()));
        }
        let ids =
            |events: &[Event]| -> Vec<_> { events.iter().map(|one| one.id().to_owned()).collect() };
        assert_eq!(ids(&dropped), ids(&events[1..3]));
        assert_eq!(queue.len(), MOST);
        assert_eq!(queue.first().await.id(), events[0].id());
        queue.done();
        assert_eq!(queue.first().await.id(), events[3].id());
    }
}
