//! Every finding has exactly one cause; a healthy group has no findings.

use super::testing::{NOW, config, findings_after, findings_in, healthy_group, report};
use super::*;
use crate::domain::reason::Reason;
use crate::domain::{FeedLevel, NodeState, ReplicationRole};
use crate::server::stores::redis::nodes::health::ClockStep;
use crate::server::stores::redis::nodes::node_info::NodeInfo;

/// Replaces fields of a node's `INFO`.
fn with_info(n: u8, info: &str) -> impl Fn(&mut GroupFacts<'_>) {
    move |facts| facts.nodes[usize::from(n) - 1].report = Ok(report(n, info, &[]))
}

/// Replaces a setting of a node.
fn with_setting(n: u8, name: &str, value: &str) -> impl Fn(&mut GroupFacts<'_>) {
    move |facts| {
        facts.nodes[usize::from(n) - 1].report = Ok(report(n, "", &[(name, value)]));
    }
}

#[test]
fn a_healthy_group_has_no_findings() {
    assert_eq!(findings_after(|_| {}), []);
    assert_eq!(findings_in(&config(5), |_| {}), []);
}

#[test]
fn reports_of_nodes_lead_to_findings() {
    use Severity::{Error, Note, Warning};
    type Change = Box<dyn Fn(&mut GroupFacts<'_>)>;
    let cases: Vec<(&str, Severity, Change)> = vec![
        (
            "no-persistence",
            Warning,
            Box::new(with_setting(1, "appendonly", "no")),
        ),
        (
            "fsync-not-always",
            Note,
            Box::new(with_setting(1, "appendfsync", "everysec")),
        ),
        (
            "fsync-off-during-rewrite",
            Warning,
            Box::new(with_setting(1, "no-appendfsync-on-rewrite", "yes")),
        ),
        (
            "persistence-failing",
            Error,
            Box::new(with_info(1, "aof_last_write_status:err\r\n")),
        ),
        (
            "slow-fork",
            Warning,
            Box::new(with_info(1, "latest_fork_usec:900000\r\n")),
        ),
        (
            "eviction-enabled",
            Error,
            Box::new(with_info(
                1,
                "maxmemory:4194304\r\nmaxmemory_policy:volatile-ttl\r\n",
            )),
        ),
        (
            "memory-nearly-full",
            Warning,
            Box::new(with_info(1, "maxmemory:1200000\r\n")),
        ),
        (
            "memory-nearly-full",
            Error,
            Box::new(with_info(1, "maxmemory:1048577\r\n")),
        ),
        (
            "host-memory-nearly-full",
            Warning,
            Box::new(with_info(1, "total_system_memory:5000000\r\n")),
        ),
        (
            "output-buffer-unlimited",
            Warning,
            Box::new(with_setting(
                1,
                "client-output-buffer-limit",
                "normal 0 0 0 pubsub 0 0 0",
            )),
        ),
        (
            "output-buffer-small",
            Note,
            Box::new(with_setting(
                1,
                "client-output-buffer-limit",
                "pubsub 4096 0 0",
            )),
        ),
        (
            "maxclients-nearly-reached",
            Warning,
            Box::new(with_info(1, "connected_clients:9000\r\n")),
        ),
        (
            "unused-keyspace-notifications",
            Note,
            Box::new(with_setting(1, "notify-keyspace-events", "AKE")),
        ),
        (
            "failover-loses-locks",
            Warning,
            Box::new(with_info(1, "connected_slaves:2\r\n")),
        ),
        (
            "same-server",
            Error,
            Box::new(with_info(1, "run_id:run2\r\n")),
        ),
        (
            "same-dataset",
            Error,
            Box::new(with_info(1, "master_replid:data2\r\n")),
        ),
    ];
    for (code, severity, change) in cases {
        assert_eq!(findings_after(change), [(code.to_owned(), severity)]);
    }
}

#[test]
fn the_state_of_nodes_leads_to_findings() {
    use Severity::{Error, Note, Warning};
    type Change = fn(&mut GroupFacts<'_>);
    let cases: [(&[(&str, Severity)], Change); 11] = [
        (&[("node-unreachable", Error)], |facts| {
            facts.nodes[0].view.state = NodeState::Down;
        }),
        (
            &[("no-quorum", Error), ("node-unreachable", Error)],
            |facts| {
                for node in &mut facts.nodes[..2] {
                    node.view.state = NodeState::Refused;
                }
            },
        ),
        (&[("slow-node", Warning)], |facts| {
            facts.nodes[0].view.latency_ms = Some(126.0);
        }),
        (&[("no-change-feed", Note)], |facts| {
            facts.nodes[0].view.feed = FeedLevel::Poll;
        }),
        (&[("old-version", Warning)], |facts| {
            facts.nodes[0].view.version = Some("5.0.14".to_owned());
        }),
        (&[("replica", Error)], |facts| {
            facts.nodes[0].view.role = Some(ReplicationRole::Replica);
        }),
        (&[("same-host", Warning)], |facts| {
            facts.nodes[0].host = facts.nodes[2].host.clone();
        }),
        (&[("restart-hazard", Warning)], |facts| {
            let view = &mut facts.nodes[0].view;
            (view.hazard_until, view.quorum_eligible) = (Some(NOW), false);
        }),
        (&[("restart-hazard", Error)], |facts| {
            facts.nodes[0].view.hazard_until = Some(NOW);
        }),
        (&[("clock-skew", Warning)], |facts| {
            facts.nodes[0].view.clock_skew_ms = Some(-5_000);
        }),
        (&[("console-clock-skew", Warning)], |facts| {
            for (n, node) in facts.nodes.iter_mut().enumerate() {
                node.view.clock_skew_ms = Some(5_000 + i64::try_from(n).unwrap());
            }
        }),
    ];
    for (expected, change) in cases {
        let expected: Vec<_> = expected
            .iter()
            .map(|(code, severity)| ((*code).to_owned(), *severity))
            .collect();
        assert_eq!(findings_after(change), expected);
    }
}

#[test]
fn clock_skew_within_the_measurement_error_is_not_reported() {
    let skewed = |latency_ms: f64| {
        findings_after(move |facts| {
            let view = &mut facts.nodes[0].view;
            (view.clock_skew_ms, view.latency_ms) = (Some(1_020), Some(latency_ms));
        })
    };
    assert_eq!(skewed(1.0).len(), 1);
    assert_eq!(skewed(80.0), []);
}

fn findings_after_steps(steps: &[(i64, i64)]) -> Vec<(String, Severity)> {
    findings_after(|facts| {
        for (node, (ago_ms, by_ms)) in facts.nodes.iter_mut().zip(steps) {
            if let Ok(report) = &mut node.report {
                report.clock_step = Some(ClockStep {
                    at: NOW.plus_millis(-ago_ms),
                    by_ms: *by_ms,
                });
            }
        }
    })
}

#[test]
fn a_step_of_one_clock_is_distinguished_from_a_step_of_the_console_clock() {
    let finding = |code: &str, severity| vec![(code.to_owned(), severity)];
    let hour = 3_600_000;
    for (steps, expected) in [
        (
            &[(1_000, 30_000)][..],
            finding("clock-jump", Severity::Error),
        ),
        (
            &[(1_000, -30_000)],
            finding("clock-jump", Severity::Warning),
        ),
        (&[(2 * hour, 30_000)], Vec::new()),
        (
            &[(1_000, -5_000), (1_200, -5_001), (900, -4_999)],
            finding("console-clock-jump", Severity::Note),
        ),
        (
            &[(1_000, 5_000), (60_000, 5_000), (900, 5_000)],
            finding("clock-jump", Severity::Error),
        ),
    ] {
        assert_eq!(findings_after_steps(steps), expected, "{steps:?}");
    }
}

#[test]
fn the_number_of_nodes_leads_to_findings() {
    use Severity::{Note, Warning};
    for (nodes, expected) in [
        (1, &[("single-server", Note)][..]),
        (2, &[("few-nodes", Warning)]),
        (3, &[]),
        (4, &[("even-nodes", Warning)]),
    ] {
        let expected: Vec<_> = expected
            .iter()
            .map(|(code, severity)| ((*code).to_owned(), *severity))
            .collect();
        assert_eq!(
            findings_in(&config(nodes), |_| {}),
            expected,
            "{nodes} nodes"
        );
    }
}

#[test]
fn lost_locks_are_most_severe_without_delayed_restart() {
    let severity = |kind: u8, delayed_restart: bool, fsync: &'static str| {
        let mut config = config(kind);
        config.locking.delayed_restart = delayed_restart;
        let found = findings_in(&config, |facts| match fsync {
            "off" => with_setting(1, "appendonly", "no")(facts),
            policy => with_setting(1, "appendfsync", policy)(facts),
        });
        let is_about_persistence = |(code, _): &&(String, Severity)| {
            matches!(code.as_str(), "no-persistence" | "fsync-not-always")
        };
        found
            .iter()
            .find(is_about_persistence)
            .map(|(_, severity)| *severity)
    };
    use Severity::{Error, Note, Warning};
    for (nodes, delayed_restart, fsync, expected) in [
        (3, true, "always", None),
        (3, true, "everysec", Some(Note)),
        (3, true, "off", Some(Warning)),
        (3, false, "always", None),
        (3, false, "everysec", Some(Warning)),
        (3, false, "off", Some(Error)),
        (1, false, "everysec", Some(Note)),
        (1, false, "off", Some(Warning)),
    ] {
        let found = severity(nodes, delayed_restart, fsync);
        assert_eq!(found, expected, "{nodes} {delayed_restart} {fsync}");
    }
}

#[test]
fn nodes_on_one_host_are_detected_by_name_by_address_and_by_loopback() {
    let at = |hosts: [(&str, [u8; 4]); 2]| {
        findings_after(move |facts| {
            for (node, (host, place)) in facts.nodes.iter_mut().zip(hosts) {
                host.clone_into(&mut node.host);
                if let Ok(report) = &mut node.report {
                    report.addresses = [place.into()].into();
                }
            }
        })
    };
    let one_host = [("same-host".to_owned(), Severity::Warning)];
    assert_eq!(
        at([("db1", [10, 0, 0, 9]), ("db1", [10, 0, 0, 9])]),
        one_host
    );
    assert_eq!(
        at([("db1", [10, 0, 0, 9]), ("alias", [10, 0, 0, 9])]),
        one_host
    );
    assert_eq!(
        at([("localhost", [127, 0, 0, 1]), ("127.0.0.2", [127, 0, 0, 2])]),
        one_host
    );
    assert_eq!(at([("db1", [10, 0, 0, 9]), ("db2", [10, 0, 0, 8])]), []);
}

#[test]
fn a_node_without_a_report_has_no_findings_and_is_listed_as_unchecked() {
    let config = config(3);
    let mut facts = healthy_group(&config);
    let mut silent = NodeInfo::default();
    silent.missing = Some(Vec::new());
    facts.nodes[0].report = Ok(silent);
    facts.nodes[1].report = Err(Reason::NoReply { timeout_ms: 500 });
    let checkup = diagnose(&facts);
    assert_eq!(checkup.findings, []);
    let unchecked: Vec<_> = checkup
        .unchecked
        .iter()
        .map(|one| (one.node.as_str(), &one.unavailable))
        .collect();
    let user = String::new();
    assert_eq!(
        unchecked,
        [
            ("a", &UnavailableData::ServerInfo { user }),
            ("a", &UnavailableData::Config),
            (
                "b",
                &UnavailableData::All(Reason::NoReply { timeout_ms: 500 })
            ),
        ]
    );
}
