//! A simulated client: it acquires locks, relies on them, extends and releases them, sometimes
//! late. It calls the product's own code; this module only decides when.

use std::sync::Arc;
use std::time::Duration;

use lockkeeper::domain::reason::Reason;
use lockkeeper::domain::{GroupKind, NodeOutcome, NodeResult, ObservedHold};
use lockkeeper::server::clock;
use lockkeeper::server::config::GroupConfig;
use lockkeeper::server::stores::redis::locking::renewal::{RenewalParams, start_renewal};
use lockkeeper::server::stores::redis::locking::renewal_schedule::RenewalLimits;
use lockkeeper::server::stores::redis::locking::wait_queue::WaitQueues;
use lockkeeper::server::stores::redis::locking::{
    AcquireAttempt, AcquireOutcome, AcquireParams, AcquireResult, ForceTarget, Layout, Token,
    acquire_within_cancellable, extend, force_release, release,
};
use lockkeeper::server::stores::redis::nodes::Group;
use parking_lot::MutexGuard;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::assumptions::BrokenAssumption;
use super::checker::{FenceGuarantee, HoldEnd, HoldId, ms};
use super::clock::client_clock;
use super::coverage::Counter;
use super::network::SimNode;
use super::schedule::{MS, Plan};
use super::virtual_time::{SharedWorld, SimEvent, World, lock_key, lock_world, node_name};

/// One run of a client.
pub struct ClientProgram {
    world: SharedWorld,
    plan: Arc<Plan>,
    client: usize,
    clock: clock::Clock,
    group: Arc<Group<SimNode>>,
    queues: WaitQueues,
}

/// A lock that the client holds.
struct HeldLock {
    id: HoldId,
    lock: u8,
    params: AcquireParams,
    /// The end of the validity by the client's own clock.
    valid_until: Instant,
}

impl ClientProgram {
    pub fn new(
        world: &SharedWorld,
        plan: &Arc<Plan>,
        (client, run): (usize, u32),
        stop: CancellationToken,
    ) -> Self {
        let clock = client_clock(world, client);
        let node = |node: usize| {
            Arc::new(SimNode {
                world: Arc::clone(world),
                clock: clock.clone(),
                client,
                run,
                node,
                name: node_name(node).to_string(),
                command_timeout: plan.command_timeout,
            })
        };
        let config = GroupConfig {
            kind: GroupKind::Redlock,
            command_timeout: plan.command_timeout,
            locking: plan.locking.clone(),
            ..GroupConfig::new(&format!("client {client}, run {run}"), [])
        };
        let nodes = plan
            .configured_nodes(client)
            .into_iter()
            .map(node)
            .collect();
        let group = Group::from_nodes(nodes, config, clock.clone(), stop);
        Self {
            world: Arc::clone(world),
            plan: Arc::clone(plan),
            client,
            clock,
            group: Arc::new(group),
            queues: WaitQueues::default(),
        }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        lock_world(&self.world)
    }

    fn chance(&self, per_mille: u64) -> bool {
        self.world().rng.chance(per_mille)
    }

    fn between(&self, low: u64, high: u64) -> u64 {
        self.world().rng.between(low, high)
    }

    fn increment(&self, counter: Counter) {
        self.world().counters.increment(counter);
    }

    fn trace(&self, message: impl FnOnce() -> String) {
        let client = self.client;
        self.world()
            .trace(|_| format!("client {client} {}", message()));
    }

    async fn sleep(&self, duration_us: u64) {
        self.clock.sleep(Duration::from_micros(duration_us)).await;
    }

    /// The guarantee for the next fencing token. Of the proposals, only the largest one so far is
    /// known.
    fn fence_guarantee(&self) -> FenceGuarantee {
        FenceGuarantee {
            max_proposed: self
                .group
                .last_fencing_token()
                .load(std::sync::atomic::Ordering::Relaxed),
            depends_on_clocks: self.plan.fences_depend_on_clocks,
        }
    }

    /// Runs the client to its end.
    pub async fn run(self) {
        let plan = &self.plan;
        let ttl_ms = plan.leases_ms[self.client];
        let mut previous_token: Option<Token> = None;
        for _ in 0..plan.rounds {
            if self.chance(plan.behavior.idle) {
                self.sleep(self.between(3_600_000 * MS, 7_200_000 * MS))
                    .await;
            }
            self.sleep(self.between(0, ttl_ms * MS)).await;
            let lock_index = u8::try_from(self.between(0, plan.locks.into())).unwrap();
            if self.chance(plan.behavior.force_release) {
                self.force_release(lock_index).await;
            }
            let caller_supplied = self.chance(plan.behavior.supply_token);
            let reused = previous_token
                .take()
                .filter(|_| caller_supplied && plan.breaks(BrokenAssumption::ReusedSuppliedToken));
            let token = reused.unwrap_or_else(|| Layout::Plain.generate_token("client"));
            self.world().name_token(token.expose());
            let params = AcquireParams {
                caller_supplied,
                ..AcquireParams::plain(&lock_key(lock_index), &token, Duration::from_millis(ttl_ms))
            };
            if let Some(mut held) = self.acquire(lock_index, params).await {
                self.use_lock(&mut held).await;
            }
            previous_token = caller_supplied.then_some(token);
        }
    }

    /// Tries to acquire a lock for a random time.
    async fn acquire(&self, lock_index: u8, mut params: AcquireParams) -> Option<HeldLock> {
        let wait = Duration::from_micros(self.between(0, 2 * self.plan.max_lease_us()));
        let cancelled = CancellationToken::new();
        if self.chance(self.plan.behavior.cancel_acquire) {
            let after = self.between(0, 10 * MS);
            let cancel = SimEvent::CancelAcquire(cancelled.clone());
            self.world().schedule_after(after, cancel);
        }
        let queue_position = self.queues.join(&params.key);
        let attempt = acquire_within_cancellable(
            &self.group,
            &params,
            wait,
            queue_position,
            cancelled.clone(),
        )
        .await;
        if cancelled.is_cancelled() {
            self.increment(Counter::AcquireCancelled);
            return None;
        }
        self.count_outcome(&attempt);
        let until = attempt.valid_until()?;
        if let Some(token) = attempt.token.clone() {
            self.increment(Counter::TokenChanged);
            self.world().name_token(token.expose());
            params.token = token;
        }
        let guarantee = self.fence_guarantee();
        let mut world = self.world();
        let end = world.clients[self.client].clock.time_of(until);
        let (now, token) = (world.now, world.name_token(params.token.expose()));
        let (client, fence) = (self.client, attempt.fence);
        world.trace(|_| {
            format!(
                "client {client} acquires lock {lock_index} as {token} until {}, fence {fence:?}",
                ms(end)
            )
        });
        let owner = (lock_index, client, &params.token);
        let id = world
            .checker
            .record_acquire(now, owner, fence, guarantee, HoldEnd::At(end));
        drop(world);
        Some(HeldLock {
            id,
            lock: lock_index,
            params,
            valid_until: until,
        })
    }

    /// Counts the result of an acquire and the outcomes on its nodes.
    fn count_outcome(&self, attempt: &AcquireOutcome) {
        self.increment(match attempt.result {
            AcquireResult::Acquired(_) => Counter::Acquired,
            AcquireResult::HeldByOther { .. } => Counter::HeldByOther,
            AcquireResult::NotHeld | AcquireResult::NoQuorum | AcquireResult::WrongType(_) => {
                Counter::NoQuorum
            }
        });
        for node in &attempt.nodes {
            match &node.outcome {
                NodeOutcome::Failed {
                    reason: Reason::RestartHazard { .. },
                } => self.increment(Counter::NodeExcluded),
                NodeOutcome::Released => self.increment(Counter::RolledBack),
                _ => {}
            }
        }
    }

    /// Relies on a lock for a while and then releases or abandons it.
    async fn use_lock(&self, held: &mut HeldLock) {
        let behavior = self.plan.behavior;
        loop {
            if self.chance(behavior.auto_renew) {
                self.auto_renew(held).await;
            }
            let left = held
                .valid_until
                .saturating_duration_since(self.clock.instant());
            let left = u64::try_from(left.as_micros()).unwrap();
            let ttl = u64::try_from(held.params.ttl.as_micros()).unwrap();
            let pause = if self.chance(behavior.oversleep) {
                self.between(left, left + ttl * 3 / 2)
            } else {
                self.between(0, left)
            };
            self.sleep(pause).await;
            if !self.chance(behavior.extend) {
                break;
            }
            if !held.params.caller_supplied || self.chance(500) {
                self.extend(held).await;
            } else if !self.reacquire(held).await
                && !self.plan.breaks(BrokenAssumption::ReusedSuppliedToken)
            {
                break;
            }
        }
        if self.chance(behavior.skip_release) {
            self.trace(|| "leaves without a release".to_owned());
        } else {
            self.release(held).await;
        }
    }

    /// The lease that an owner requests when it extends or reacquires: sometimes shorter than the
    /// current one.
    fn next_lease(&self, held: &HeldLock) -> Duration {
        if self.chance(self.plan.behavior.request_shorter_lease) {
            self.increment(Counter::ShorterLeaseRequested);
            return held.params.ttl / 4;
        }
        held.params.ttl
    }

    /// Acquires its own lock again with the caller-supplied token.
    async fn reacquire(&self, held: &mut HeldLock) -> bool {
        let params = AcquireParams {
            ttl: self.next_lease(held),
            ..held.params.clone()
        };
        let attempt = AcquireAttempt::new(&self.group, &params).try_once().await;
        let Some(until) = attempt.valid_until() else {
            return false;
        };
        self.increment(Counter::Reacquired);
        // A shorter lease does not revoke the earlier validity.
        held.valid_until = held.valid_until.max(until);
        let guarantee = self.fence_guarantee();
        let mut world = self.world();
        let (now, end) = (
            world.now,
            world.clients[self.client].clock.time_of(held.valid_until),
        );
        let fence = attempt.fence;
        let client = self.client;
        world.trace(|_| {
            format!(
                "client {client} reacquires it until {}, fence {fence:?}",
                ms(end)
            )
        });
        world
            .checker
            .record_reacquire(now, held.id, fence, guarantee, end);
        true
    }

    async fn extend(&self, held: &mut HeldLock) {
        let ttl = self.next_lease(held);
        let attempt = extend(&self.group, &held.params.key, &held.params.token, ttl).await;
        let Some(until) = attempt.valid_until() else {
            return self.increment(Counter::ExtendFailed);
        };
        // `Acquired` in an extend means that the lock was restored on the node.
        let is_restored = |outcome: &&_| matches!(outcome, NodeOutcome::Acquired);
        for _ in attempt
            .nodes
            .iter()
            .map(|node| &node.outcome)
            .filter(is_restored)
        {
            self.increment(Counter::LockRestored);
        }
        let was_late = attempt.completed_at > held.valid_until;
        held.valid_until = held.valid_until.max(until);
        let mut world = self.world();
        let (now, end) = (
            world.now,
            world.clients[self.client].clock.time_of(held.valid_until),
        );
        let client = self.client;
        world.trace(|_| format!("client {client} extends it until {}", ms(end)));
        if was_late {
            world.counters.increment(Counter::ExtendedLate);
        } else {
            world.counters.increment(Counter::Extended);
        }
        if was_late && !self.plan.breaks(BrokenAssumption::LateExtend) {
            world
                .checker
                .record_late_extension(now, held.id, HoldEnd::At(end));
        } else {
            world
                .checker
                .record_extension(now, held.id, HoldEnd::At(end));
        }
    }

    /// Renews the lock automatically for a while.
    async fn auto_renew(&self, held: &mut HeldLock) {
        let left = held
            .valid_until
            .saturating_duration_since(self.clock.instant());
        if left.is_zero() {
            return;
        }
        let ttl = held.params.ttl;
        let params = RenewalParams {
            key: held.params.key.clone(),
            token: held.params.token.clone(),
            ttl,
            validity: left,
            nodes: Vec::new(),
            limits: RenewalLimits::NONE,
            lead_time: Duration::ZERO,
        };
        self.trace(|| "starts auto-renewal".to_owned());
        let renewal = Arc::new(start_renewal(Arc::clone(&self.group), params));
        let clock = self.world().clients[self.client].clock;
        for _ in 0..self.between(1, 24) {
            let end = HoldEnd::Renewed(Arc::clone(&renewal), clock);
            self.record_validity(held, renewal.state().valid_until(), end);
            if !renewal.is_active() {
                self.increment(Counter::RenewalEnded);
                break;
            }
            self.clock.sleep(ttl / 8).await;
        }
        renewal.stop();
        let state = renewal.state();
        if state.renewals() > 0 {
            self.increment(Counter::Renewed);
        }
        let until = state.valid_until();
        self.record_validity(held, until, HoldEnd::At(clock.time_of(until)));
    }

    /// Records the new end of the validity, either before or after the old one passed.
    fn record_validity(&self, held: &mut HeldLock, until: Instant, end: HoldEnd) {
        let was_late = self.clock.instant() > held.valid_until;
        held.valid_until = until;
        let mut world = self.world();
        let now = world.now;
        if was_late {
            world.checker.record_late_extension(now, held.id, end);
        } else {
            world.checker.record_extension(now, held.id, end);
        }
    }

    async fn release(&self, held: &HeldLock) {
        let is_late = self.clock.instant() > held.valid_until;
        self.increment(if is_late {
            Counter::ReleasedLate
        } else {
            Counter::Released
        });
        self.trace(|| format!("releases lock {}", held.lock));
        {
            let mut world = self.world();
            let now = world.now;
            world.checker.record_release(now, held.id);
        }
        release(&self.group, &held.params.key, &held.params.token).await;
    }

    /// Force-releases the latest hold of a lock. From then on its owner no longer counts as relying
    /// on it.
    async fn force_release(&self, lock_index: u8) {
        let Some(owner) = self.world().checker.record_force_release(lock_index) else {
            return;
        };
        let key = lock_key(lock_index);
        self.trace(|| format!("force-releases lock {lock_index}"));
        let fingerprint = owner.fingerprint();
        let outcome = force_release(
            &self.group,
            ForceTarget {
                key: &key,
                fingerprint: &fingerprint,
                expected_hold: ObservedHold::default(),
                known_format: None,
                harm_accepted: true,
            },
        );
        let outcome = outcome
            .await
            .expect("the plain format allows a force release");
        let is_released = |node: &NodeResult| node.outcome == NodeOutcome::Released;
        if outcome.nodes.iter().any(is_released) {
            self.increment(Counter::ForceReleased);
        }
    }
}
