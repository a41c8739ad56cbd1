//! The states of the servers of a service that answers as one: ZooKeeper, etcd or PostgreSQL.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::health_history::HealthHistory;
use crate::domain::reason::Reason;
use crate::domain::{
    FeedLevel, MissingPermission, NodeHistory, NodeLag, NodeState, NodeView, ReplicationRole,
    Standby, Timestamp,
};

/// The states of the servers of a group, in configuration order.
pub struct ServerStates {
    servers: Mutex<Vec<ServerState>>,
    attempted: watch::Sender<usize>,
}

/// What a server reports about its set-up, for the doctor. What it does not report is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// (ZooKeeper) The session timeouts that the server grants.
    pub session_limits: Option<SessionLimits>,
    /// (ZooKeeper) The sessions that are connected to the server.
    pub sessions: SessionCounts,
    /// (ZooKeeper) The four-letter words that the server does not permit.
    pub closed_words: Vec<&'static str>,
    /// (etcd) The alarms, in the words of the server.
    pub alarms: Vec<String>,
}

/// The shortest and the longest session timeout that a server grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// `minSessionTimeout`.
    pub min: Duration,
    /// `maxSessionTimeout`.
    pub max: Duration,
}

/// The sessions of a server, compared with its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// All whose timeout is known.
    pub all: usize,
    /// Those with the shortest timeout that the server grants, or a shorter one.
    pub at_min: usize,
    /// Those with the longest timeout that the server grants, or a longer one.
    pub at_max: usize,
}

/// What one contact with a server showed.
#[derive(Clone, Debug)]
pub struct ServerReport {
    /// The state of the server.
    pub state: NodeState,
    /// Why it is not up; `None` while it is up.
    pub reason: Option<Reason>,
    /// The round trip of the request, if the server replied.
    pub round_trip: Option<Duration>,
    /// The version that the server reports.
    pub version: Option<String>,
    /// The role that the server reports.
    pub role: Option<ReplicationRole>,
}

impl ServerReport {
    /// The report of a server that could not be used.
    pub fn unusable(state: NodeState, reason: Reason) -> Self {
        Self {
            state,
            reason: Some(reason),
            round_trip: None,
            version: None,
            role: None,
        }
    }
}

struct ServerState {
    view: NodeView,
    facts: ServerFacts,
    history: HealthHistory,
    was_attempted: bool,
}

impl ServerStates {
    /// The servers at these addresses, before the first contact. `server` is the product, like
    /// `etcd`. A server's address is also its name.
    pub fn new(server: &str, addresses: impl IntoIterator<Item = String>) -> Self {
        let new_state = |address: String| ServerState {
            view: NodeView {
                name: address.clone(),
                address,
                state: NodeState::Down,
                reason: None,
                since: None,
                latency_ms: None,
                clock_skew_ms: None,
                version: None,
                server: Some(server.to_owned()),
                role: None,
                run_id: None,
                uptime_ms: None,
                restarted_at: None,
                moved: None,
                read_from: None,
                read_from_unavailable_reason: None,
                hazard_until: None,
                quorum_eligible: true,
                feed: FeedLevel::Poll,
                feed_reason: None,
                missing_permissions: Vec::new(),
                contention_unavailable_reason: None,
                lag: None,
                standbys: Vec::new(),
                last_reply_at: None,
            },
            facts: ServerFacts::default(),
            history: HealthHistory::default(),
            was_attempted: false,
        };
        Self {
            servers: Mutex::new(addresses.into_iter().map(new_state).collect()),
            attempted: watch::Sender::new(0),
        }
    }

    /// Records what a contact with the server `index` showed.
    pub fn record(&self, index: usize, report: ServerReport, now: Timestamp) {
        let is_first = {
            let mut servers = self.servers.lock();
            let Some(server) = servers.get_mut(index) else {
                return;
            };
            let is_change = server.view.since.is_none() || server.view.state != report.state;
            if is_change {
                server.view.since = Some(now);
                server
                    .history
                    .record_state_change(report.state, report.reason.as_ref(), now);
            }
            server.history.record(report.state, report.round_trip, now);
            server.view.state = report.state;
            server.view.reason = report.reason;
            if let Some(round_trip) = report.round_trip {
                let ms = (round_trip.as_secs_f64() * 1e6).round() / 1e3;
                server.view.latency_ms = Some(ms);
                server.view.last_reply_at = Some(now);
            }
            server.view.version = report.version.or(server.view.version.take());
            // The role of a server that does not reply is not known, nor its lag and its standbys.
            server.view.role = report.role;
            if report.state != NodeState::Up {
                server.view.lag = None;
                server.view.standbys.clear();
            }
            !std::mem::replace(&mut server.was_attempted, true)
        };
        if is_first {
            self.attempted.send_modify(|count| *count += 1);
        }
    }

    /// Sets how changes are detected on all servers, and what limits that.
    pub fn set_feed(&self, level: FeedLevel, reason: Option<&Reason>) {
        for server in self.servers.lock().iter_mut() {
            server.view.feed = level;
            server.view.feed_reason = reason.cloned();
        }
    }

    /// Sets how far a server is behind the leader, if that is known.
    pub fn set_lag(&self, index: usize, lag: Option<NodeLag>) {
        if let Some(server) = self.servers.lock().get_mut(index) {
            server.view.lag = lag;
        }
    }

    /// Sets the standbys that are connected to a server.
    pub fn set_standbys(&self, index: usize, standbys: Vec<Standby>) {
        if let Some(server) = self.servers.lock().get_mut(index) {
            server.view.standbys = standbys;
        }
    }

    /// Changes what is known about the set-up of a server.
    pub fn update_facts(&self, index: usize, update: impl FnOnce(&mut ServerFacts)) {
        if let Some(server) = self.servers.lock().get_mut(index) {
            update(&mut server.facts);
        }
    }

    /// What is known about the set-up of every server.
    pub fn facts(&self) -> Vec<ServerFacts> {
        let servers = self.servers.lock();
        servers.iter().map(|server| server.facts.clone()).collect()
    }

    /// Sets the permissions that the console's user lacks.
    pub fn set_missing_permissions(&self, missing: &[MissingPermission]) {
        for server in self.servers.lock().iter_mut() {
            server.view.missing_permissions = missing.to_vec();
        }
    }

    /// The state of every server.
    pub fn views(&self) -> Vec<NodeView> {
        let servers = self.servers.lock();
        servers.iter().map(|server| server.view.clone()).collect()
    }

    /// The recent history of every server.
    pub fn histories(&self, now: Timestamp) -> Vec<NodeHistory> {
        let servers = self.servers.lock();
        let history = |server: &ServerState| NodeHistory {
            node: server.view.name.clone(),
            timeline: server.history.hour(now),
            state_changes: server.history.state_changes(),
            address_changes: Vec::new(),
            scan: None,
            fsyncs_every_write: None,
            slot_count: None,
        };
        servers.iter().map(history).collect()
    }

    /// Waits until each server has been contacted once, or one of them is up.
    pub async fn wait_for_first_attempts(&self) {
        let mut attempted = self.attempted.subscribe();
        let count = self.servers.lock().len();
        let is_up = || {
            let servers = self.servers.lock();
            servers
                .iter()
                .any(|server| server.view.state == NodeState::Up)
        };
        // The sender is a field of this struct, so the channel cannot close.
        let _closed = attempted
            .wait_for(|attempted| *attempted >= count || is_up())
            .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(6_000_000_000);

    fn up(version: &str) -> ServerReport {
        ServerReport {
            state: NodeState::Up,
            reason: None,
            round_trip: Some(Duration::from_micros(1_500)),
            version: Some(version.to_owned()),
            role: Some(ReplicationRole::Leader),
        }
    }

    #[test]
    fn a_server_that_goes_down_keeps_its_version_and_loses_its_role() {
        let states = ServerStates::new("etcd", ["a:1".to_owned(), "b:1".to_owned()]);
        states.record(1, up("3.5"), NOW);
        let down = ServerReport::unusable(NodeState::Down, Reason::text("refused"));
        states.record(1, down, NOW.plus_millis(1_000));
        let view = &states.views()[1];
        assert_eq!(view.version.as_deref(), Some("3.5"));
        assert_eq!((view.role, view.state), (None, NodeState::Down));
        assert_eq!(view.since, Some(NOW.plus_millis(1_000)));
        assert_eq!(view.last_reply_at, Some(NOW));
        let history = &states.histories(NOW.plus_millis(2_000))[1];
        assert_eq!(history.state_changes.len(), 2);
    }

    #[tokio::test]
    async fn the_first_attempts_end_when_one_server_is_up_or_all_were_tried() {
        let states = ServerStates::new("etcd", ["a:1".to_owned(), "b:1".to_owned()]);
        states.record(0, up("3.5"), NOW);
        states.wait_for_first_attempts().await;
        let states = ServerStates::new("etcd", ["a:1".to_owned()]);
        let down = ServerReport::unusable(NodeState::Refused, Reason::text("wrong password"));
        states.record(0, down, NOW);
        states.wait_for_first_attempts().await;
    }
}
