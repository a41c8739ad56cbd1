//! Waiting for a lock: who came first tries first, whoever sees it released says so, and nobody waits past a deadline.

#![expect(
    clippy::manual_async_fn,
    reason = "these futures say that they are `Send`, see `nodes::lock_node`"
)]

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::claim::Claim;
use super::layouts::LONGEST_STAND;
use super::meaning::as_try;
use super::together::Tries;
use super::{Attempt, End, Want};
use crate::domain::{Fingerprint, LockKey, Timestamp};
use crate::server::clock::Clock;
use crate::server::nodes::Group;
use crate::server::nodes::lock_node::LockNode;

/// The longest pause between two tries, at first and at last; each is shortened by a random part. Only the first in the
/// queue tries, so a lock costs one console this much whether one or a thousand wait for it.
const PAUSES: (Duration, Duration) = (Duration::from_millis(25), Duration::from_millis(250));

/// Who waits for the locks of one group, in this process. Those of other processes are met on the nodes.
#[derive(Clone, Default)]
pub struct Queues {
    by_lock: Arc<Mutex<HashMap<LockKey, Queue>>>,
    tries: Tries,
}

/// What everybody may know of one who waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// What it calls itself.
    pub label: Option<String>,
    /// What would tell its hold from others.
    pub fingerprint: Fingerprint,
    /// Since when it waits.
    pub since: Timestamp,
    /// It stands in the queue that the nodes have, as well.
    pub stands_on_nodes: bool,
}

/// Those who wait for one lock.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The lock.
    pub key: LockKey,
    /// The first of them, in order, as far as they have a name.
    pub first: Vec<Named>,
    /// How many there are.
    pub many: usize,
}

/// Who waits for one lock.
#[derive(Default)]
struct Queue {
    places: VecDeque<Arc<Turn>>,
    /// What the last try of whoever was first came to: the others are told this when their time is over.
    latest: Option<Attempt>,
}

/// When it is one's turn.
struct Turn {
    /// Rung when it is worth trying: this place has become the first, or is it and the lock was released.
    bell: Notify,
    who: Option<Named>,
}

impl Queues {
    /// Everybody who waits: of each lock the first so many.
    pub fn all(&self, most: usize) -> Vec<Waiting> {
        let queues = self.queues();
        let waiting = queues.iter().map(|(key, queue)| Waiting {
            key: key.clone(),
            first: queue
                .places
                .iter()
                .filter_map(|turn| turn.who.clone())
                .take(most)
                .collect(),
            many: queue.places.len(),
        });
        waiting.collect()
    }

    /// How many wait for this lock.
    pub fn waiting(&self, key: &LockKey) -> usize {
        self.queues().get(key).map_or(0, |queue| queue.places.len())
    }

    /// How many of them stand in the queue that the nodes have, as well.
    pub fn waiting_on_nodes(&self, key: &LockKey) -> usize {
        let queues = self.queues();
        let places = queues.get(key).map(|queue| &queue.places);
        let named = places
            .into_iter()
            .flatten()
            .filter_map(|turn| turn.who.as_ref());
        named.filter(|who| who.stands_on_nodes).count()
    }

    /// The lock was released, as far as anybody saw: whoever is first tries at once.
    pub fn freed(&self, key: &LockKey) {
        if let Some(first) = self
            .queues()
            .get(key)
            .and_then(|queue| queue.places.front())
        {
            first.bell.notify_one();
        }
    }

    /// Joins the queue for a lock, at its end.
    pub fn join(&self, key: &LockKey) -> Place {
        self.join_as(key, None)
    }

    /// The same by name.
    pub fn join_as(&self, key: &LockKey, who: Option<Named>) -> Place {
        let bell = Notify::new();
        let turn = Arc::new(Turn { bell, who });
        let mut queues = self.queues();
        let queue = queues.entry(key.clone()).or_default();
        queue.places.push_back(Arc::clone(&turn));
        Place {
            queues: self.clone(),
            key: key.clone(),
            turn,
        }
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<LockKey, Queue>> {
        self.by_lock.lock()
    }

    /// One try, together with all who try at this moment.
    pub fn attempt<N: LockNode>(
        &self,
        group: &Group<N>,
        want: &Want,
        hung_up: CancellationToken,
    ) -> impl Future<Output = Attempt> + Send {
        async move {
            let mut claim = Claim::new(group, want).unless(hung_up);
            self.tries.attempt(&mut claim, group.clock().now()).await
        }
    }
}

/// A place in a queue. It is left when it is dropped.
pub struct Place {
    queues: Queues,
    key: LockKey,
    turn: Arc<Turn>,
}

impl Place {
    fn is_first(&self) -> bool {
        let queues = self.queues.queues();
        let first = queues.get(&self.key).and_then(|queue| queue.places.front());
        first.is_some_and(|first| Arc::ptr_eq(first, &self.turn))
    }

    /// How many times as long as the first one waits between tries. Whoever came before is first on the nodes as well, as a
    /// rule; among those who came at the same moment it may be another.
    fn patience(&self) -> u32 {
        let is_this = |place: &Arc<Turn>| Arc::ptr_eq(place, &self.turn);
        let queues = self.queues.queues();
        let before = queues
            .get(&self.key)
            .and_then(|queue| queue.places.iter().take(20).position(is_this));
        before.map_or(20, |before| u32::try_from(before + 1).unwrap_or(20))
    }

    fn latest(&self) -> Option<Attempt> {
        let queues = self.queues.queues();
        queues.get(&self.key).and_then(|queue| queue.latest.clone())
    }

    fn tell_latest(&self, attempt: &Attempt) {
        if let Some(queue) = self.queues.queues().get_mut(&self.key) {
            queue.latest = Some(attempt.clone());
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut queues = self.queues.queues();
        let Some(queue) = queues.get_mut(&self.key) else {
            return;
        };
        let is_this = |place: &Arc<Turn>| Arc::ptr_eq(place, &self.turn);
        let was_first = queue.places.front().is_some_and(is_this);
        queue.places.retain(|place| !is_this(place));
        match queue.places.front() {
            None => {
                queues.remove(&self.key);
            }
            Some(next) if was_first => next.bell.notify_one(),
            Some(_) => {}
        }
    }
}

/// Takes a lock as soon as it can be had, until `wait` is over.
///
/// Who comes later waits behind who came before; between tries there is a random, growing pause, cut short when the lease that is in the way ends or the lock is seen released.
/// Where the nodes have a queue, each stands in that by itself. Nobody waits any more once the group is closing.
pub fn acquire_within<N: LockNode>(
    group: &Group<N>,
    want: &Want,
    wait: Duration,
    place: Place,
) -> impl Future<Output = Attempt> + Send {
    acquire_unless(group, want, wait, place, CancellationToken::new())
}

/// The same for a client that may hang up: then no other try begins, and one that has begun is ended and taken back.
pub fn acquire_unless<N: LockNode>(
    group: &Group<N>,
    want: &Want,
    wait: Duration,
    place: Place,
    hung_up: CancellationToken,
) -> impl Future<Output = Attempt> + Send {
    async move {
        let clock = group.clock();
        let deadline = clock.instant() + wait;
        let stand = wait.min(LONGEST_STAND);
        let mut claim = Claim::waiting(group, want, stand).unless(hung_up.clone());
        let in_turn = !claim.stands_in_line();
        let closing = group.closing();
        while in_turn && !place.is_first() {
            let ringing = clock.timeout_at(deadline, place.turn.bell.notified());
            let rung = closing.run_until_cancelled(ringing);
            let Some(rung) = hung_up.run_until_cancelled(rung).await else {
                return unheard(clock);
            };
            if !matches!(rung, Some(Some(()))) {
                match place.latest() {
                    Some(latest) => return latest,
                    // Nobody has tried yet: one question tells who is in the way.
                    None => break,
                }
            }
        }
        let (mut pause, mut n) = (PAUSES.0, 0_u32);
        loop {
            n = n.saturating_add(1);
            if wait > stand {
                claim.stand_on();
            }
            let attempt = if in_turn {
                let now = clock.now();
                as_try(n, place.queues.tries.attempt(&mut claim, now)).await
            } else {
                as_try(n, claim.try_once()).await
            };
            let left = deadline.saturating_duration_since(clock.instant());
            let lease_ms = match &attempt.end {
                End::Won(_) => {
                    Span::current().record("lockkeeper.tries", i64::from(n));
                    return attempt;
                }
                End::WrongType(_) => None,
                _ if left.is_zero() || closing.is_cancelled() => None,
                End::Taken { lease_ms, .. } => Some(*lease_ms),
                End::NotHeld | End::NoQuorum => Some(None),
            };
            let Some(lease_ms) = lease_ms else {
                Span::current().record("lockkeeper.tries", i64::from(n));
                claim.leave().await;
                return attempt;
            };
            place.tell_latest(&attempt);
            // Contenders that fell out of step do not keep one another from the quorum for ever. A lease that ends sooner
            // is worth coming back for.
            // What is over and still there ends at no moment that anybody knows.
            let lease = lease_ms.filter(|&ms| ms > 0);
            let lease = lease.map_or(Duration::MAX, |ms| Duration::from_millis(ms.max(5)));
            let pause_now = (pause * place.patience())
                .mul_f64(0.3 + 0.7 * clock.random())
                .min(lease)
                .min(left);
            let ringing = clock.timeout_at(clock.instant() + pause_now, place.turn.bell.notified());
            let rung = closing.run_until_cancelled(ringing);
            match hung_up.run_until_cancelled(rung).await {
                Some(Some(Some(()))) => pause = PAUSES.0,
                Some(Some(None)) => pause = (pause * 2).min(PAUSES.1),
                Some(None) => {
                    Span::current().record("lockkeeper.tries", i64::from(n));
                    claim.leave().await;
                    return attempt;
                }
                None => return unheard(clock),
            }
        }
    }
}

/// What is told to nobody. What may be left is looked after when the claim is dropped.
fn unheard(clock: &Clock) -> Attempt {
    Attempt {
        nodes: Vec::new(),
        end: End::NoQuorum,
        known_at: clock.instant(),
        fence: None,
        token: None,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[test]
    fn places_are_left_in_any_order_and_the_next_one_becomes_the_first() {
        let (queues, key) = (Queues::default(), LockKey::from("lock:a"));
        let (one, two, three) = (queues.join(&key), queues.join(&key), queues.join(&key));
        assert!(one.is_first() && !two.is_first() && queues.waiting(&key) == 3);
        drop(two);
        drop(one);
        assert!(three.is_first() && queues.waiting(&key) == 1);
        drop(three);
        assert_eq!(queues.waiting(&key), 0);
        assert!(queues.queues().is_empty());
    }

    #[tokio::test]
    async fn a_release_rings_for_the_first_alone_and_is_not_lost_while_it_tries() {
        let (queues, key) = (Queues::default(), LockKey::from("lock:a"));
        let (one, two) = (queues.join(&key), queues.join(&key));
        queues.freed(&key);
        one.turn.bell.notified().await;
        assert!(
            timeout(Duration::ZERO, two.turn.bell.notified())
                .await
                .is_err(),
            "the second is not rung for"
        );
        drop(one);
        two.turn.bell.notified().await;
    }
}
