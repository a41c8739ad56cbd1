//! How a node is: state, clock, version, restarts. Folds what the supervisor heard into what people see.

use std::collections::VecDeque;
use std::time::Duration;

use super::trouble::Trouble;
use crate::domain::{NodeState, NodeView, Role, Timestamp};

/// From how many round trips the best one tells the clock's skew.
const ROUND_TRIPS_KEPT: usize = 8;

/// What one check of a healthy node brought.
#[derive(Clone, Debug)]
pub struct Vitals {
    /// When the answer came, on our clock.
    pub heard_at: Timestamp,
    /// How long the round trip took.
    pub round_trip: Duration,
    /// The node's clock minus ours at the middle of the round trip, where it may be asked.
    pub skew_ms: Option<i64>,
    /// What it says about itself, where it was asked and may be.
    pub facts: Option<Facts>,
}

/// What a server says about itself in `INFO`.
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
    /// Since when it runs, by its own clock.
    pub uptime: Option<Duration>,
    /// It is a node of a Redis Cluster.
    pub is_cluster_node: bool,
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
            // Negative after the server's clock was set back.
            uptime: field("uptime_in_seconds")
                .and_then(|text| text.parse().ok())
                .map(Duration::from_secs),
            is_cluster_node: field("redis_mode")
                .or_else(|| field("server_mode"))
                .is_some_and(|mode| mode == "cluster"),
        }
    }
}

/// What the group's configuration says about restarts.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The longest lease that may be asked for.
    pub longest_lease: Duration,
    /// Whether a node that restarted waits for that long before it takes new locks.
    pub delayed_restart: bool,
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
    /// Whether it puts every write on its disk before it answers, as far as it tells (`appendfsync always`).
    keeps_every_write: bool,
    heard_at: Option<Timestamp>,
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
            keeps_every_write: false,
            heard_at: None,
        }
    }

    /// The node answered a check.
    pub fn heard(&mut self, vitals: Vitals) {
        self.enter(NodeState::Up, None, vitals.heard_at);
        self.heard_at = Some(vitals.heard_at);
        self.latency = Some(vitals.round_trip);
        if let Some(skew) = vitals.skew_ms {
            if self.round_trips.len() == ROUND_TRIPS_KEPT {
                self.round_trips.pop_front();
            }
            self.round_trips.push_back((vitals.round_trip, skew));
        }
        if let Some(facts) = vitals.facts {
            if self.facts.run_id.is_some()
                && facts.run_id.is_some()
                && facts.run_id != self.facts.run_id
            {
                self.restarted_at = Some(vitals.heard_at);
            }
            // A server that stops telling its run id is not a new one.
            let run_id = facts.run_id.clone().or_else(|| self.facts.run_id.take());
            self.facts = Facts { run_id, ..facts };
            self.facts_at = Some(vitals.heard_at);
        }
    }

    /// What a fresh connection found out about how safely writes are kept.
    pub fn keeps_every_write(&mut self, keeps: bool) {
        self.keeps_every_write = keeps;
    }

    /// Until when a lock may have been forgotten whose owner still relies on it: the delayed restart of the Redis
    /// documentation ("Performance, crash recovery and fsync").
    pub fn hazard_until(&self, longest_lease: Duration, now: Timestamp) -> Option<Timestamp> {
        let until = self.restarted_at?.plus(longest_lease);
        (until > now && !self.keeps_every_write).then_some(until)
    }

    /// The node can no longer be used.
    pub fn lost(&mut self, trouble: &Trouble, now: Timestamp) {
        self.enter(trouble.state, Some(trouble.reason.clone()), now);
        self.latency = None;
        // The clock of a node that comes back may be another one.
        self.round_trips.clear();
    }

    fn enter(&mut self, state: NodeState, reason: Option<String>, now: Timestamp) {
        if self.since.is_none() || self.state != state {
            self.since = Some(now);
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

    /// The node as people see it.
    pub fn view(&self, name: &str, address: &str, now: Timestamp, rules: Rules) -> NodeView {
        let hazard_until = self.hazard_until(rules.longest_lease, now);
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
            hazard_until,
            votes: hazard_until.is_none() || !rules.delayed_restart,
            feed: "poll".to_owned(),
            heard_at: self.heard_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);
    const RULES: Rules = Rules {
        longest_lease: Duration::from_secs(60),
        delayed_restart: true,
    };

    fn vitals(at_ms: i64, took_us: u64, skew_ms: i64, run_id: &str) -> Vitals {
        let facts = Facts {
            run_id: Some(run_id.to_owned()),
            ..Facts::default()
        };
        Vitals {
            heard_at: NOW.plus_millis(at_ms),
            round_trip: Duration::from_micros(took_us),
            skew_ms: Some(skew_ms),
            facts: Some(facts),
        }
    }

    #[test]
    fn valkey_is_not_taken_for_the_redis_it_branched_off_from() {
        let facts = Facts::read(
            "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\nserver_mode:standalone\r\n",
        );
        assert_eq!(
            (facts.server.as_deref(), facts.version.as_deref()),
            (Some("valkey"), Some("9.1.2"))
        );
        assert!(!facts.is_cluster_node);
    }

    #[test]
    fn a_server_whose_clock_was_set_back_has_no_uptime() {
        assert_eq!(Facts::read("uptime_in_seconds:-29\r\n").uptime, None);
        assert_eq!(
            Facts::read("uptime_in_seconds:29\r\n").uptime,
            Some(Duration::from_secs(29))
        );
    }

    #[test]
    fn the_skew_is_the_one_of_the_best_round_trip() {
        let mut health = Health::unknown();
        health.heard(vitals(0, 900, 400, "a"));
        health.heard(vitals(1, 100, 30_000, "a"));
        health.heard(vitals(2, 700, -400, "a"));
        assert_eq!(
            health.view("a", "h:1", NOW, RULES).clock_skew_ms,
            Some(30_000)
        );
    }

    #[test]
    fn another_run_id_is_a_restart_and_a_lost_connection_is_not() {
        let mut health = Health::unknown();
        health.heard(vitals(0, 100, 0, "a"));
        health.lost(&Trouble::down("connection refused"), NOW.plus_millis(5));
        health.heard(vitals(10, 100, 0, "a"));
        assert_eq!(health.view("a", "h:1", NOW, RULES).restarted_at, None);
        health.heard(vitals(20, 100, 0, "b"));
        assert_eq!(
            health.view("a", "h:1", NOW, RULES).restarted_at,
            Some(NOW.plus_millis(20))
        );
    }

    #[test]
    fn since_tells_when_the_state_began_not_the_latest_reason() {
        let mut health = Health::unknown();
        assert_eq!(health.view("a", "h:1", NOW, RULES).since, None);
        health.lost(&Trouble::down("no answer within 500 ms"), NOW);
        health.lost(&Trouble::down("connection refused"), NOW.plus_millis(100));
        let view = health.view("a", "h:1", NOW, RULES);
        assert_eq!(
            (view.since, view.reason.as_deref()),
            (Some(NOW), Some("connection refused"))
        );
    }

    #[test]
    fn after_a_restart_a_node_waits_for_the_longest_lease_unless_it_keeps_every_write() {
        let mut health = Health::unknown();
        health.heard(vitals(0, 100, 0, "a"));
        let votes = |health: &Health, at_ms| {
            let view = health.view("a", "h:1", NOW.plus_millis(at_ms), RULES);
            (view.hazard_until, view.votes)
        };
        assert_eq!(votes(&health, 1), (None, true));
        health.heard(vitals(10, 100, 0, "b"));
        let until = Some(NOW.plus_millis(60_010));
        assert_eq!(votes(&health, 11), (until, false));
        assert_eq!(votes(&health, 60_010), (None, true));
        health.keeps_every_write(true);
        assert_eq!(votes(&health, 11), (None, true));
        health.keeps_every_write(false);
        let rules = Rules {
            delayed_restart: false,
            ..RULES
        };
        let view = health.view("a", "h:1", NOW.plus_millis(11), rules);
        assert_eq!((view.hazard_until, view.votes), (until, true));
    }
}
