//! The health of the members: each is asked for its state once a second.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use super::Shared;
use super::client::{EtcdError, MemberMetrics, StatusReply};
use crate::domain::reason::Reason;
use crate::domain::{NodeLag, NodeState, ReplicationRole};
use crate::server::stores::server_states::ServerReport;

/// How often a member is asked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How often the metrics are read of a member whose status may not be read. They are long.
const METRICS_INTERVAL: Duration = Duration::from_secs(5);
/// How often the certificate files are read.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);
/// The alarms that are kept of a member.
const MAX_ALARMS: usize = 8;
/// A member that has not applied this many entries of its log lags.
const MAX_LAG: u64 = 1_000;

/// Checks one member until the group is stopped.
pub async fn run(shared: Arc<Shared>, member: usize) {
    let mut tick = interval(CHECK_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let stop = shared.service.stop.clone();
    let mut metrics = MemberMetrics::default();
    let mut metrics_read_at: Option<Instant> = None;
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        let started = Instant::now();
        let Some(status) = stop.run_until_cancelled(shared.client.status(member)).await else {
            return;
        };
        let round_trip = started.elapsed();
        shared.record_status(member, &status);
        let report = match status {
            Ok(status) => to_report(&status, round_trip),
            // Only root may read the status in some versions. The member replied all the same.
            Err(EtcdError::PermissionDenied(_)) => {
                let is_due = metrics_read_at.is_none_or(|at| at.elapsed() >= METRICS_INTERVAL);
                if is_due {
                    metrics_read_at = Some(Instant::now());
                    let reading = shared.client.metrics(member);
                    let Some(read) = stop.run_until_cancelled(reading).await else {
                        return;
                    };
                    // Metrics can be on another address, or not public.
                    metrics = read.unwrap_or_default();
                    shared.record_metrics(member, &metrics);
                }
                to_report_without_status(&metrics, round_trip)
            }
            Err(error) => to_failure(&error),
        };
        let is_usable =
            report.state == NodeState::Up && report.role != Some(ReplicationRole::Learner);
        shared.client.set_usable(member, is_usable);
        let now = shared.service.clock.now();
        shared.service.servers.record(member, report, now);
    }
}

impl Shared {
    /// Records the alarms of a member, and how far it is behind the leader.
    fn record_status(&self, member: usize, status: &Result<StatusReply, EtcdError>) {
        let Ok(status) = status else {
            return;
        };
        let servers = &self.service.servers;
        let is_leader = status.leader == status.header.member_id;
        let lag = self.lag(is_leader, status.applied_index, status.raft_index);
        servers.set_lag(member, (status.leader != 0).then_some(lag));
        // Without a leader, the errors say so, and no alarm.
        let alarms = status.errors.iter().filter(|text| text.contains("alarm"));
        let alarms: Vec<String> = alarms.take(MAX_ALARMS).cloned().collect();
        servers.update_facts(member, |facts| facts.alarms = alarms);
    }

    /// Records how far a member is behind the leader according to its metrics.
    fn record_metrics(&self, member: usize, metrics: &MemberMetrics) {
        let lag = match (metrics.applied_index, metrics.committed_index) {
            (Some(applied), Some(committed)) if metrics.has_leader == Some(true) => {
                Some(self.lag(metrics.is_leader == Some(true), applied, committed))
            }
            _ => None,
        };
        self.service.servers.set_lag(member, lag);
    }

    /// How far a member is behind, which knows the log up to `known`. The leader's figure is as old as
    /// its last reading, so a lag is rather too small.
    fn lag(&self, is_leader: bool, applied: u64, known: u64) -> NodeLag {
        if is_leader {
            self.leader_index.store(known, Ordering::Relaxed);
        }
        let leader_index = self.leader_index.load(Ordering::Relaxed);
        NodeLag::of_raft_indexes(applied, leader_index.max(known))
    }
}

/// Reads the certificate files again until the group is stopped.
pub async fn reload_certificates(shared: Arc<Shared>) {
    let mut tick = interval(RELOAD_INTERVAL);
    let stop = shared.service.stop.clone();
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        let shared = Arc::clone(&shared);
        let reading = tokio::task::spawn_blocking(move || shared.client.reload_certificates());
        if reading.await.is_err() {
            return;
        }
    }
}

fn to_report(status: &StatusReply, round_trip: Duration) -> ServerReport {
    let lag = status.raft_index.saturating_sub(status.applied_index);
    let (state, reason) = if status.leader == 0 {
        (NodeState::Down, Some(EtcdError::NoLeader.reason()))
    } else if !status.errors.is_empty() {
        // An alarm: no space, or corrupt data. The member still serves reads.
        (NodeState::Up, Some(Reason::text(status.errors.join("; "))))
    } else if lag > MAX_LAG {
        let text = format!("{lag} entries of the log are not applied yet");
        (NodeState::Up, Some(Reason::text(text)))
    } else {
        (NodeState::Up, None)
    };
    let role = if status.is_learner {
        Some(ReplicationRole::Learner)
    } else if status.leader == 0 {
        None
    } else if status.leader == status.header.member_id {
        Some(ReplicationRole::Leader)
    } else {
        Some(ReplicationRole::Follower)
    };
    ServerReport {
        state,
        reason,
        round_trip: Some(round_trip),
        version: Some(status.version.clone()),
        role,
    }
}

/// The report of a member that may not be asked for its status.
fn to_report_without_status(metrics: &MemberMetrics, round_trip: Duration) -> ServerReport {
    let (state, reason) = match metrics.has_leader {
        Some(false) => (NodeState::Down, Some(EtcdError::NoLeader.reason())),
        Some(true) | None => (NodeState::Up, None),
    };
    let role = match (metrics.is_learner, metrics.is_leader) {
        (Some(true), _) => Some(ReplicationRole::Learner),
        (_, Some(true)) => Some(ReplicationRole::Leader),
        (_, Some(false)) if metrics.has_leader == Some(true) => Some(ReplicationRole::Follower),
        (_, Some(false) | None) => None,
    };
    ServerReport {
        state,
        reason,
        round_trip: Some(round_trip),
        version: metrics.version.clone(),
        role,
    }
}

fn to_failure(error: &EtcdError) -> ServerReport {
    let state = match error {
        EtcdError::Unauthenticated(_) | EtcdError::TokenExpired => NodeState::Refused,
        EtcdError::NotConnected(_)
        | EtcdError::NoReply(_)
        | EtcdError::NoLeader
        | EtcdError::Unavailable(_)
        | EtcdError::AuthenticationDisabled
        | EtcdError::PermissionDenied(_)
        | EtcdError::LeaseNotFound
        | EtcdError::Compacted
        | EtcdError::TooLong(_)
        | EtcdError::InvalidReply(_)
        | EtcdError::Rejected(_) => NodeState::Down,
    };
    ServerReport::unusable(state, error.reason())
}

#[cfg(test)]
mod tests {
    use super::super::client::Header;
    use super::*;

    fn status(leader: u64) -> StatusReply {
        StatusReply {
            header: Header {
                member_id: 1,
                ..Header::default()
            },
            version: "3.5.30".to_owned(),
            leader,
            ..StatusReply::default()
        }
    }

    fn report(status: &StatusReply) -> (NodeState, Option<ReplicationRole>) {
        let report = to_report(status, Duration::ZERO);
        (report.state, report.role)
    }

    #[test]
    fn the_role_follows_from_the_leader() {
        let leader = (NodeState::Up, Some(ReplicationRole::Leader));
        assert_eq!(report(&status(1)), leader);
        let follower = (NodeState::Up, Some(ReplicationRole::Follower));
        assert_eq!(report(&status(2)), follower);
        assert_eq!(report(&status(0)), (NodeState::Down, None));
        let learner = StatusReply {
            is_learner: true,
            ..status(2)
        };
        assert_eq!(report(&learner).1, Some(ReplicationRole::Learner));
    }

    #[test]
    fn without_a_status_the_role_follows_from_the_metrics() {
        let role = |has_leader, is_leader| {
            let metrics = MemberMetrics {
                has_leader: Some(has_leader),
                is_leader: Some(is_leader),
                ..MemberMetrics::default()
            };
            let report = to_report_without_status(&metrics, Duration::ZERO);
            (report.state, report.role)
        };
        assert_eq!(
            role(true, true),
            (NodeState::Up, Some(ReplicationRole::Leader))
        );
        assert_eq!(
            role(true, false),
            (NodeState::Up, Some(ReplicationRole::Follower))
        );
        assert_eq!(role(false, false), (NodeState::Down, None));
        let unknown = to_report_without_status(&MemberMetrics::default(), Duration::ZERO);
        assert_eq!((unknown.state, unknown.role), (NodeState::Up, None));
    }

    #[test]
    fn an_alarm_and_a_lag_are_reported() {
        let alarm = StatusReply {
            errors: vec!["memberID:1 alarm:NOSPACE ".to_owned()],
            ..status(1)
        };
        let reason = to_report(&alarm, Duration::ZERO).reason;
        assert!(reason.unwrap().to_string().contains("NOSPACE"));
        let lagging = StatusReply {
            raft_index: 5_000,
            applied_index: 1_000,
            ..status(2)
        };
        let reason = to_report(&lagging, Duration::ZERO).reason;
        assert!(reason.unwrap().to_string().starts_with("4000 entries"));
    }
}
