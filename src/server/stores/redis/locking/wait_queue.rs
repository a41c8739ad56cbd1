//! Waiting for a lock: waiters of this process try in order of arrival, are woken when the lock is
//! released, and give up at their deadline.

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

use super::acquire_attempt::AcquireAttempt;
use super::layouts::QUEUE_ENTRY_TTL;
use super::single_flight::SingleFlight;
use super::span_status::trace_try;
use super::{AcquireOutcome, AcquireParams, AcquireResult};
use crate::domain::{Fingerprint, LockKey, Timestamp};
use crate::server::clock::Clock;
use crate::server::stores::redis::nodes::Group;
use crate::server::stores::redis::nodes::lock_node::LockNode;

/// The first and the longest pause between two attempts; each is shortened by a random factor. Only
/// the first waiter in the queue polls, so the load on a lock does not depend on the number of
/// waiters.
const INITIAL_PAUSE: Duration = Duration::from_millis(25);
/// The longest pause between two attempts.
const MAX_PAUSE: Duration = Duration::from_millis(250);

/// The waiters for all locks of one group in this process. Waiters of other processes compete on
/// the nodes.
#[derive(Clone, Default)]
pub struct WaitQueues {
    by_lock: Arc<Mutex<HashMap<LockKey, LockQueue>>>,
    flights: SingleFlight,
}

/// The public information about a waiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaiterInfo {
    /// The label that the client supplied.
    pub label: Option<String>,
    /// The fingerprint that its hold would have.
    pub fingerprint: Fingerprint,
    /// When it began to wait.
    pub since: Timestamp,
    /// Whether it also waits in a queue on the nodes.
    pub in_node_queue: bool,
}

/// The waiters for one lock.
#[derive(Clone, Debug)]
pub struct LockWaiters {
    /// The key of the lock.
    pub key: LockKey,
    /// The first waiters in order, as far as they are named.
    pub first: Vec<WaiterInfo>,
    /// The number of waiters.
    pub count: usize,
}

/// The queue of one lock.
#[derive(Default)]
struct LockQueue {
    entries: VecDeque<Arc<QueueEntry>>,
    /// The last outcome of the first waiter. The others return it when their time is over.
    last_outcome: Option<AcquireOutcome>,
}

/// A waiter in the queue.
struct QueueEntry {
    /// Notified when an attempt is worthwhile: the entry became the first, or is the first and the
    /// lock was released.
    wakeup: Notify,
    waiter: Option<WaiterInfo>,
}

impl WaitQueues {
    /// All waiters; of each lock the first `most`.
    pub fn all_waiters(&self, max: usize) -> Vec<LockWaiters> {
        let queues = self.queues();
        let waiting = queues.iter().map(|(key, queue)| LockWaiters {
            key: key.clone(),
            first: queue
                .entries
                .iter()
                .filter_map(|entry| entry.waiter.clone())
                .take(max)
                .collect(),
            count: queue.entries.len(),
        });
        waiting.collect()
    }

    /// The number of waiters for this lock.
    pub fn waiter_count(&self, key: &LockKey) -> usize {
        self.queues()
            .get(key)
            .map_or(0, |queue| queue.entries.len())
    }

    /// The number of waiters for this lock that also wait in a queue on the nodes.
    pub fn node_queue_count(&self, key: &LockKey) -> usize {
        let queues = self.queues();
        let entries = queues.get(key).map(|queue| &queue.entries);
        let waiters = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.waiter.as_ref());
        waiters.filter(|waiter| waiter.in_node_queue).count()
    }

    /// Wakes the first waiter, because the lock was seen released.
    pub fn wake_first(&self, key: &LockKey) {
        if let Some(first) = self
            .queues()
            .get(key)
            .and_then(|queue| queue.entries.front())
        {
            // `Notify` stores the wakeup, so it is not lost if the waiter is in the middle of an
            // attempt.
            first.wakeup.notify_one();
        }
    }

    /// Joins the end of the queue of a lock.
    pub fn join(&self, key: &LockKey) -> QueuePosition {
        self.join_named(key, None)
    }

    /// Joins the end of the queue of a lock with public information about the waiter.
    pub fn join_named(&self, key: &LockKey, waiter: Option<WaiterInfo>) -> QueuePosition {
        let wakeup = Notify::new();
        let entry = Arc::new(QueueEntry { wakeup, waiter });
        let mut queues = self.queues();
        let queue = queues.entry(key.clone()).or_default();
        queue.entries.push_back(Arc::clone(&entry));
        QueuePosition {
            queues: self.clone(),
            key: key.clone(),
            entry,
        }
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<LockKey, LockQueue>> {
        self.by_lock.lock()
    }

    /// Makes one attempt, merged with simultaneous attempts for the same lock.
    pub fn try_once<N: LockNode>(
        &self,
        group: &Group<N>,
        params: &AcquireParams,
        cancellation: CancellationToken,
    ) -> impl Future<Output = AcquireOutcome> + Send {
        async move {
            let mut attempt = AcquireAttempt::new(group, params).cancelled_by(cancellation);
            self.flights
                .acquire(&mut attempt, group.clock().now())
                .await
        }
    }
}

/// A position in a wait queue. Dropping it leaves the queue.
pub struct QueuePosition {
    queues: WaitQueues,
    key: LockKey,
    entry: Arc<QueueEntry>,
}

impl QueuePosition {
    fn is_first(&self) -> bool {
        let queues = self.queues.queues();
        let first = queues
            .get(&self.key)
            .and_then(|queue| queue.entries.front());
        first.is_some_and(|first| Arc::ptr_eq(first, &self.entry))
    }

    /// By which factor this waiter's pause is longer than that of the first. Earlier waiters are
    /// usually first on the nodes as well; among simultaneous ones the order can differ.
    fn pause_factor(&self) -> u32 {
        let is_own = |entry: &Arc<QueueEntry>| Arc::ptr_eq(entry, &self.entry);
        let queues = self.queues.queues();
        let ahead = queues
            .get(&self.key)
            .and_then(|queue| queue.entries.iter().take(20).position(is_own));
        ahead.map_or(20, |ahead| u32::try_from(ahead + 1).unwrap_or(20))
    }

    fn last_outcome(&self) -> Option<AcquireOutcome> {
        let queues = self.queues.queues();
        queues
            .get(&self.key)
            .and_then(|queue| queue.last_outcome.clone())
    }

    fn set_last_outcome(&self, outcome: &AcquireOutcome) {
        if let Some(queue) = self.queues.queues().get_mut(&self.key) {
            queue.last_outcome = Some(outcome.clone());
        }
    }
}

impl Drop for QueuePosition {
    fn drop(&mut self) {
        let mut queues = self.queues.queues();
        let Some(queue) = queues.get_mut(&self.key) else {
            return;
        };
        let is_own = |entry: &Arc<QueueEntry>| Arc::ptr_eq(entry, &self.entry);
        let was_first = queue.entries.front().is_some_and(is_own);
        queue.entries.retain(|entry| !is_own(entry));
        match queue.entries.front() {
            None => {
                queues.remove(&self.key);
            }
            // The next waiter takes over polling.
            Some(next) if was_first => next.wakeup.notify_one(),
            Some(_) => {}
        }
    }
}

/// Acquires a lock as soon as it is available, until `wait` is over.
///
/// Waiters proceed in order of arrival. Between attempts there is a random, growing pause, which
/// ends early when the blocking lease expires or the lock is seen released. If the layout has a
/// queue on the nodes, each waiter enters that by itself. Waiting ends when the group shuts down.
pub fn acquire_within<N: LockNode>(
    group: &Group<N>,
    params: &AcquireParams,
    wait: Duration,
    position: QueuePosition,
) -> impl Future<Output = AcquireOutcome> + Send {
    acquire_within_cancellable(group, params, wait, position, CancellationToken::new())
}

/// Like [`acquire_within`], but `cancellation` cancels it when the client disconnects: no further
/// attempt begins, and the current one is completed and rolled back.
pub fn acquire_within_cancellable<N: LockNode>(
    group: &Group<N>,
    params: &AcquireParams,
    wait: Duration,
    position: QueuePosition,
    cancellation: CancellationToken,
) -> impl Future<Output = AcquireOutcome> + Send {
    async move {
        let clock = group.clock();
        let deadline = clock.instant() + wait;
        // Longer waits renew the entry, so that a crashed waiter does not block the queue for
        // longer.
        let queue_ttl = wait.min(QUEUE_ENTRY_TTL);
        let mut attempt =
            AcquireAttempt::with_wait(group, params, queue_ttl).cancelled_by(cancellation.clone());
        let waits_in_process = !attempt.uses_node_queue();
        let closing = group.closing();
        while waits_in_process && !position.is_first() {
            let waiting = clock.timeout_at(deadline, position.entry.wakeup.notified());
            let woken = closing.run_until_cancelled(waiting);
            let Some(woken) = cancellation.run_until_cancelled(woken).await else {
                return cancelled_outcome(clock);
            };
            if !matches!(woken, Some(Some(()))) {
                match position.last_outcome() {
                    Some(last_outcome) => return last_outcome,
                    // No attempt has been made yet: make one, to learn the current owner.
                    None => break,
                }
            }
        }
        let (mut pause, mut attempts) = (INITIAL_PAUSE, 0_u32);
        loop {
            attempts = attempts.saturating_add(1);
            if wait > queue_ttl {
                attempt.renew_queue_entry();
            }
            let outcome = if waits_in_process {
                let now = clock.now();
                trace_try(attempts, position.queues.flights.acquire(&mut attempt, now)).await
            } else {
                trace_try(attempts, attempt.try_once()).await
            };
            let remaining = deadline.saturating_duration_since(clock.instant());
            let lease_ms = match &outcome.result {
                AcquireResult::Acquired(_) => {
                    Span::current().record("lockkeeper.tries", i64::from(attempts));
                    return outcome;
                }
                // The key is not a lock, so waiting does not help.
                AcquireResult::WrongType(_) => None,
                _ if remaining.is_zero() || closing.is_cancelled() => None,
                AcquireResult::HeldByOther { lease_ms, .. } => Some(*lease_ms),
                AcquireResult::NotHeld | AcquireResult::NoQuorum => Some(None),
            };
            let Some(lease_ms) = lease_ms else {
                Span::current().record("lockkeeper.tries", i64::from(attempts));
                attempt.leave_queues().await;
                return outcome;
            };
            position.set_last_outcome(&outcome);
            // Random pauses separate contenders that keep preventing each other's quorum. If the
            // lease ends before the pause, the attempt is made then. A lease of 0 ms says nothing
            // about that time: the key has expired, but the node has not removed it yet.
            let lease = lease_ms.filter(|&ms| ms > 0);
            let lease = lease.map_or(Duration::MAX, |ms| Duration::from_millis(ms.max(5)));
            let next_pause = (pause * position.pause_factor())
                .mul_f64(0.3 + 0.7 * clock.random())
                .min(lease)
                .min(remaining);
            let waiting = clock.timeout_at(
                clock.instant() + next_pause,
                position.entry.wakeup.notified(),
            );
            let woken = closing.run_until_cancelled(waiting);
            match cancellation.run_until_cancelled(woken).await {
                Some(Some(Some(()))) => pause = INITIAL_PAUSE,
                Some(Some(None)) => pause = (pause * 2).min(MAX_PAUSE),
                Some(None) => {
                    Span::current().record("lockkeeper.tries", i64::from(attempts));
                    attempt.leave_queues().await;
                    return outcome;
                }
                None => return cancelled_outcome(clock),
            }
        }
    }
}

/// The outcome for a disconnected client, which does not receive it. Dropping the acquire schedules
/// the cleanup.
fn cancelled_outcome(clock: &Clock) -> AcquireOutcome {
    AcquireOutcome {
        nodes: Vec::new(),
        result: AcquireResult::NoQuorum,
        completed_at: clock.instant(),
        fence: None,
        token: None,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[test]
    fn positions_can_be_left_in_any_order_and_the_next_one_becomes_first() {
        let (queues, key) = (WaitQueues::default(), LockKey::from("lock:a"));
        let (one, two, three) = (queues.join(&key), queues.join(&key), queues.join(&key));
        assert!(one.is_first() && !two.is_first() && queues.waiter_count(&key) == 3);
        drop(two);
        drop(one);
        assert!(three.is_first() && queues.waiter_count(&key) == 1);
        drop(three);
        assert_eq!(queues.waiter_count(&key), 0);
        assert!(queues.queues().is_empty());
    }

    #[tokio::test]
    async fn a_release_wakes_only_the_first_waiter_and_is_not_lost_during_its_attempt() {
        let (queues, key) = (WaitQueues::default(), LockKey::from("lock:a"));
        let (one, two) = (queues.join(&key), queues.join(&key));
        queues.wake_first(&key);
        one.entry.wakeup.notified().await;
        assert!(
            timeout(Duration::ZERO, two.entry.wakeup.notified())
                .await
                .is_err(),
            "the second waiter is not woken"
        );
        drop(one);
        two.entry.wakeup.notified().await;
    }
}
