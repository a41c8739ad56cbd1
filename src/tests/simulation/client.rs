//! What a client does with its life: take locks, rely on them, extend them, let go of them, more or less in time. It calls
//! the product's own code; only when it does so is decided here.

use std::sync::Arc;
use std::time::Duration;

use lockkeeper::domain::{ActOutcome, GroupKind, NodeAct, SeenHold};
use lockkeeper::server::clock;
use lockkeeper::server::config::GroupConfig;
use lockkeeper::server::locking::keep::{Hold, keep};
use lockkeeper::server::locking::pace::Limits;
use lockkeeper::server::locking::wait::Queues;
use lockkeeper::server::locking::{
    Attempt, Claim, Condemned, End, Layout, Token, Want, acquire_unless, extend, force_release,
    release,
};
use lockkeeper::server::nodes::Group;
use parking_lot::MutexGuard;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::assumptions::Broken;
use super::checker::{Ends, HoldId, Promise, ms};
use super::clock::of_client;
use super::counts::Seen;
use super::network::SimNode;
use super::schedule::{MS, Plan};
use super::world::{Event, Shared, World, key_of, letter, lock};

/// A client's program.
pub struct Me {
    world: Shared,
    plan: Arc<Plan>,
    client: usize,
    clock: clock::Clock,
    group: Arc<Group<SimNode>>,
    queues: Queues,
}

/// A lock that a client has.
struct Held {
    id: HoldId,
    lock: u8,
    want: Want,
    /// Until when the client relies on it, by its own clock.
    until: Instant,
}

impl Me {
    /// A program that has just been started for the so many-th time.
    pub fn new(
        world: &Shared,
        plan: &Arc<Plan>,
        (client, run): (usize, u32),
        stop: CancellationToken,
    ) -> Self {
        let clock = of_client(world, client);
        let node = |node: usize| {
            Arc::new(SimNode {
                world: Arc::clone(world),
                clock: clock.clone(),
                client,
                run,
                node,
                name: letter(node).to_string(),
                command_timeout: plan.command_timeout,
            })
        };
        let config = GroupConfig {
            kind: GroupKind::Redlock,
            command_timeout: plan.command_timeout,
            locking: plan.locking.clone(),
            ..GroupConfig::new(&format!("client {client}, run {run}"), [])
        };
        let nodes = plan.nodes_of(client).into_iter().map(node).collect();
        let group = Group::of_nodes(nodes, config, clock.clone(), stop);
        Self {
            world: Arc::clone(world),
            plan: Arc::clone(plan),
            client,
            clock,
            group: Arc::new(group),
            queues: Queues::default(),
        }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    fn happens(&self, per_mille: u64) -> bool {
        self.world().dice.happens(per_mille)
    }

    fn between(&self, low: u64, high: u64) -> u64 {
        self.world().dice.between(low, high)
    }

    fn saw(&self, what: Seen) {
        self.world().counts.saw(what);
    }

    fn note(&self, what: impl FnOnce() -> String) {
        let client = self.client;
        self.world().note(|_| format!("client {client} {}", what()));
    }

    async fn sleep(&self, micros: u64) {
        self.clock.sleep(Duration::from_micros(micros)).await;
    }

    /// What the fence of a hold is worth, of which the client knows no more than the largest that it proposed.
    fn promise(&self) -> Promise {
        Promise {
            proposed: self
                .group
                .proposed()
                .load(std::sync::atomic::Ordering::Relaxed),
            needs_the_clock: self.plan.needs_the_clock,
        }
    }

    /// Everything a client does.
    pub async fn live(self) {
        let plan = &self.plan;
        let ttl_ms = plan.leases[self.client];
        let mut used: Option<Token> = None;
        for _ in 0..plan.rounds {
            if self.happens(plan.habits.idles) {
                self.sleep(self.between(3_600_000 * MS, 7_200_000 * MS))
                    .await;
            }
            self.sleep(self.between(0, ttl_ms * MS)).await;
            let place = u8::try_from(self.between(0, plan.locks.into())).unwrap();
            if self.happens(plan.habits.forces) {
                self.force(place).await;
            }
            let brought = self.happens(plan.habits.brings);
            let again = used
                .take()
                .filter(|_| brought && plan.breaks(Broken::BroughtAgain));
            let token = again.unwrap_or_else(|| Layout::Plain.mint("client"));
            self.world().name(token.expose());
            let want = Want {
                brought,
                ..Want::plain(&key_of(place), &token, Duration::from_millis(ttl_ms))
            };
            if let Some(mut held) = self.take(place, want).await {
                self.hold(&mut held).await;
            }
            used = brought.then_some(token);
        }
    }

    /// Waits for a lock for a while.
    async fn take(&self, place: u8, mut want: Want) -> Option<Held> {
        let wait = Duration::from_micros(self.between(0, 2 * self.plan.longest()));
        let hung_up = CancellationToken::new();
        if self.happens(self.plan.habits.hangs_up) {
            let after = self.between(0, 10 * MS);
            let hangs_up = Event::HangUp(hung_up.clone());
            self.world().after(after, hangs_up);
        }
        let queue = self.queues.join(&want.key);
        let attempt = acquire_unless(&self.group, &want, wait, queue, hung_up.clone()).await;
        if hung_up.is_cancelled() {
            self.saw(Seen::HungUp);
            return None;
        }
        self.heard(&attempt);
        let until = attempt.valid_until()?;
        if let Some(token) = attempt.token.clone() {
            self.saw(Seen::TokenChanged);
            self.world().name(token.expose());
            want.token = token;
        }
        let promise = self.promise();
        let mut world = self.world();
        let ends = world.clients[self.client].clock.when(until);
        let (now, token) = (world.now, world.name(want.token.expose()));
        let (client, fence) = (self.client, attempt.fence);
        world.note(|_| {
            format!(
                "client {client} HAS lock {place} as {token} until {}, with {fence:?}",
                ms(ends)
            )
        });
        let who = (place, client, &want.token);
        let id = world
            .checker
            .opened(now, who, fence, promise, Ends::At(ends));
        drop(world);
        Some(Held {
            id,
            lock: place,
            want,
            until,
        })
    }

    /// Counts what a try came to.
    fn heard(&self, attempt: &Attempt) {
        self.saw(match attempt.end {
            End::Won(_) => Seen::Won,
            End::Taken { .. } => Seen::KeptOut,
            End::NotHeld | End::NoQuorum | End::WrongType(_) => Seen::NoQuorum,
        });
        for node in &attempt.nodes {
            match &node.outcome {
                ActOutcome::Failed { reason } if reason.contains("restarted or is new") => {
                    self.saw(Seen::Abstained);
                }
                ActOutcome::Released => self.saw(Seen::Withdrawn),
                _ => {}
            }
        }
    }

    /// Relies on a lock for a while, and lets it go.
    async fn hold(&self, held: &mut Held) {
        let habits = self.plan.habits;
        loop {
            if self.happens(habits.keeps) {
                self.keep(held).await;
            }
            let left = held.until.saturating_duration_since(self.clock.instant());
            let left = u64::try_from(left.as_micros()).unwrap();
            let ttl = u64::try_from(held.want.ttl.as_micros()).unwrap();
            let span = if self.happens(habits.oversleeps) {
                self.between(left, left + ttl * 3 / 2)
            } else {
                self.between(0, left)
            };
            self.sleep(span).await;
            if !self.happens(habits.extends) {
                break;
            }
            if !held.want.brought || self.happens(500) {
                self.extend(held).await;
            } else if !self.retake(held).await && !self.plan.breaks(Broken::BroughtAgain) {
                break;
            }
        }
        if self.happens(habits.leaves) {
            self.note(|| "goes away without a release".to_owned());
        } else {
            self.release(held).await;
        }
    }

    /// The lease that an owner asks for when it has the lock already: not always the one that it has.
    fn lease_again(&self, held: &Held) -> Duration {
        if self.happens(self.plan.habits.mixes) {
            self.saw(Seen::AskedForLess);
            return held.want.ttl / 4;
        }
        held.want.ttl
    }

    /// Takes its own lock once more, with the token that was brought along.
    async fn retake(&self, held: &mut Held) -> bool {
        let want = Want {
            ttl: self.lease_again(held),
            ..held.want.clone()
        };
        let attempt = Claim::new(&self.group, &want).try_once().await;
        let Some(until) = attempt.valid_until() else {
            return false;
        };
        self.saw(Seen::Retaken);
        // It may have asked for less: what it was promised before stays true.
        held.until = held.until.max(until);
        let promise = self.promise();
        let mut world = self.world();
        let (now, ends) = (world.now, world.clients[self.client].clock.when(held.until));
        let fence = attempt.fence;
        let client = self.client;
        world.note(|_| {
            format!(
                "client {client} has it once more, until {}, with {fence:?}",
                ms(ends)
            )
        });
        world.checker.retaken(now, held.id, fence, promise, ends);
        true
    }

    async fn extend(&self, held: &mut Held) {
        let ttl = self.lease_again(held);
        let attempt = extend(&self.group, &held.want.key, &held.want.token, ttl).await;
        let Some(until) = attempt.valid_until() else {
            return self.saw(Seen::ExtendFailed);
        };
        // A node acquires during an extension where the lock is put back.
        let is_put_back = |node: &&_| matches!(node, ActOutcome::Acquired);
        for _ in attempt
            .nodes
            .iter()
            .map(|node| &node.outcome)
            .filter(is_put_back)
        {
            self.saw(Seen::PutBack);
        }
        let was_late = attempt.known_at > held.until;
        held.until = held.until.max(until);
        let mut world = self.world();
        let (now, ends) = (world.now, world.clients[self.client].clock.when(held.until));
        let client = self.client;
        world.note(|_| format!("client {client} has extended it until {}", ms(ends)));
        if was_late {
            world.counts.saw(Seen::ExtendedLate);
        } else {
            world.counts.saw(Seen::Extended);
        }
        if was_late && !self.plan.breaks(Broken::ExtendsTooLate) {
            world.checker.revived(now, held.id, Ends::At(ends));
        } else {
            world.checker.prolonged(now, held.id, Ends::At(ends));
        }
    }

    /// Has the lock renewed for a while.
    async fn keep(&self, held: &mut Held) {
        let left = held.until.saturating_duration_since(self.clock.instant());
        if left.is_zero() {
            return;
        }
        let ttl = held.want.ttl;
        let hold = Hold {
            key: held.want.key.clone(),
            token: held.want.token.clone(),
            ttl,
            validity: left,
            nodes: Vec::new(),
            limits: Limits::NONE,
            ahead: Duration::ZERO,
        };
        self.note(|| "has it renewed".to_owned());
        let kept = Arc::new(keep(Arc::clone(&self.group), hold));
        let clock = self.world().clients[self.client].clock;
        for _ in 0..self.between(1, 24) {
            let ends = Ends::Kept(Arc::clone(&kept), clock);
            self.relies(held, kept.now().valid_until(), ends);
            if !kept.is_going_on() {
                self.saw(Seen::RenewalsEnded);
                break;
            }
            self.clock.sleep(ttl / 8).await;
        }
        kept.stop();
        let stood = kept.now();
        if stood.extensions() > 0 {
            self.saw(Seen::Renewed);
        }
        let until = stood.valid_until();
        self.relies(held, until, Ends::At(clock.when(until)));
    }

    /// It relies on its lock until then: for longer, or again.
    fn relies(&self, held: &mut Held, until: Instant, ends: Ends) {
        let was_late = self.clock.instant() > held.until;
        held.until = until;
        let mut world = self.world();
        let now = world.now;
        if was_late {
            world.checker.revived(now, held.id, ends);
        } else {
            world.checker.prolonged(now, held.id, ends);
        }
    }

    async fn release(&self, held: &Held) {
        let is_late = self.clock.instant() > held.until;
        self.saw(if is_late {
            Seen::ReleasedLate
        } else {
            Seen::Released
        });
        self.note(|| format!("releases lock {}", held.lock));
        {
            let mut world = self.world();
            let now = world.now;
            world.checker.closed(now, held.id);
        }
        release(&self.group, &held.want.key, &held.want.token).await;
    }

    /// Releases somebody else's lock by force: exactly the hold that it saw. That owner relies on nothing from then on.
    async fn force(&self, place: u8) {
        let Some(owner) = self.world().checker.condemn(place) else {
            return;
        };
        let key = key_of(place);
        self.note(|| format!("releases lock {place} by force"));
        let fingerprint = owner.fingerprint();
        let forced = force_release(
            &self.group,
            Condemned {
                key: &key,
                fingerprint: &fingerprint,
                seen: SeenHold::default(),
                known_as: None,
                harm_accepted: true,
            },
        );
        let forced = forced.await.expect("it is no format that is refused");
        let is_released = |act: &NodeAct| act.outcome == ActOutcome::Released;
        if forced.nodes.iter().any(is_released) {
            self.saw(Seen::Forced);
        }
    }
}
