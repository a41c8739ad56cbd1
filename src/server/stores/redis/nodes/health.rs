//! The health of a node: state, clock, version, restarts. Aggregates the results of health checks
//! for display.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::node_error::NodeError;
use super::restart::{OutstandingLease, RestartState};
use super::restart_history::{NodeRecord, NodeRestartHistory};
use crate::domain::reason::Reason;
use crate::domain::{AddressChange, FeedLevel, NodeState, NodeView, ReplicationRole, Timestamp};
use crate::server::clock::{ClockReading, MonotonicTime};
use crate::server::stores::health_history::HealthHistory;

/// The minimum clock change between two checks that counts as a step. Drift is smaller.
const CLOCK_STEP: Duration = Duration::from_millis(300);

/// A step of a node's clock relative to the console's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// When it was detected.
    pub at: Timestamp,
    /// By how many milliseconds: positive if the node's clock jumped ahead or the console's clock
    /// back.
    pub by_ms: i64,
}

/// The clock skew is taken from the shortest of this many round trips.
const MAX_ROUND_TRIPS: usize = 8;

/// With at least this many round trips, the shortest one reflects the network latency rather than
/// load on either machine.
const MIN_STABLE_ROUND_TRIPS: usize = 3;

/// The result of one successful health check.
#[derive(Clone, Debug)]
pub struct HealthCheck {
    /// When the reply arrived, by the console's wall clock.
    pub received_at: Timestamp,
    /// The same moment as [`Instant`].
    pub at: Instant,
    /// The same moment on the console's monotonic clock.
    pub monotonic: MonotonicTime,
    /// Duration of the round trip.
    pub round_trip: Duration,
    /// The node's clock minus the console's, at the midpoint of the round trip; `None` if `TIME` is
    /// not permitted.
    pub skew_ms: Option<i64>,
    /// Server information, if it was requested and is permitted.
    pub server_info: Option<ServerInfo>,
}

/// Server information from `INFO` and `CONFIG`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerInfo {
    /// The server's version, in its own numbering.
    pub version: Option<String>,
    /// `redis` or `valkey`.
    pub server: Option<String>,
    /// Primary or replica.
    pub role: Option<ReplicationRole>,
    /// Run id; changes at every start.
    pub run_id: Option<String>,
    /// Replication id; changes when a replica is promoted or does a full resync.
    pub replid: Option<String>,
    /// Uptime by the server's clock.
    pub uptime: Option<Duration>,
    /// The server is a cluster node.
    pub is_cluster_node: bool,
    /// The server is a replica whose link to its primary is down.
    pub is_primary_link_down: bool,
    /// The server fsyncs every write before it replies (`appendonly yes`, `appendfsync always`).
    /// Unknown counts as no.
    pub fsyncs_every_write: bool,
}

impl ServerInfo {
    /// Parses the reply to `INFO`, with any sections.
    pub fn parse(info: &str) -> Self {
        let field = |name: &str| {
            info.lines()
                .find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
                .map(str::to_owned)
        };
        // Valkey reports the Redis version that it was forked from (7.2.4) as `redis_version`.
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
                "master" => Some(ReplicationRole::Primary),
                "slave" => Some(ReplicationRole::Replica),
                _ => None,
            }),
            run_id: field("run_id"),
            replid: field("master_replid"),
            // Negative if the server's clock was set back.
            uptime: field("uptime_in_seconds")
                .and_then(|text| text.parse().ok())
                .map(Duration::from_secs),
            is_cluster_node: field("redis_mode")
                .or_else(|| field("server_mode"))
                .is_some_and(|mode| mode == "cluster"),
            is_primary_link_down: field("master_link_status").is_some_and(|link| link != "up"),
            fsyncs_every_write: false,
        }
    }
}

/// The health of a node, as far as known.
#[derive(Debug)]
pub struct NodeHealth {
    state: NodeState,
    reason: Option<Reason>,
    since: Option<Timestamp>,
    latency: Option<Duration>,
    round_trips: VecDeque<(Duration, i64)>,
    server_info: ServerInfo,
    info_at: Option<Timestamp>,
    restarted_at: Option<Timestamp>,
    moved: Option<AddressChange>,
    read_from: Option<String>,
    read_from_unavailable_reason: Option<Reason>,
    restart_state: RestartState,
    /// Restart records of earlier runs, until the node is identified by its first check.
    history: Option<NodeRestartHistory>,
    /// The run id for which an operator cleared the hazard.
    cleared_run_id: Option<String>,
    recent_history: HealthHistory,
    last_reply_at: Option<Timestamp>,
    clock_step: Option<ClockStep>,
    /// When the clock skew was last measured.
    skew_measured_at: Option<ClockReading>,
}

impl NodeHealth {
    /// The state before the first connection attempt has completed.
    pub fn unknown() -> Self {
        Self {
            state: NodeState::Down,
            reason: Some(Reason::NotChecked),
            since: None,
            latency: None,
            round_trips: VecDeque::with_capacity(MAX_ROUND_TRIPS),
            server_info: ServerInfo::default(),
            info_at: None,
            restarted_at: None,
            moved: None,
            read_from: None,
            read_from_unavailable_reason: None,
            restart_state: RestartState::unknown(),
            history: None,
            cleared_run_id: None,
            recent_history: HealthHistory::default(),
            last_reply_at: None,
            clock_step: None,
            skew_measured_at: None,
        }
    }

    /// The initial state, with restart records of earlier runs.
    pub fn with_history(
        history: NodeRestartHistory,
        max_lease: Duration,
        now: Timestamp,
        at: Instant,
    ) -> Self {
        let mut health = Self::unknown();
        if history.quorums_may_not_overlap {
            health.restart_state.record_data_loss(at, max_lease);
        }
        if let Some(record) = &history.at_address {
            health.restore(record, now, at);
        }
        health.history = Some(history);
        health
    }

    fn restore(&mut self, record: &NodeRecord, now: Timestamp, at: Instant) {
        self.server_info.run_id.clone_from(&record.run_id);
        self.server_info.fsyncs_every_write = record.fsyncs_every_write;
        self.restarted_at = record.restarted_at;
        self.moved.clone_from(&record.moved);
        self.cleared_run_id.clone_from(&record.cleared_run_id);
        if let Some(since) = record.ran_since {
            self.restart_state.restore_first_contact(
                now.since(since),
                record.had_kept_everything,
                at,
            );
        }
        if let Some(until) = record.hazard_until {
            // The wall clock may have been set since. The hazard must not last longer than it had
            // left when it was recorded.
            let left = until.since(now).min(until.since(record.recorded_at));
            self.restart_state.record_data_loss(at, left);
        }
    }

    /// The restart record to persist, or `None` for a node that is new in its group and has not
    /// replied yet: it must still count as new after a restart of the console.
    pub fn to_record(&self, now: Timestamp, at: Instant) -> Option<NodeRecord> {
        // Without a record the node counts as new again after a restart of the console.
        if self.history.as_ref().is_some_and(|history| history.is_new) {
            return None;
        }
        // Times before the epoch do not survive serialisation.
        let timestamp_before = |span: Duration| {
            let ms = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
            Timestamp::from_millis(now.millis().saturating_sub(ms).max(0))
        };
        let uptime = self.restart_state.uptime_at(at);
        let hazard = self
            .restart_state
            .observed_hazard(at)
            .filter(|left| !left.is_zero());
        Some(NodeRecord {
            group: String::new(),
            node: String::new(),
            address: String::new(),
            run_id: self.server_info.run_id.clone(),
            fsyncs_every_write: self.server_info.fsyncs_every_write,
            hazard_until: hazard.map(|left| now.plus(left)),
            ran_since: uptime.map(|(uptime, _)| timestamp_before(uptime)),
            had_kept_everything: uptime.is_some_and(|(_, is_complete)| is_complete),
            restarted_at: self.restarted_at,
            moved: self.moved.clone(),
            cleared_run_id: self.cleared_run_id.clone(),
            is_member: true,
            recorded_at: now,
        })
    }

    /// Clears the restart hazard, because an operator stated that this server, in its current run,
    /// lost no data. Returns whether the server's run id is known.
    pub fn clear_hazard(&mut self) -> bool {
        // A run that the console does not know yet could be a different one than the operator
        // meant.
        if self.server_info.run_id.is_none() || self.history.is_some() {
            return false;
        }
        self.cleared_run_id.clone_from(&self.server_info.run_id);
        self.restart_state.clear_hazard();
        true
    }

    /// Applies a cleared hazard that another console recorded for this run. Returns whether it was
    /// new.
    pub fn adopt_cleared_hazard(&mut self, run_id: &str) -> bool {
        let is_this = self.server_info.run_id.as_deref() == Some(run_id);
        let is_known = self.cleared_run_id.as_deref() == Some(run_id);
        is_this && !is_known && self.clear_hazard()
    }

    /// Whether the node can be used.
    pub fn state(&self) -> NodeState {
        self.state
    }

    /// The role that the server reports.
    pub fn role(&self) -> Option<ReplicationRole> {
        self.server_info.role
    }

    /// The replication id, which a primary shares with its replicas.
    pub fn replid(&self) -> Option<String> {
        self.server_info.replid.clone()
    }

    /// Whether this check shows a different server, or a clock that was set. Its keys may then
    /// differ, or expire earlier or later than was read.
    pub fn is_other_server(&self, health_check: &HealthCheck) -> bool {
        let differs = |then: &ServerInfo, now: &ServerInfo| {
            then.run_id.is_some() && then.run_id != now.run_id
                || then.replid.is_some() && then.replid != now.replid
                || then.role.is_some() && then.role != now.role
        };
        let server_info = health_check.server_info.as_ref();
        self.detect_clock_step(health_check).is_some()
            // Without a run id the reply to INFO was incomplete, for example denied, and proves no
            // change.
            || server_info.is_some_and(|now| now.run_id.is_some() && differs(&self.server_info, now))
    }

    /// By how much the node's clock stepped relative to the console's since the last check.
    fn detect_clock_step(&self, health_check: &HealthCheck) -> Option<i64> {
        let (round_trip, previous_skew_ms) = self.round_trips.back()?;
        let by_ms = health_check.skew_ms? - previous_skew_ms;
        // The midpoint of a round trip is accurate to half of it, for each of the two measurements.
        let inaccuracy = round_trip
            .as_millis()
            .max(health_check.round_trip.as_millis());
        (u128::from(by_ms.unsigned_abs()) > inaccuracy + CLOCK_STEP.as_millis()).then_some(by_ms)
    }

    /// The last detected step of the node's clock.
    pub fn clock_step(&self) -> Option<ClockStep> {
        self.clock_step
    }

    /// Matches the node with the restart records, by address or run id. Returns whether it has a
    /// record: then a different run id means that it restarted while no console observed it.
    fn match_history(
        &mut self,
        history: &NodeRestartHistory,
        server_info: Option<&ServerInfo>,
        max_lease: Duration,
        (now, at): (Timestamp, Instant),
    ) -> bool {
        let run_id = server_info.and_then(|server_info| server_info.run_id.as_deref());
        let record = run_id.and_then(|run_id| history.record_of_run(run_id));
        let is_at_address = self.server_info.run_id.as_deref() == run_id;
        let is_in_group = record.is_some_and(|record| history.is_in_group(record));
        match record {
            // A known server at a new address.
            Some(record) if run_id.is_some() && !is_at_address => {
                // The state so far came from the record at this address, which belongs to another
                // server.
                self.restart_state = RestartState::unknown();
                if history.quorums_may_not_overlap {
                    self.restart_state.record_data_loss(at, max_lease);
                }
                self.restore(record, now, at);
            }
            Some(_) | None => {}
        }
        if history.is_new && !is_in_group {
            self.restart_state.record_data_loss(at, max_lease);
        }
        if history.is_unreadable {
            let uptime = server_info
                .and_then(|server_info| server_info.uptime)
                .unwrap_or_default();
            self.restart_state
                .record_data_loss(at, max_lease.saturating_sub(uptime));
        }
        record.is_some() || history.at_address.is_some()
    }

    /// Records a successful check. `outstanding` bounds how long a lock that the node loses now
    /// could still be held.
    pub fn record_check(&mut self, health_check: HealthCheck, outstanding: OutstandingLease) {
        let max_lease = outstanding.max_lease;
        let moment = (health_check.received_at, health_check.at);
        let was_on_record = self.history.take().is_some_and(|history| {
            self.match_history(
                &history,
                health_check.server_info.as_ref(),
                max_lease,
                moment,
            )
        });
        if let Some(by_ms) = self.detect_clock_step(&health_check) {
            let at = health_check.received_at;
            self.clock_step = Some(ClockStep { at, by_ms });
            // The skew measured before the step is not valid after it.
            self.round_trips.clear();
        }
        self.set_state(NodeState::Up, None, health_check.received_at);
        self.recent_history.record(
            NodeState::Up,
            Some(health_check.round_trip),
            health_check.received_at,
        );
        self.last_reply_at = Some(health_check.received_at);
        self.latency = Some(health_check.round_trip);
        if let Some(skew) = health_check.skew_ms {
            if self.round_trips.len() == MAX_ROUND_TRIPS {
                self.round_trips.pop_front();
            }
            self.round_trips.push_back((health_check.round_trip, skew));
            self.skew_measured_at = Some(ClockReading {
                wall: health_check.received_at,
                monotonic: health_check.monotonic,
            });
        }
        if let Some(server_info) = health_check.server_info {
            if self.server_info.run_id.is_some()
                && server_info.run_id.is_some()
                && server_info.run_id != self.server_info.run_id
            {
                self.restarted_at = Some(health_check.received_at);
                // Both runs must have persisted every write: what the previous run did not persist
                // is lost.
                if !(self.server_info.fsyncs_every_write && server_info.fsyncs_every_write) {
                    let uptime = server_info.uptime.unwrap_or_default();
                    let lease_left = if was_on_record {
                        // No console observed the restart, so the reported uptime counts. It is in
                        // whole seconds and can be up to one second too high.
                        max_lease.saturating_sub(uptime.saturating_sub(Duration::from_secs(1)))
                    } else {
                        outstanding.remaining
                    };
                    self.restart_state
                        .record_data_loss(health_check.at, lease_left);
                }
            }
            self.restart_state.record_first_contact(
                server_info.uptime,
                server_info.fsyncs_every_write,
                health_check.at,
            );
            if server_info.run_id.is_some() && server_info.run_id == self.cleared_run_id {
                self.restart_state.clear_hazard();
            }
            // A server that no longer reports its run id is not a new one.
            let run_id = server_info
                .run_id
                .clone()
                .or_else(|| self.server_info.run_id.take());
            self.server_info = ServerInfo {
                run_id,
                ..server_info
            };
            self.info_at = Some(health_check.received_at);
        } else {
            self.restart_state.record_unreachable();
        }
    }

    /// Records that the node is now a different server, which may lack the last writes of the one
    /// at `from`.
    pub fn record_move(
        &mut self,
        from: String,
        (now, at): (Timestamp, Instant),
        outstanding: OutstandingLease,
    ) {
        // The previous server's run id must not make the new server look restarted.
        self.server_info = ServerInfo::default();
        self.history = None;
        self.record_promotion(from, (now, at), outstanding);
    }

    /// Records that the node was promoted to primary in place of the server at `from`, whose last
    /// writes it may lack.
    pub fn record_promotion(
        &mut self,
        from: String,
        (now, at): (Timestamp, Instant),
        outstanding: OutstandingLease,
    ) {
        self.restart_state
            .record_data_loss(at, outstanding.remaining);
        // The hazard was cleared for the previous primary's data.
        self.cleared_run_id = None;
        let moved = AddressChange {
            previous_address: from,
            at: now,
        };
        self.recent_history.record_move(moved.clone());
        self.moved = Some(moved);
    }

    /// Records which replica is read from, or why it is not usable.
    pub fn set_read_source(&mut self, address: Option<String>, cause: Option<Reason>) {
        (self.read_from, self.read_from_unavailable_reason) = match (address, cause) {
            (Some(address), Some(cause)) => {
                let cause = Box::new(cause);
                (None, Some(Reason::ReplicaUnusable { address, cause }))
            }
            (address, _) => (address, None),
        };
    }

    /// Whether the server fsyncs every write before it replies; `None` before that was read.
    pub fn fsyncs_every_write(&self) -> Option<bool> {
        self.info_at.map(|_| self.server_info.fsyncs_every_write)
    }

    /// The recent history.
    pub fn recent_history(&self) -> &HealthHistory {
        &self.recent_history
    }

    /// What the node may have lost in restarts.
    pub fn restart_state(&self) -> RestartState {
        self.restart_state
    }

    /// Records that the node can no longer be used.
    pub fn record_failure(&mut self, error: &NodeError, now: Timestamp) {
        self.set_state(error.state, Some(error.reason.clone()), now);
        self.recent_history.record(error.state, None, now);
        self.restart_state.record_unreachable();
        self.latency = None;
        // The node may come back with a different clock.
        self.round_trips.clear();
    }

    fn set_state(&mut self, state: NodeState, reason: Option<Reason>, now: Timestamp) {
        if self.since.is_none() || self.state != state {
            self.since = Some(now);
            self.recent_history
                .record_state_change(state, reason.as_ref(), now);
        }
        self.state = state;
        self.reason = reason;
    }

    /// The shortest recent round trip: an estimate of the network latency.
    pub fn shortest_round_trip(&self) -> Duration {
        self.round_trips
            .iter()
            .map(|(round_trip, _)| *round_trip)
            .min()
            .or(self.latency)
            .unwrap_or_default()
    }

    /// By how many milliseconds the node's clock is ahead of the console's now; 0 if unknown. Steps
    /// of the console's clock since the last measurement are taken into account.
    pub fn clock_skew_ms(&self, now: ClockReading) -> i64 {
        let best = self
            .round_trips
            .iter()
            .min_by_key(|(round_trip, _)| *round_trip);
        let measured = best.zip(self.skew_measured_at);
        measured.map_or(0, |((_, skew), at)| {
            skew.saturating_sub(now.wall_step_ms_since(at))
        })
    }

    /// The shortest round trip, or `None` until enough round trips were measured.
    pub fn stable_round_trip(&self) -> Option<Duration> {
        let is_settled = self.round_trips.len() >= MIN_STABLE_ROUND_TRIPS;
        is_settled.then(|| self.shortest_round_trip())
    }

    /// The node's state for display. Its quorum eligibility is decided by its group.
    pub fn view(&self, name: &str, address: &str, now: Timestamp) -> NodeView {
        let is_up = self.state == NodeState::Up;
        let best = self
            .round_trips
            .iter()
            .min_by_key(|(round_trip, _)| *round_trip);
        let uptime = self
            .server_info
            .uptime
            .zip(self.info_at)
            // The uptime of a node that is down is unknown: it may have restarted.
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
                .map(|latency| (latency.as_secs_f64() * 1e6).round() / 1e3),
            clock_skew_ms: best.map(|(_, skew)| *skew),
            version: self.server_info.version.clone(),
            server: self.server_info.server.clone(),
            role: self.server_info.role,
            run_id: self.server_info.run_id.clone(),
            uptime_ms: uptime.map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX)),
            restarted_at: self.restarted_at,
            moved: self.moved.clone(),
            read_from: self.read_from.clone(),
            read_from_unavailable_reason: self.read_from_unavailable_reason.clone(),
            hazard_until: None,
            quorum_eligible: true,
            feed: FeedLevel::Poll,
            feed_reason: None,
            contention_unavailable_reason: None,
            missing_permissions: Vec::new(),
            lag: None,
            standbys: Vec::new(),
            last_reply_at: self.last_reply_at,
        }
    }
}

#[cfg(test)]
mod tests;
