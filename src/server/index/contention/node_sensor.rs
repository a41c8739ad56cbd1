//! Periodically reads, within a budget, which locks of a node other clients access and wait for.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::super::Index;
use super::super::report::Report;
use super::rotation::Rotation;
use super::{Contention, NodeSignals};
use crate::domain::{Format, LockId, LockKey};
use crate::server::stores::redis::nodes::Group as RedisGroup;
use crate::server::stores::redis::nodes::access_detection::{
    AccessDetector, AccessState, DetectionRound, DetectionUnavailable,
};
use crate::server::stores::redis::nodes::node::Node;
use crate::server::stores::redis::nodes::semaphores::semaphores_with_waiters;
use crate::server::stores::redis::nodes::waiters::{
    WaitMechanism, WaiterCounts, WaiterQuery, count_waiters,
};
use crate::server::stores::{Group, Store};

/// The mean pause between two rounds.
const ROUND_INTERVAL: Duration = Duration::from_millis(500);

/// Waiters are read in every second round.
const WAITER_ROUND_INTERVAL: u32 = 2;

/// How often semaphores are discovered. The server walks through all of its channels for that.
const SEMAPHORE_SCAN_INTERVAL: Duration = Duration::from_secs(10);

/// How long earlier accesses count when accesses can no longer be detected.
const ACCESS_TTL: Duration = Duration::from_secs(60);

/// Runs a sensor for each node of a group, including nodes added later, until `stop` is cancelled.
pub async fn run_sensors(index: Index, group: Arc<Group>, stop: CancellationToken) {
    // Idle times and subscribers are reported by Redis only.
    let Store::Redis(redis) = group.store() else {
        return;
    };
    let spawn_sensor = |node_index, node| {
        let sensor_task = NodeSensor {
            index: index.clone(),
            group_name: group.config.name.clone(),
            group: Arc::clone(&group),
            redis: Arc::clone(redis),
            node,
            node_index,
            sensor: AccessDetector::default(),
            rotation: Rotation::default(),
            rounds: 0,
            next_semaphore_scan: Instant::now(),
            waiters: HashMap::new(),
            unavailable_since: None,
        };
        let sensor_task = AbortOnDropHandle::new(tokio::spawn(sensor_task.run()));
        async move { drop(sensor_task.await) }
    };
    stop.run_until_cancelled(redis.for_each_node(spawn_sensor))
        .await;
}

struct NodeSensor {
    index: Index,
    group_name: String,
    group: Arc<Group>,
    redis: Arc<RedisGroup>,
    node: Arc<Node>,
    node_index: usize,
    sensor: AccessDetector,
    /// Which locks are read next.
    rotation: Rotation,
    rounds: u32,
    /// When semaphores are discovered next.
    next_semaphore_scan: Instant,
    /// The waiters as of the last reading.
    waiters: HashMap<LockKey, WaiterCounts>,
    unavailable_since: Option<Instant>,
}

impl NodeSensor {
    async fn run(mut self) {
        self.node.wait_for_first_attempt().await;
        loop {
            // Jitter, so that rounds do not coincide with other periodic work.
            sleep(ROUND_INTERVAL.mul_f64(rand::random_range(0.8..1.2))).await;
            self.find_semaphores().await;
            let locks = self.next_locks();
            if locks.is_empty() {
                continue;
            }
            self.rounds = self.rounds.wrapping_add(1);
            let keys: Vec<LockKey> = locks.iter().map(|(key, _)| key.clone()).collect();
            let round = self.sensor.round(&self.node, &keys).await;
            if self.rounds.is_multiple_of(WAITER_ROUND_INTERVAL) {
                self.read_waiters(&locks).await;
            }
            let changed = self.record_round(&keys, &round);
            if changed.is_empty() {
                continue;
            }
            let report = Report::ContentionChanged {
                group: self.group_name.clone(),
                at: self.index.monotonic_now(),
                keys: changed,
            };
            if self.index.reports.send(report).await.is_err() {
                return;
            }
        }
    }

    /// Discovers semaphores by their waiting clients.
    async fn find_semaphores(&mut self) {
        let now = Instant::now();
        if now < self.next_semaphore_scan {
            return;
        }
        self.next_semaphore_scan = now + SEMAPHORE_SCAN_INTERVAL;
        for key in semaphores_with_waiters(&self.node).await {
            self.index.track_semaphore(&self.group, &key);
        }
    }

    /// The locks of the next round.
    fn next_locks(&mut self) -> Vec<(LockKey, Format)> {
        let index = self.index.snapshot();
        let locks_after = |after: Option<&LockKey>, count: usize| -> Vec<LockKey> {
            let locks = index.locks_after(&self.group_name, after).take(count);
            locks.map(|lock| lock.id.key.clone()).collect()
        };
        let mut preferred = self.index.contention.contended_keys(&self.group_name);
        preferred.extend(self.index.displayed_keys(&self.group_name));
        let mut keys = self.rotation.next(locks_after, &preferred);
        // In a cluster, the other keys are on other nodes.
        keys.retain(|key| self.redis.node_serves_key(&self.node, key));
        let with_format = |key: LockKey| {
            let id = LockId {
                group: self.group_name.clone(),
                key,
            };
            // A preferred lock may be gone.
            let format = index.lock(&id)?.format;
            Some((id.key, format))
        };
        keys.into_iter().filter_map(with_format).collect()
    }

    async fn read_waiters(&mut self, locks: &[(LockKey, Format)]) {
        let queries: Vec<WaiterQuery> = locks
            .iter()
            .filter_map(|(key, format)| {
                let mechanism = wait_mechanism(*format)?;
                let key = key.clone();
                Some(WaiterQuery { key, mechanism })
            })
            .collect();
        // Only locks with waiters are stored below, so earlier counts have to be removed.
        for (key, _) in locks {
            self.waiters.remove(key);
        }
        if queries.is_empty() {
            return;
        }
        if let Some(all) = count_waiters(&self.node, &queries).await {
            let some = queries.into_iter().zip(all);
            let some = some.filter(|(_, waiters)| *waiters != WaiterCounts::default());
            self.waiters
                .extend(some.map(|(query, waiters)| (query.key, waiters)));
        }
    }

    /// Records the result of a round. Returns the locks that have to be published again.
    fn record_round(&mut self, keys: &[LockKey], round: &DetectionRound) -> Vec<LockKey> {
        let contention = Arc::clone(&self.index.contention);
        self.node
            .set_contention_unavailable_reason(round.unavailable.map(DetectionUnavailable::reason));
        let mut changed = match round.unavailable {
            None => {
                self.unavailable_since = None;
                Vec::new()
            }
            Some(_) => self.expire_accesses(&contention),
        };
        for (key, accesses) in keys.iter().zip(&round.accesses) {
            let mut now = NodeSignals {
                waiters: self.waiters.get(key).copied().unwrap_or_default(),
                ..NodeSignals::default()
            };
            match (accesses, round.unavailable) {
                (_, Some(_)) => {
                    let waiters = now.waiters;
                    // Accesses cannot be detected now. Earlier ones count until they expire.
                    let before = contention.node_signals(&self.group_name, key, self.node_index);
                    now = NodeSignals { waiters, ..before };
                }
                (AccessState::NotObserved, None) => {}
                (AccessState::Unavailable(reason), None) => now.unavailable = Some(*reason),
                (AccessState::Measured(count), None) => now.accesses = *count,
            }
            if contention.update_node(&self.group_name, key, self.node_index, now) {
                changed.push(key.clone());
            }
        }
        changed
    }

    fn expire_accesses(&mut self, contention: &Contention) -> Vec<LockKey> {
        let since = *self.unavailable_since.get_or_insert_with(Instant::now);
        if since.elapsed() > ACCESS_TTL {
            contention.clear_accesses(&self.group_name, self.node_index)
        } else {
            Vec::new()
        }
    }
}

/// How clients of this library wait, if a node can show it.
fn wait_mechanism(format: Format) -> Option<WaitMechanism> {
    match format.slug() {
        "redisson-read-write" => Some(WaitMechanism::Channel("redisson_rwlock")),
        "redisson-semaphore" | "redisson-permit-semaphore" => {
            Some(WaitMechanism::Channel("redisson_sc"))
        }
        "python-redis-lock" | "redis-semaphore-rb" | "sidekiq-unique-jobs" => {
            Some(WaitMechanism::Blocking)
        }
        other => other
            .starts_with("redisson")
            .then_some(WaitMechanism::Channel("redisson_lock__channel")),
    }
}
