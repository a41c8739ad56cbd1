//! Rules about services that answer as one: ZooKeeper ensembles, etcd clusters and PostgreSQL.

use std::time::Duration;

use super::leases::lease_evidence;
use super::reach::{parse_version, unavailable_where};
use super::{GroupFacts, NodeFacts, Rule, finding_about_group, finding_about_nodes};
use crate::domain::finding::{Finding, FindingEvidence, FindingKind, ObservedFact, Severity};
use crate::domain::{GroupKind, NodeLag, ReplicationRole};
use crate::server::stores::server_states::{SessionCounts, SessionLimits};

pub(super) const RULES: &[Rule] = &[
    check_leader,
    check_even_servers,
    check_standby,
    check_old_service,
    check_session_limits,
    check_equal_session_limits,
    check_closed_words,
    check_alarms,
    check_lag,
    check_standby_lag,
    check_short_ttls,
    check_long_transactions,
];

/// The election timeout of etcd unless configured. Members do not report it.
const ETCD_ELECTION_TIMEOUT: Duration = Duration::from_secs(1);
/// A failed leader is replaced after one to two election timeouts, and clients then still have to
/// renew.
const MIN_TTL: Duration = Duration::from_secs(3 * ETCD_ELECTION_TIMEOUT.as_secs());
/// Transactions that hold advisory locks are reported if they are older.
const LONG_TRANSACTION: Duration = Duration::from_mins(5);

/// The servers that vote, as far as their roles are known.
fn voters<'a>(facts: &'a GroupFacts<'_>) -> impl Iterator<Item = &'a NodeFacts> {
    facts.nodes.iter().filter(|node| match node.view.role {
        Some(ReplicationRole::Observer | ReplicationRole::Learner) => false,
        Some(
            ReplicationRole::Primary
            | ReplicationRole::Replica
            | ReplicationRole::Leader
            | ReplicationRole::Follower,
        )
        | None => true,
    })
}

/// No server that is up leads, although roles are reported.
fn check_leader(facts: &GroupFacts<'_>) -> Option<Finding> {
    let roles: Vec<ReplicationRole> = facts.nodes_up().filter_map(|node| node.view.role).collect();
    let is_led = roles.iter().any(|role| match role {
        ReplicationRole::Leader | ReplicationRole::Primary => true,
        ReplicationRole::Replica
        | ReplicationRole::Follower
        | ReplicationRole::Observer
        | ReplicationRole::Learner => false,
    });
    // A leader that is not configured here cannot be seen while a server is missing.
    let is_every_role_known = roles.len() == facts.nodes.len();
    (facts.config.kind != GroupKind::Postgres && is_every_role_known && !is_led)
        .then(|| finding_about_group(FindingKind::NoLeader, Severity::Warning, Vec::new()))
}

fn check_even_servers(facts: &GroupFacts<'_>) -> Option<Finding> {
    let all = voters(facts).count();
    let is_even = facts.config.kind != GroupKind::Postgres && all > 0 && all.is_multiple_of(2);
    is_even.then(|| {
        finding_about_group(
            FindingKind::EvenServers { all },
            Severity::Warning,
            Vec::new(),
        )
    })
}

fn check_standby(facts: &GroupFacts<'_>) -> Option<Finding> {
    if facts.config.kind != GroupKind::Postgres {
        return None;
    }
    let is_standby = |node: &NodeFacts| node.view.role == Some(ReplicationRole::Replica);
    let affected = unavailable_where(facts, is_standby);
    finding_about_nodes(FindingKind::Standby, Severity::Error, affected)
}

/// The oldest version that reports changes and allows a release with an owner check.
fn minimum_version(kind: GroupKind) -> Option<(u32, u32)> {
    match kind {
        GroupKind::Zookeeper => Some((3, 6)),
        GroupKind::Etcd => Some((3, 4)),
        GroupKind::Standalone
        | GroupKind::Sentinel
        | GroupKind::Cluster
        | GroupKind::Redlock
        | GroupKind::Postgres => None,
    }
}

fn check_old_service(facts: &GroupFacts<'_>) -> Option<Finding> {
    let minimum = minimum_version(facts.config.kind)?;
    let describe = |node: &NodeFacts| {
        let version = node.view.version.as_deref()?;
        (parse_version(version)? < minimum).then(|| ObservedFact::ServerVersion(version.to_owned()))
    };
    let affected = facts
        .nodes_up()
        .filter_map(|node| Some((node, describe(node)?)))
        .collect();
    let kind = FindingKind::OldService {
        minimum: format!("{}.{}", minimum.0, minimum.1),
    };
    finding_about_nodes(kind, Severity::Warning, affected)
}

/// The servers that are up, each with an observation about its facts.
fn servers_where<'a>(
    facts: &'a GroupFacts<'_>,
    observe: impl Fn(&'a NodeFacts) -> Option<ObservedFact>,
) -> Vec<(&'a NodeFacts, ObservedFact)> {
    let observed = |node: &'a NodeFacts| Some((node, observe(node)?));
    facts.nodes_up().filter_map(observed).collect()
}

/// Clients whose timeout is exactly a limit probably requested another one.
fn check_session_limits(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = servers_where(facts, |node| {
        let SessionLimits { min, max } = node.server.session_limits?;
        let SessionCounts {
            all,
            at_min,
            at_max,
        } = node.server.sessions;
        (at_min + at_max > 0).then_some(ObservedFact::SessionsAtLimits {
            at_min,
            at_max,
            all,
            min,
            max,
        })
    });
    finding_about_nodes(FindingKind::SessionLimitsReached, Severity::Note, affected)
}

fn check_equal_session_limits(facts: &GroupFacts<'_>) -> Option<Finding> {
    let reported = servers_where(facts, |node| {
        let SessionLimits { min, max } = node.server.session_limits?;
        Some(ObservedFact::SessionLimits { min, max })
    });
    let are_equal = reported.windows(2).all(|pair| pair[0].1 == pair[1].1);
    let affected = if are_equal { Vec::new() } else { reported };
    finding_about_nodes(
        FindingKind::SessionLimitsDiffer,
        Severity::Warning,
        affected,
    )
}

fn check_closed_words(facts: &GroupFacts<'_>) -> Option<Finding> {
    let closed: Vec<&NodeFacts> = facts
        .nodes_up()
        .filter(|node| !node.server.closed_words.is_empty())
        .collect();
    let mut words: Vec<&str> = closed
        .iter()
        .flat_map(|node| node.server.closed_words.iter().copied())
        .collect();
    words.sort_unstable();
    words.dedup();
    (!closed.is_empty()).then(|| Finding {
        kind: FindingKind::ClosedAdminWords { words },
        severity: Severity::Note,
        nodes: closed.iter().map(|node| node.view.name.clone()).collect(),
        evidence: Vec::new(),
        commands: Vec::new(),
    })
}

fn check_alarms(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = servers_where(facts, |node| {
        let alarms = &node.server.alarms;
        (!alarms.is_empty()).then(|| ObservedFact::Alarm(alarms.join("; ")))
    });
    finding_about_nodes(FindingKind::ServerAlarm, Severity::Error, affected)
}

fn check_lag(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = servers_where(facts, |node| {
        let lag = node.view.lag.filter(NodeLag::is_large)?;
        Some(ObservedFact::Lag(lag))
    });
    finding_about_nodes(FindingKind::ServerLag, Severity::Warning, affected)
}

fn check_standby_lag(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = servers_where(facts, |node| {
        let mut lagging = node.view.standbys.iter();
        let standby = lagging.find(|standby| standby.has_large_lag())?;
        Some(ObservedFact::StandbyLag {
            name: standby.name.clone(),
            lag: standby.lag?,
        })
    });
    finding_about_nodes(FindingKind::StandbyLag, Severity::Warning, affected)
}

fn check_short_ttls(facts: &GroupFacts<'_>) -> Option<Finding> {
    let shortest = facts.service.shortest_ttls.iter();
    let short: Vec<_> = shortest.filter(|(ttl, _)| *ttl < MIN_TTL).collect();
    let kind = FindingKind::TtlNearElectionTimeout { limit: MIN_TTL };
    (!short.is_empty()).then(|| finding_about_group(kind, Severity::Warning, lease_evidence(short)))
}

fn check_long_transactions(facts: &GroupFacts<'_>) -> Option<Finding> {
    let transactions = facts.service.long_transactions.iter();
    let long: Vec<FindingEvidence> = transactions
        .filter(|transaction| facts.now.since(transaction.since) > LONG_TRANSACTION)
        .map(|transaction| {
            ObservedFact::TransactionSince {
                owner: transaction.owner.clone(),
                since: transaction.since,
                lock_count: transaction.lock_count,
            }
            .into()
        })
        .collect();
    let kind = FindingKind::LongTransactions {
        limit: LONG_TRANSACTION,
    };
    (!long.is_empty()).then(|| finding_about_group(kind, Severity::Warning, long))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, healthy_node};
    use super::super::{GroupFacts, LeaseStatistics, diagnose};
    use super::*;
    use crate::domain::Standby;
    use crate::server::config::GroupConfig;
    use crate::server::stores::{OpenTransaction, ServiceFacts};

    fn group(kind: GroupKind) -> GroupConfig {
        GroupConfig {
            kind,
            ..GroupConfig::new("jobs", [])
        }
    }

    fn codes(config: &GroupConfig, servers: &[(ReplicationRole, &str)]) -> Vec<String> {
        let node = |(n, (role, version)): (usize, &(ReplicationRole, &str))| {
            let mut node = healthy_node(u8::try_from(n + 1).unwrap());
            node.view.role = Some(*role);
            node.view.version = Some((*version).to_owned());
            node
        };
        let facts = GroupFacts {
            config,
            quorum: 1,
            nodes: servers.iter().enumerate().map(node).collect(),
            leases: LeaseStatistics::default(),
            skipped_names: 0,
            service: ServiceFacts::default(),
            now: NOW,
        };
        let diagnosis = diagnose(&facts);
        let findings = diagnosis.findings.iter();
        findings
            .map(|finding| finding.kind.code().to_owned())
            .collect()
    }

    #[test]
    fn a_healthy_ensemble_has_no_finding() {
        use ReplicationRole::{Follower, Leader};
        let servers = [(Leader, "3.8.0"), (Follower, "3.8.0"), (Follower, "3.8.0")];
        assert_eq!(codes(&group(GroupKind::Zookeeper), &servers), [""; 0]);
        assert_eq!(codes(&group(GroupKind::Etcd), &servers), [""; 0]);
    }

    #[test]
    fn even_ensembles_missing_leaders_old_versions_and_standbys_are_found() {
        use ReplicationRole::{Follower, Leader, Observer, Replica};
        let zookeeper = group(GroupKind::Zookeeper);
        for (config, servers, expected) in [
            (
                &zookeeper,
                vec![(Leader, "3.8.0"), (Follower, "3.8.0")],
                "even-servers",
            ),
            (
                &zookeeper,
                vec![
                    (Follower, "3.8.0"),
                    (Follower, "3.8.0"),
                    (Follower, "3.8.0"),
                ],
                "no-leader",
            ),
            (&zookeeper, vec![(Leader, "3.5.9")], "old-service"),
            (
                &group(GroupKind::Postgres),
                vec![(Replica, "15.2")],
                "standby",
            ),
        ] {
            assert_eq!(codes(config, &servers), [expected]);
        }
        // Observers do not vote.
        let servers = [
            (Leader, "3.8.0"),
            (Follower, "3.8.0"),
            (Follower, "3.8.0"),
            (Observer, "3.8.0"),
        ];
        assert_eq!(codes(&zookeeper, &servers), [""; 0]);
    }

    /// The findings of a healthy group of three servers after this change.
    fn codes_after(
        kind: GroupKind,
        change: impl Fn(&mut GroupFacts<'_>),
    ) -> Vec<(String, Severity)> {
        let config = group(kind);
        let role = |n| match n {
            1 => ReplicationRole::Leader,
            _ => ReplicationRole::Follower,
        };
        let node = |n| {
            let mut node = healthy_node(n);
            node.view.role = Some(role(n));
            node.view.version = Some("3.8.0".to_owned());
            node
        };
        let mut facts = GroupFacts {
            config: &config,
            quorum: 1,
            nodes: (1..=3).map(node).collect(),
            leases: LeaseStatistics::default(),
            skipped_names: 0,
            service: ServiceFacts::default(),
            now: NOW,
        };
        change(&mut facts);
        let findings = diagnose(&facts).findings.into_iter();
        findings
            .map(|finding| (finding.kind.code().to_owned(), finding.severity))
            .collect()
    }

    fn limits(max: u64) -> Option<SessionLimits> {
        Some(SessionLimits {
            min: Duration::from_secs(4),
            max: Duration::from_secs(max),
        })
    }

    #[test]
    fn session_limits_and_closed_words_are_found() {
        let kind = GroupKind::Zookeeper;
        let equal = codes_after(kind, |facts| {
            for node in &mut facts.nodes {
                node.server.session_limits = limits(40);
                node.server.sessions.all = 7;
            }
        });
        assert!(equal.is_empty(), "{equal:?}");
        let reached = codes_after(kind, |facts| {
            facts.nodes[1].server.session_limits = limits(40);
            facts.nodes[1].server.sessions = SessionCounts {
                all: 7,
                at_min: 0,
                at_max: 2,
            };
        });
        assert_eq!(
            reached,
            [("session-limits-reached".to_owned(), Severity::Note)]
        );
        let different = codes_after(kind, |facts| {
            facts.nodes[0].server.session_limits = limits(40);
            facts.nodes[1].server.session_limits = limits(60);
        });
        assert_eq!(
            different,
            [("session-limits-differ".to_owned(), Severity::Warning)]
        );
        let closed = codes_after(kind, |facts| {
            facts.nodes[2].server.closed_words = vec!["cons", "dump"];
        });
        assert_eq!(closed, [("closed-admin-words".to_owned(), Severity::Note)]);
    }

    #[test]
    fn alarms_lag_and_short_ttls_are_found() {
        let kind = GroupKind::Etcd;
        let alarm = codes_after(kind, |facts| {
            facts.nodes[0].server.alarms = vec!["memberID:1 alarm:NOSPACE".to_owned()];
        });
        assert_eq!(alarm, [("server-alarm".to_owned(), Severity::Error)]);
        for (applied, expected) in [(5_000, 0), (3_999, 1)] {
            let lag = codes_after(kind, |facts| {
                facts.nodes[2].view.lag = Some(NodeLag::of_raft_indexes(applied, 5_000));
            });
            assert_eq!(lag.len(), expected, "{lag:?}");
        }
        for (bytes, expected) in [(64 << 20, 0), (65 << 20, 1)] {
            let lag = codes_after(GroupKind::Postgres, |facts| {
                facts.nodes[0].view.standbys = vec![Standby {
                    name: "standby-1".to_owned(),
                    address: None,
                    state: "streaming".to_owned(),
                    lag: Some(NodeLag::of_wal_bytes(bytes)),
                    replay_delay_ms: None,
                }];
            });
            assert_eq!(lag.len(), expected, "{lag:?}");
        }
        for (seconds, expected) in [(2, 1), (3, 0)] {
            let short = codes_after(kind, |facts| {
                let ttl = Duration::from_secs(seconds);
                facts.service.shortest_ttls = vec![(ttl, "jobs/a".to_owned())];
            });
            assert_eq!(short.len(), expected, "{short:?}");
        }
    }

    #[test]
    fn transactions_are_found_if_they_are_old() {
        for (minutes, expected) in [(4, 0), (6, 1)] {
            let found = codes_after(GroupKind::Postgres, |facts| {
                facts.service.long_transactions = vec![OpenTransaction {
                    owner: "billing@web-1/4711".to_owned(),
                    since: NOW.plus_millis(-60_000 * minutes),
                    lock_count: 1,
                }];
            });
            assert_eq!(found.len(), expected, "{found:?}");
        }
    }
}
