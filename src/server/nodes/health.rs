//! How a node is: state, clock, version, restarts. Folds what the supervisor heard into what people see.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::history::{NodeHistory, NodeRecord};
use super::lately::Lately;
use super::restart::{Outstanding, Past};
use super::trouble::Trouble;
use crate::domain::{FeedLevel, Moved, NodeState, NodeView, Role, Timestamp};
use crate::server::clock::{Moment, Steady};

/// Clocks drift apart by less than this between two checks; more is a step.
const CLOCK_STEP: Duration = Duration::from_millis(300);

/// A step of a node's clock against ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// When it was noticed.
    pub at: Timestamp,
    /// By how many milliseconds: positive where the node's clock went ahead, or ours back.
    pub by_ms: i64,
}

/// From how many round trips the best one tells the clock's skew.
const ROUND_TRIPS_KEPT: usize = 8;

/// From how many round trips on the shortest is what the network takes, and not what a busy machine took.
const ROUND_TRIPS_TO_SETTLE: usize = 3;

/// What one check of a healthy node brought.
#[derive(Clone, Debug)]
pub struct Vitals {
    /// When the answer came, on our clock.
    pub heard_at: Timestamp,
    /// The same moment, on a clock that nobody sets.
    pub at: Instant,
    /// And on that of the console.
    pub steady: Steady,
    /// How long the round trip took.
    pub round_trip: Duration,
    /// The node's clock minus ours at the middle of the round trip, where it may be asked.
    pub skew_ms: Option<i64>,
    /// What it says about itself, where it was asked and may be.
    pub facts: Option<Facts>,
}

/// What a server says about itself in `INFO` and `CONFIG`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The version of the server, by its own numbering.
    pub version: Option<String>,
    /// `redis` or `valkey`.
    pub server: Option<String>,
    /// Primary or replica.
    pub role: Option<Role>,
    /// Changes at every start.
    pub run_id: Option<String>,
    /// Changes when a replica becomes the primary, and when a replica begins anew.
    pub replid: Option<String>,
    /// Since when it runs, by its own clock.
    pub uptime: Option<Duration>,
    /// It is a node of a Redis Cluster.
    pub is_cluster_node: bool,
    /// It is a replica that gets no changes at the moment.
    pub has_lost_its_primary: bool,
    /// It puts every write on its disk before it answers (`appendonly`, `appendfsync always`). Not known counts as no.
    pub keeps_every_write: bool,
}

impl Facts {
    /// Reads the answer to `INFO`, whichever sections it has.
    pub fn read(info: &str) -> Self {
        let field = |name: &str| {
            info.lines()
                .find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
                .map(str::to_owned)
        };
        // Valkey goes on telling the version of Redis it branched off from (7.2.4) as `redis_version`.
        let is_valkey = field("server_name").is_some_and(|name| name == "valkey");
        let server = if is_valkey { "valkey" } else { "redis" };
        let version = field(if is_valkey {
            "valkey_version"
        } else {
            "redis_version"
        });
        Self {
            server: version.is_some().then(|| server.to_owned()),
            version,
            role: field("role").and_then(|role| match role.as_str() {
                "master" => Some(Role::Primary),
                "slave" => Some(Role::Replica),
                _ => None,
            }),
            run_id: field("run_id"),
            replid: field("master_replid"),
            // Negative after the server's clock was set back.
            uptime: field("uptime_in_seconds")
                .and_then(|text| text.parse().ok())
                .map(Duration::from_secs),
            is_cluster_node: field("redis_mode")
                .or_else(|| field("server_mode"))
                .is_some_and(|mode| mode == "cluster"),
            has_lost_its_primary: field("master_link_status").is_some_and(|link| link != "up"),
            keeps_every_write: false,
        }
    }
}

/// How a node is, as far as it is known.
#[derive(Debug)]
pub struct Health {
    state: NodeState,
    reason: Option<String>,
    since: Option<Timestamp>,
    latency: Option<Duration>,
    round_trips: VecDeque<(Duration, i64)>,
    facts: Facts,
    facts_at: Option<Timestamp>,
    restarted_at: Option<Timestamp>,
    moved: Option<Moved>,
    read_from: Option<String>,
    past: Past,
    /// What is known from before, until the node has said who it is.
    history: Option<NodeHistory>,
    /// The run of the server at whose start nothing was lost, as an operator said.
    vouched_run_id: Option<String>,
    lately: Lately,
    heard_at: Option<Timestamp>,
    clock_step: Option<ClockStep>,
    /// When its clock was last compared with ours.
    compared_at: Option<Moment>,
}

impl Health {
    /// Before the first attempt ended.
    pub fn unknown() -> Self {
        Self {
            state: NodeState::Down,
            reason: Some("not asked yet".to_owned()),
            since: None,
            latency: None,
            round_trips: VecDeque::with_capacity(ROUND_TRIPS_KEPT),
            facts: Facts::default(),
            facts_at: None,
            restarted_at: None,
            moved: None,
            read_from: None,
            past: Past::unknown(),
            history: None,
            vouched_run_id: None,
            lately: Lately::default(),
            heard_at: None,
            clock_step: None,
            compared_at: None,
        }
    }

    /// The same, with what is known from before.
    pub fn remembering(
        history: NodeHistory,
        longest_lease: Duration,
        now: Timestamp,
        at: Instant,
    ) -> Self {
        let mut health = Self::unknown();
        if history.majorities_may_miss {
            health.past.forgot(at, longest_lease);
        }
        if let Some(record) = &history.at_address {
            health.take_over(record, now, at);
        }
        health.history = Some(history);
        health
    }

    fn take_over(&mut self, record: &NodeRecord, now: Timestamp, at: Instant) {
        self.facts.run_id.clone_from(&record.run_id);
        self.facts.keeps_every_write = record.keeps_every_write;
        self.restarted_at = record.restarted_at;
        self.moved.clone_from(&record.moved);
        self.vouched_run_id.clone_from(&record.vouched_run_id);
        if let Some(since) = record.ran_since {
            self.past
                .ran(now.since(since), record.had_kept_everything, at);
        }
        if let Some(until) = record.hazard_until {
            // However the clock was set meanwhile: no longer than it was then.
            let left = until.since(now).min(until.since(record.recorded_at));
            self.past.forgot(at, left);
        }
    }

    /// What is to be remembered of it; nothing of a node that is new in its group and has not answered yet: it stays new.
    pub fn record(&self, now: Timestamp, at: Instant) -> Option<NodeRecord> {
        if self.history.as_ref().is_some_and(|known| known.is_new) {
            return None;
        }
        // Moments before the epoch would not come back as they were.
        let before = |span: Duration| {
            let ms = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
            Timestamp::from_millis(now.millis().saturating_sub(ms).max(0))
        };
        let ran = self.past.running_for(at);
        let hazard = self.past.seen(at).filter(|left| !left.is_zero());
        Some(NodeRecord {
            group: String::new(),
            node: String::new(),
            address: String::new(),
            run_id: self.facts.run_id.clone(),
            keeps_every_write: self.facts.keeps_every_write,
            hazard_until: hazard.map(|left| now.plus(left)),
            ran_since: ran.map(|(so_long, _)| before(so_long)),
            had_kept_everything: ran.is_some_and(|(_, kept)| kept),
            restarted_at: self.restarted_at,
            moved: self.moved.clone(),
            vouched_run_id: self.vouched_run_id.clone(),
            is_member: true,
            recorded_at: now,
        })
    }

    /// An operator says that this server, as it runs now, lost nothing; whether there is such a server.
    pub fn vouch(&mut self) -> bool {
        if self.facts.run_id.is_none() || self.history.is_some() {
            return false;
        }
        self.vouched_run_id.clone_from(&self.facts.run_id);
        self.past.vouched_for();
        true
    }

    /// The same for a run of the server that was vouched for elsewhere; whether that is news.
    pub fn adopt_vouch(&mut self, run_id: &str) -> bool {
        let is_this = self.facts.run_id.as_deref() == Some(run_id);
        let is_known = self.vouched_run_id.as_deref() == Some(run_id);
        is_this && !is_known && self.vouch()
    }

    /// Whether it can be used.
    pub fn state(&self) -> NodeState {
        self.state
    }

    /// What the server says it is.
    pub fn role(&self) -> Option<Role> {
        self.facts.role
    }

    /// What tells its data set from others; replicas have the same.
    pub fn replid(&self) -> Option<String> {
        self.facts.replid.clone()
    }

    /// Whether this check shows another server than before, or another clock: then its keys may be others too, or be over
    /// sooner or later than was seen.
    pub fn is_another(&self, vitals: &Vitals) -> bool {
        let differs = |then: &Facts, now: &Facts| {
            then.run_id.is_some() && then.run_id != now.run_id
                || then.replid.is_some() && then.replid != now.replid
                || then.role.is_some() && then.role != now.role
        };
        let facts = vitals.facts.as_ref();
        self.step(vitals).is_some()
            || facts.is_some_and(|now| now.run_id.is_some() && differs(&self.facts, now))
    }

    /// By how much its clock stepped against ours since the last check, if it did.
    fn step(&self, vitals: &Vitals) -> Option<i64> {
        let (took, before) = self.round_trips.back()?;
        let by_ms = vitals.skew_ms? - before;
        let blur = took.as_millis().max(vitals.round_trip.as_millis());
        (u128::from(by_ms.unsigned_abs()) > blur + CLOCK_STEP.as_millis()).then_some(by_ms)
    }

    /// The last step that its clock was seen to make.
    pub fn clock_step(&self) -> Option<ClockStep> {
        self.clock_step
    }

    /// Compares what is known from before with who it says it is. Whether it was known, by its address or its run id: then
    /// another run id means that it restarted meanwhile.
    fn meet(
        &mut self,
        history: &NodeHistory,
        facts: Option<&Facts>,
        longest_lease: Duration,
        (now, at): (Timestamp, Instant),
    ) -> bool {
        let run_id = facts.and_then(|facts| facts.run_id.as_deref());
        let found = run_id.and_then(|run_id| history.of_run(run_id));
        let is_at_address = self.facts.run_id.as_deref() == run_id;
        let is_of_group = found.is_some_and(|record| history.is_of_group(record));
        match found {
            // At another address than before.
            Some(record) if run_id.is_some() && !is_at_address => {
                self.past = Past::unknown();
                if history.majorities_may_miss {
                    self.past.forgot(at, longest_lease);
                }
                self.take_over(record, now, at);
            }
            Some(_) | None => {}
        }
        if history.is_new && !is_of_group {
            self.past.forgot(at, longest_lease);
        }
        if history.is_lost {
            let ran = facts.and_then(|facts| facts.uptime).unwrap_or_default();
            self.past.forgot(at, longest_lease.saturating_sub(ran));
        }
        found.is_some() || history.at_address.is_some()
    }

    /// The node answered a check. Somebody may rely for so long on what it would lose now.
    pub fn heard(&mut self, vitals: Vitals, outstanding: Outstanding) {
        let longest = outstanding.longest_lease;
        let moment = (vitals.heard_at, vitals.at);
        let is_from_before = self
            .history
            .take()
            .is_some_and(|history| self.meet(&history, vitals.facts.as_ref(), longest, moment));
        if let Some(by_ms) = self.step(&vitals) {
            let at = vitals.heard_at;
            self.clock_step = Some(ClockStep { at, by_ms });
            // What was measured against the clock before tells nothing of the one since.
            self.round_trips.clear();
        }
        self.enter(NodeState::Up, None, vitals.heard_at);
        self.lately
            .note(NodeState::Up, Some(vitals.round_trip), vitals.heard_at);
        self.heard_at = Some(vitals.heard_at);
        self.latency = Some(vitals.round_trip);
        if let Some(skew) = vitals.skew_ms {
            if self.round_trips.len() == ROUND_TRIPS_KEPT {
                self.round_trips.pop_front();
            }
            self.round_trips.push_back((vitals.round_trip, skew));
            self.compared_at = Some(Moment {
                wall: vitals.heard_at,
                steady: vitals.steady,
            });
        }
        if let Some(facts) = vitals.facts {
            if self.facts.run_id.is_some()
                && facts.run_id.is_some()
                && facts.run_id != self.facts.run_id
            {
                self.restarted_at = Some(vitals.heard_at);
                // What it says now alone is not enough: it lost what it had not kept before.
                if !(self.facts.keeps_every_write && facts.keeps_every_write) {
                    let ran = facts.uptime.unwrap_or_default();
                    let relied_on_for = if is_from_before {
                        // Nobody watched; it restarted when it says. It may say a second too much.
                        longest.saturating_sub(ran.saturating_sub(Duration::from_secs(1)))
                    } else {
                        outstanding.left
                    };
                    self.past.forgot(vitals.at, relied_on_for);
                }
            }
            self.past
                .met(facts.uptime, facts.keeps_every_write, vitals.at);
            if facts.run_id.is_some() && facts.run_id == self.vouched_run_id {
                self.past.vouched_for();
            }
            // A server that stops telling its run id is not a new one.
            let run_id = facts.run_id.clone().or_else(|| self.facts.run_id.take());
            self.facts = Facts { run_id, ..facts };
            self.facts_at = Some(vitals.heard_at);
        } else {
            self.past.missed();
        }
    }

    /// From now on it is another server, which may not have got the last writes of the one at `from`.
    pub fn moved(
        &mut self,
        from: String,
        (now, at): (Timestamp, Instant),
        outstanding: Outstanding,
    ) {
        self.facts = Facts::default();
        self.history = None;
        self.promoted(from, (now, at), outstanding);
    }

    /// It is the primary now instead of the one at `from`, whose last writes it may not have got.
    pub fn promoted(
        &mut self,
        from: String,
        (now, at): (Timestamp, Instant),
        outstanding: Outstanding,
    ) {
        self.past.forgot(at, outstanding.left);
        self.vouched_run_id = None;
        let moved = Moved { from, at: now };
        self.lately.moved(moved.clone());
        self.moved = Some(moved);
    }

    /// Notes which replica is read from, and why it is not at the moment.
    pub fn reads_from(&mut self, address: Option<String>, why_not: Option<String>) {
        self.read_from = address.map(|address| match why_not {
            Some(why) => format!("{address} cannot be read ({why}): the node itself is"),
            None => address,
        });
    }

    /// Whether it puts every write on its disk before it answers; nothing before it was asked.
    pub fn keeps_every_write(&self) -> Option<bool> {
        self.facts_at.map(|_| self.facts.keeps_every_write)
    }

    /// What it was lately.
    pub fn lately(&self) -> &Lately {
        &self.lately
    }

    /// What its restarts may have made it forget.
    pub fn past(&self) -> Past {
        self.past
    }

    /// The node can no longer be used.
    pub fn lost(&mut self, trouble: &Trouble, now: Timestamp) {
        self.enter(trouble.state, Some(trouble.reason.clone()), now);
        self.lately.note(trouble.state, None, now);
        self.past.missed();
        self.latency = None;
        // The clock of a node that comes back may be another one.
        self.round_trips.clear();
    }

    fn enter(&mut self, state: NodeState, reason: Option<String>, now: Timestamp) {
        if self.since.is_none() || self.state != state {
            self.since = Some(now);
            self.lately.turned(state, reason.as_deref(), now);
        }
        self.state = state;
        self.reason = reason;
    }

    /// The shortest round trip lately: what the network alone takes.
    pub fn shortest_round_trip(&self) -> Duration {
        self.round_trips
            .iter()
            .map(|(took, _)| *took)
            .min()
            .or(self.latency)
            .unwrap_or_default()
    }

    /// By how many milliseconds its clock is ahead of ours now; 0 where that is not known. A step of our clock since they were compared
    /// is taken into account.
    pub fn ahead_ms(&self, now: Moment) -> i64 {
        let best = self.round_trips.iter().min_by_key(|(took, _)| *took);
        let known = best.zip(self.compared_at);
        known.map_or(0, |((_, skew), at)| {
            skew.saturating_sub(now.step_ms_since(at))
        })
    }

    /// The same once it was measured often enough to be relied on.
    pub fn settled_round_trip(&self) -> Option<Duration> {
        let is_settled = self.round_trips.len() >= ROUND_TRIPS_TO_SETTLE;
        is_settled.then(|| self.shortest_round_trip())
    }

    /// The node as people see it; its votes are its group's matter.
    pub fn view(&self, name: &str, address: &str, now: Timestamp) -> NodeView {
        let is_up = self.state == NodeState::Up;
        let best = self.round_trips.iter().min_by_key(|(took, _)| *took);
        let uptime = self
            .facts
            .uptime
            .zip(self.facts_at)
            .filter(|_| is_up)
            .map(|(then, at)| then + now.since(at));
        NodeView {
            name: name.to_owned(),
            address: address.to_owned(),
            state: self.state,
            reason: self.reason.clone(),
            since: self.since,
            latency_ms: self
                .latency
                .map(|took| (took.as_secs_f64() * 1e6).round() / 1e3),
            clock_skew_ms: best.map(|(_, skew)| *skew),
            version: self.facts.version.clone(),
            server: self.facts.server.clone(),
            role: self.facts.role,
            run_id: self.facts.run_id.clone(),
            uptime_ms: uptime.map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX)),
            restarted_at: self.restarted_at,
            moved: self.moved.clone(),
            read_from: self.read_from.clone(),
            hazard_until: None,
            votes: true,
            feed: FeedLevel::Poll,
            feed_reason: None,
            unmeasured: None,
            missing: Vec::new(),
            heard_at: self.heard_at,
        }
    }
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
