//! The health of the servers, and what they report about sessions. Each server is asked about once
//! per second on a connection of its own, so that a server without a quorum is shown as such.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;

use super::Zookeeper;
use super::client::{Server, SessionState};
use super::errors::{connect_reason, connect_state};
use super::four_letter_words::{
    self, ClientConnection, ServerInfo, SessionDeadlines, WordError, parse_connections,
    parse_deadlines, parse_session_limits,
};
use super::sessions::{SessionReplies, SessionReport};
use crate::domain::reason::Reason;
use crate::domain::{NodeLag, NodeState, ReplicationRole};
use crate::server::stores::server_states::{ServerReport, SessionCounts, SessionLimits};

/// How often each server is asked.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often the session limits are read. They change with a restart of the server.
const LIMITS_INTERVAL: Duration = Duration::from_secs(60);
/// How long no server is asked about sessions after one did not permit the four-letter word `cons`.
const RETRY_NOT_PERMITTED: Duration = Duration::from_secs(60);
/// The same after an AdminServer did not reply, for example because it was starting.
const RETRY_ADMIN_SERVER: Duration = Duration::from_secs(5);

/// What one server replied in one round.
struct ServerRound {
    report: ServerReport,
    info: Option<ServerInfo>,
}

/// When the servers are asked about sessions again.
#[derive(Default)]
struct SessionSchedule {
    /// Not before this time, because `cons` was not permitted or an AdminServer did not reply.
    not_before: Option<Instant>,
    /// When the session limits are read next.
    limits_due: Option<Instant>,
}

/// Why sessions were not read from a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionReadError {
    /// The four-letter word is not permitted.
    NotPermitted,
    /// The AdminServer did not reply, or its reply was not understood.
    AdminServer,
    /// The server did not reply.
    Unanswered,
}

impl From<WordError> for SessionReadError {
    fn from(error: WordError) -> Self {
        match error {
            WordError::NotPermitted => Self::NotPermitted,
            WordError::Connect(_) | WordError::NotServing => Self::Unanswered,
        }
    }
}

impl Zookeeper {
    /// Checks the servers until the group is stopped.
    pub(super) fn spawn_checks(self: &Arc<Self>) {
        let store = Arc::downgrade(self);
        let (stop, clock) = (self.service.stop.clone(), self.service.clock.clone());
        tokio::spawn(async move {
            let checking = async {
                let mut schedule = SessionSchedule::default();
                while check(&store, &mut schedule).await.is_some() {
                    clock.sleep(INTERVAL).await;
                }
            };
            // The group was stopped.
            let _stopped = stop.run_until_cancelled(checking).await;
        });
    }

    /// Asks one server for its role.
    async fn check_server(&self, server: &Server) -> ServerRound {
        let started = self.service.clock.instant();
        let limit = self.service.config.connect_timeout;
        let reply = four_letter_words::send(server, "srvr", limit).await;
        let round_trip = started.elapsed();
        let info = reply.map(|text| ServerInfo::parse(&text));
        match info {
            Ok(Some(info)) => ServerRound {
                report: ServerReport {
                    state: NodeState::Up,
                    reason: None,
                    round_trip: Some(round_trip),
                    version: info.version.clone(),
                    role: info.role,
                },
                info: Some(info),
            },
            Ok(None) => ServerRound::unusable(
                NodeState::Down,
                Reason::text("the reply to srvr is not that of a ZooKeeper server"),
            ),
            Err(WordError::Connect(error)) => {
                ServerRound::unusable(connect_state(&error), connect_reason(&error))
            }
            Err(WordError::NotServing) => ServerRound::unusable(
                NodeState::Down,
                Reason::text("has no quorum: it is not currently serving requests"),
            ),
            // Without `srvr`, only the session shows whether the server serves clients.
            Err(WordError::NotPermitted) => self.report_of_session(server, round_trip),
        }
    }

    fn report_of_session(&self, server: &Server, round_trip: Duration) -> ServerRound {
        let report = match self.session.state() {
            SessionState::Connected(connected)
                if self.servers.get(connected.server) == Some(server) =>
            {
                ServerReport {
                    state: NodeState::Up,
                    reason: None,
                    round_trip: Some(round_trip),
                    version: None,
                    role: None,
                }
            }
            SessionState::Connected(_)
            | SessionState::Connecting
            | SessionState::Disconnected(_)
            | SessionState::Ended(_) => ServerReport::unusable(
                NodeState::Down,
                Reason::text(
                    "does not permit srvr (4lw.commands.whitelist), so its state is not known",
                ),
            ),
        };
        ServerRound { report, info: None }
    }

    /// Asks the servers about sessions, where they permit it.
    async fn read_sessions(&self, infos: &[Option<ServerInfo>], schedule: &mut SessionSchedule) {
        let now = Instant::now();
        if schedule.not_before.is_some_and(|at| now < at) {
            return;
        }
        schedule.not_before = None;
        let reads_limits = schedule.limits_due.is_none_or(|at| now >= at);
        if reads_limits {
            schedule.limits_due = Some(now + LIMITS_INTERVAL);
        }
        let serving = self.servers.iter().zip(infos).enumerate();
        let serving =
            serving.filter_map(|(index, (server, info))| Some((index, server, info.as_ref()?)));
        let asked = serving.map(|(index, server, info)| async move {
            let limits = async {
                match reads_limits {
                    true => self.read_session_limits(server).await,
                    false => None,
                }
            };
            let connections = self.read_connections(server);
            let deadlines = self.read_deadlines(server, info);
            let (connections, deadlines, limits) = futures::join!(connections, deadlines, limits);
            (index, connections, deadlines, limits)
        });
        // The request for the deadlines renews no session, so the console's own one is a reference.
        let own = self.own_session();
        let own_id = own.map(|(session, _)| session);
        let mut replies = SessionReplies {
            own,
            are_connections_complete: infos.iter().any(Option::is_some),
            ..SessionReplies::default()
        };
        for (index, connections, deadlines, limits) in futures::future::join_all(asked).await {
            let mut closed_words = Vec::new();
            let mut timeouts = Vec::new();
            match connections {
                Ok(connections) => {
                    let others = connections.iter().filter(|one| Some(one.session) != own_id);
                    timeouts.extend(others.filter_map(|one| one.timeout));
                    replies.connections.extend(connections);
                }
                Err(failure) => {
                    replies.are_connections_complete = false;
                    let not_before = match failure {
                        SessionReadError::NotPermitted => Some(now + RETRY_NOT_PERMITTED),
                        SessionReadError::AdminServer => Some(now + RETRY_ADMIN_SERVER),
                        SessionReadError::Unanswered => None,
                    };
                    schedule.not_before = schedule.not_before.max(not_before);
                    if failure == SessionReadError::NotPermitted {
                        closed_words.push("cons");
                    }
                }
            }
            match deadlines {
                Ok(deadlines) => replies.deadlines = replies.deadlines.take().or(deadlines),
                Err(SessionReadError::NotPermitted) => closed_words.push("dump"),
                Err(SessionReadError::AdminServer | SessionReadError::Unanswered) => {}
            }
            self.service.servers.update_facts(index, |facts| {
                facts.session_limits = limits.or(facts.session_limits);
                facts.sessions = count_sessions(&timeouts, facts.session_limits);
                facts.closed_words = closed_words;
            });
        }
        // A server that is down has no clients, but one that was not reached may have some.
        let is_reached = infos.iter().all(Option::is_some);
        replies.are_connections_complete &= is_reached || self.are_others_down(infos);
        *self.session_report.lock() = Arc::new(SessionReport::new(replies));
    }

    /// The clients that are connected to a server.
    async fn read_connections(
        &self,
        server: &Server,
    ) -> Result<Vec<ClientConnection>, SessionReadError> {
        if let Some(admin) = &self.admin {
            let connections = admin.connections(server).await;
            return connections.map_err(|error| {
                tracing::debug!(server = %server.address(), "AdminServer: {error}");
                SessionReadError::AdminServer
            });
        }
        let limit = self.service.config.connect_timeout;
        let text = four_letter_words::send(server, "cons", limit).await?;
        Ok(parse_connections(&text))
    }

    /// The deadlines of sessions. `None` if the server is not the leader.
    async fn read_deadlines(
        &self,
        server: &Server,
        info: &ServerInfo,
    ) -> Result<Option<SessionDeadlines>, SessionReadError> {
        if !info.has_deadlines() {
            return Ok(None);
        }
        if let Some(admin) = &self.admin {
            let deadlines = admin.deadlines(server).await;
            return deadlines.map(Some).map_err(|error| {
                tracing::debug!(server = %server.address(), "AdminServer: {error}");
                SessionReadError::AdminServer
            });
        }
        let limit = self.service.config.connect_timeout;
        let text = four_letter_words::send(server, "dump", limit).await?;
        Ok(parse_deadlines(&text))
    }

    /// The session timeouts that a server grants, if it reports them.
    async fn read_session_limits(&self, server: &Server) -> Option<SessionLimits> {
        if let Some(admin) = &self.admin {
            return admin.session_limits(server).await.ok();
        }
        let limit = self.service.config.connect_timeout;
        let text = four_letter_words::send(server, "conf", limit).await.ok()?;
        parse_session_limits(&text)
    }

    /// Records how far each server is behind the leader.
    fn record_lags(&self, infos: &[Option<ServerInfo>]) {
        let has_role = |info: &ServerInfo, role| info.role == Some(role);
        let leader = infos
            .iter()
            .flatten()
            .find(|info| has_role(info, ReplicationRole::Leader))
            .and_then(|info| info.zxid);
        for (index, info) in infos.iter().enumerate() {
            let follower = info
                .as_ref()
                .filter(|info| !has_role(info, ReplicationRole::Leader));
            let zxid = follower.and_then(|info| info.zxid);
            let lag = zxid.zip(leader);
            let lag = lag.and_then(|(own, leader)| NodeLag::of_zxids(own, leader));
            self.service.servers.set_lag(index, lag);
        }
    }

    /// Whether the servers without a reply refuse connections or have no quorum.
    fn are_others_down(&self, infos: &[Option<ServerInfo>]) -> bool {
        let views = self.service.servers.views();
        views
            .iter()
            .zip(infos)
            .all(|(view, info)| info.is_some() || view.reason == Some(Reason::ConnectionRefused))
    }

    /// The console's session and when it would end without another request.
    fn own_session(&self) -> Option<(super::client::SessionId, crate::domain::Timestamp)> {
        let SessionState::Connected(connected) = self.session.state() else {
            return None;
        };
        let since = connected.confirmed_at.elapsed();
        let remaining = connected.session_timeout.saturating_sub(since);
        let end = self.service.clock.now().plus(remaining);
        Some((connected.session, end))
    }
}

impl ServerRound {
    fn unusable(state: NodeState, reason: Reason) -> Self {
        Self {
            report: ServerReport::unusable(state, reason),
            info: None,
        }
    }
}

/// Counts the sessions whose timeout is a limit of the server. Nothing is counted while the limits are
/// not known.
fn count_sessions(timeouts: &[Duration], limits: Option<SessionLimits>) -> SessionCounts {
    let Some(SessionLimits { min, max }) = limits else {
        return SessionCounts::default();
    };
    let count = |is_counted: &dyn Fn(Duration) -> bool| {
        timeouts
            .iter()
            .filter(|timeout| is_counted(**timeout))
            .count()
    };
    SessionCounts {
        all: timeouts.len(),
        at_min: count(&|timeout| timeout <= min),
        at_max: count(&|timeout| timeout >= max),
    }
}

/// One round over all servers. `None` if the group is gone.
async fn check(store: &Weak<Zookeeper>, schedule: &mut SessionSchedule) -> Option<()> {
    let store = store.upgrade()?;
    let checks = store.servers.iter().enumerate().map(|(index, server)| {
        let store = &store;
        async move {
            let round = store.check_server(server).await;
            // A slow server does not delay the state of the others.
            let now = store.service.clock.now();
            store.service.servers.record(index, round.report, now);
            round.info
        }
    });
    let infos = futures::future::join_all(checks).await;
    store.record_lags(&infos);
    store.read_sessions(&infos, schedule).await;
    Some(())
}
