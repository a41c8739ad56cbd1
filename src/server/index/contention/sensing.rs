//! Asks one node again and again who else touches its locks and who waits for them, within a budget.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::super::Index;
use super::super::report::Report;
use super::{Contention, OfNode};
use crate::domain::{Format, LockKey};
use crate::server::nodes::Group;
use crate::server::nodes::node::Node;
use crate::server::nodes::semaphores::awaited;
use crate::server::nodes::touch::{Blind, Round, Sensor, Touch};
use crate::server::nodes::waiters::{Awaited, Waiters, Waiting, waiters};

/// The pause between two rounds, on average.
const EVERY: Duration = Duration::from_millis(500);

/// So many locks are asked about in one round, and the next ones in the next: 10,000 a second cost a server less than one
/// per cent of a core.
const LOCKS_PER_ROUND: usize = 5_000;

/// Who waits is asked in every so many rounds.
const ROUNDS_PER_WAITERS: u32 = 2;

/// How often semaphores are looked for: the server goes over all of its channels then.
const SEMAPHORES_EVERY: Duration = Duration::from_secs(10);

/// What was seen of touches counts for so long, though no more can be seen.
const BLIND_FOR: Duration = Duration::from_secs(60);

/// Asks all nodes of a group, and those that come later, until `stop` is cancelled.
pub async fn sense_all(index: Index, group: Arc<Group>, stop: CancellationToken) {
    let sense = |place, node| {
        let sensing = Sensing {
            index: index.clone(),
            group: group.config.name.clone(),
            of: Arc::clone(&group),
            node,
            place,
            sensor: Sensor::default(),
            behind: None,
            rounds: 0,
            semaphores_at: Instant::now(),
            waiters: HashMap::new(),
            blind_since: None,
        };
        let sensing = AbortOnDropHandle::new(tokio::spawn(sensing.go_on()));
        async move { drop(sensing.await) }
    };
    stop.run_until_cancelled(group.with_each(sense)).await;
}

struct Sensing {
    index: Index,
    group: String,
    of: Arc<Group>,
    node: Arc<Node>,
    place: usize,
    sensor: Sensor,
    /// The last lock of the round before.
    behind: Option<LockKey>,
    rounds: u32,
    /// When semaphores are looked for again.
    semaphores_at: Instant,
    /// Who waited when that was last asked.
    waiters: HashMap<LockKey, Waiters>,
    blind_since: Option<Instant>,
}

impl Sensing {
    async fn go_on(mut self) {
        self.node.first_attempt().await;
        loop {
            // Not in step with what else is done every second.
            sleep(EVERY.mul_f64(rand::random_range(0.8..1.2))).await;
            self.find_semaphores().await;
            let locks = self.next_locks();
            if locks.is_empty() {
                continue;
            }
            self.rounds = self.rounds.wrapping_add(1);
            let keys: Vec<LockKey> = locks.iter().map(|(key, _)| key.clone()).collect();
            let round = self.sensor.round(&self.node, &keys).await;
            if self.rounds.is_multiple_of(ROUNDS_PER_WAITERS) || locks.len() == LOCKS_PER_ROUND {
                self.ask_waiters(&locks).await;
            }
            let changed = self.note(&keys, &round);
            if changed.is_empty() {
                continue;
            }
            let report = Report::Signs {
                group: self.group.clone(),
                at: self.index.steady(),
                keys: changed,
            };
            if self.index.reports.send(report).await.is_err() {
                return;
            }
        }
    }

    /// Semaphores are known by who waits for them.
    async fn find_semaphores(&mut self) {
        let now = Instant::now();
        if now < self.semaphores_at {
            return;
        }
        self.semaphores_at = now + SEMAPHORES_EVERY;
        for key in awaited(&self.node).await {
            self.index.is_a_semaphore(&self.of, &key);
        }
    }

    /// The locks of the next round.
    fn next_locks(&mut self) -> Vec<(LockKey, Format)> {
        let behind = self.behind.take();
        let is_first = behind.is_none();
        let index = self.index.snapshot();
        let next = |behind: Option<LockKey>| {
            let locks = index.locks_behind(&self.group, behind.as_ref());
            let locks = locks.take(LOCKS_PER_ROUND);
            locks
                .map(|lock| (lock.id.key.clone(), lock.format))
                .collect::<Vec<_>>()
        };
        let mut locks = next(behind);
        if locks.is_empty() && !is_first {
            locks = next(None);
        }
        if locks.len() == LOCKS_PER_ROUND {
            self.behind = locks.last().map(|(key, _)| key.clone());
        }
        // In a cluster the others are on other nodes.
        locks.retain(|(key, _)| self.of.is_at(&self.node, key));
        locks
    }

    async fn ask_waiters(&mut self, locks: &[(LockKey, Format)]) {
        let awaited: Vec<Awaited> = locks
            .iter()
            .filter_map(|(key, format)| {
                let waiting = waiting(*format)?;
                let key = key.clone();
                Some(Awaited { key, waiting })
            })
            .collect();
        for (key, _) in locks {
            self.waiters.remove(key);
        }
        if awaited.is_empty() {
            return;
        }
        if let Some(all) = waiters(&self.node, &awaited).await {
            let some = awaited.into_iter().zip(all);
            let some = some.filter(|(_, waiters)| *waiters != Waiters::default());
            self.waiters
                .extend(some.map(|(awaited, waiters)| (awaited.key, waiters)));
        }
    }

    /// Notes what the round told; the locks of which that looks different.
    fn note(&mut self, keys: &[LockKey], round: &Round) -> Vec<LockKey> {
        let contention = Arc::clone(&self.index.contention);
        self.node.cannot_tell_touches(round.blind.map(Blind::words));
        let mut changed = match round.blind {
            None => {
                self.blind_since = None;
                Vec::new()
            }
            Some(_) => self.go_blind(&contention),
        };
        for (key, touch) in keys.iter().zip(&round.touches) {
            let mut now = OfNode {
                waiters: self.waiters.get(key).copied().unwrap_or_default(),
                ..OfNode::default()
            };
            match (touch, round.blind) {
                (_, Some(_)) => {
                    let waiters = now.waiters;
                    let before = contention.of_node(&self.group, key, self.place);
                    now = OfNode { waiters, ..before };
                }
                (Touch::Nothing, None) => {}
                (Touch::Blind(why), None) => now.doubt = Some(*why),
                (Touch::Seen(figure), None) => now.touch = *figure,
            }
            if contention.note(&self.group, key, self.place, now) {
                changed.push(key.clone());
            }
        }
        changed
    }

    fn go_blind(&mut self, contention: &Contention) -> Vec<LockKey> {
        let since = *self.blind_since.get_or_insert_with(Instant::now);
        if since.elapsed() > BLIND_FOR {
            contention.forget_touches(&self.group, self.place)
        } else {
            Vec::new()
        }
    }
}

/// How this library's clients wait, where a node can tell.
fn waiting(format: Format) -> Option<Waiting> {
    match format.slug() {
        "redisson-read-write" => Some(Waiting::Channel("redisson_rwlock")),
        "redisson-semaphore" | "redisson-permit-semaphore" => Some(Waiting::Channel("redisson_sc")),
        "python-redis-lock" | "redis-semaphore-rb" | "sidekiq-unique-jobs" => {
            Some(Waiting::Blocking)
        }
        other => other
            .starts_with("redisson")
            .then_some(Waiting::Channel("redisson_lock__channel")),
    }
}
