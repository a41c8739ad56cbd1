//! Every finding is reached by what it is about and by nothing else; a healthy group has none.

use super::testing::{NOW, config, found, found_in, node, patient, report};
use super::*;
use crate::domain::{FeedLevel, NodeState, Role};
use crate::server::nodes::health::ClockStep;
use crate::server::nodes::self_report::SelfReport;

/// What a node says in `INFO`.
fn says(n: u8, info: &str) -> impl Fn(&mut Patient<'_>) {
    move |patient| patient.nodes[usize::from(n) - 1].report = Ok(report(n, info, &[]))
}

/// A setting of a node.
fn has(n: u8, name: &str, value: &str) -> impl Fn(&mut Patient<'_>) {
    move |patient| {
        patient.nodes[usize::from(n) - 1].report = Ok(report(n, "", &[(name, value)]));
    }
}

#[test]
fn a_healthy_group_has_no_findings() {
    assert_eq!(found(|_| {}), []);
    assert_eq!(found_in(&config(5), |_| {}), []);
}

#[test]
fn what_servers_say_of_themselves_is_judged() {
    use Severity::{Error, Note, Warning};
    type Change = Box<dyn Fn(&mut Patient<'_>)>;
    let cases: Vec<(&str, Severity, Change)> = vec![
        (
            "forgets-locks",
            Warning,
            Box::new(has(1, "appendonly", "no")),
        ),
        (
            "loses-last-locks",
            Note,
            Box::new(has(1, "appendfsync", "everysec")),
        ),
        (
            "fsync-paused",
            Warning,
            Box::new(has(1, "no-appendfsync-on-rewrite", "yes")),
        ),
        (
            "persistence-fails",
            Error,
            Box::new(says(1, "aof_last_write_status:err\r\n")),
        ),
        (
            "slow-fork",
            Warning,
            Box::new(says(1, "latest_fork_usec:900000\r\n")),
        ),
        (
            "evicts-locks",
            Error,
            Box::new(says(
                1,
                "maxmemory:4194304\r\nmaxmemory_policy:volatile-ttl\r\n",
            )),
        ),
        (
            "memory-nearly-full",
            Warning,
            Box::new(says(1, "maxmemory:1200000\r\n")),
        ),
        (
            "memory-nearly-full",
            Error,
            Box::new(says(1, "maxmemory:1048577\r\n")),
        ),
        (
            "machine-nearly-full",
            Warning,
            Box::new(says(1, "total_system_memory:5000000\r\n")),
        ),
        (
            "readers-without-limit",
            Warning,
            Box::new(has(
                1,
                "client-output-buffer-limit",
                "normal 0 0 0 pubsub 0 0 0",
            )),
        ),
        (
            "readers-cut-off",
            Note,
            Box::new(has(1, "client-output-buffer-limit", "pubsub 4096 0 0")),
        ),
        (
            "clients-nearly-all",
            Warning,
            Box::new(says(1, "connected_clients:9000\r\n")),
        ),
        (
            "notifications-unused",
            Note,
            Box::new(has(1, "notify-keyspace-events", "AKE")),
        ),
        (
            "failover-forgets",
            Warning,
            Box::new(says(1, "connected_slaves:2\r\n")),
        ),
        ("same-server", Error, Box::new(says(1, "run_id:run2\r\n"))),
        (
            "same-data",
            Error,
            Box::new(says(1, "master_replid:data2\r\n")),
        ),
    ];
    for (code, severity, change) in cases {
        assert_eq!(found(change), [(code.to_owned(), severity)]);
    }
}

#[test]
fn what_is_seen_of_nodes_is_judged() {
    use Severity::{Error, Note, Warning};
    type Change = fn(&mut Patient<'_>);
    let cases: [(&[(&str, Severity)], Change); 11] = [
        (&[("node-unreachable", Error)], |patient| {
            patient.nodes[0].view.state = NodeState::Down;
        }),
        (
            &[("no-quorum", Error), ("node-unreachable", Error)],
            |patient| {
                for node in &mut patient.nodes[..2] {
                    node.view.state = NodeState::Refused;
                }
            },
        ),
        (&[("slow-node", Warning)], |patient| {
            patient.nodes[0].view.latency_ms = Some(126.0);
        }),
        (&[("changes-not-told", Note)], |patient| {
            patient.nodes[0].view.feed = FeedLevel::Poll;
        }),
        (&[("old-version", Warning)], |patient| {
            patient.nodes[0].view.version = Some("5.0.14".to_owned());
        }),
        (&[("replica", Error)], |patient| {
            patient.nodes[0].view.role = Some(Role::Replica);
        }),
        (&[("one-host", Warning)], |patient| {
            patient.nodes[0].host = patient.nodes[2].host.clone();
        }),
        (&[("restart-hazard", Warning)], |patient| {
            let view = &mut patient.nodes[0].view;
            (view.hazard_until, view.votes) = (Some(NOW), false);
        }),
        (&[("restart-hazard", Error)], |patient| {
            patient.nodes[0].view.hazard_until = Some(NOW);
        }),
        (&[("clock-differs", Warning)], |patient| {
            patient.nodes[0].view.clock_skew_ms = Some(-5_000);
        }),
        (&[("console-clock-differs", Warning)], |patient| {
            for (n, node) in patient.nodes.iter_mut().enumerate() {
                node.view.clock_skew_ms = Some(5_000 + i64::try_from(n).unwrap());
            }
        }),
    ];
    for (expected, change) in cases {
        let expected: Vec<_> = expected
            .iter()
            .map(|(code, severity)| ((*code).to_owned(), *severity))
            .collect();
        assert_eq!(found(change), expected);
    }
}

#[test]
fn a_clock_that_a_slow_round_trip_blurs_is_not_blamed() {
    let skewed = |latency_ms: f64| {
        found(move |patient| {
            let view = &mut patient.nodes[0].view;
            (view.clock_skew_ms, view.latency_ms) = (Some(1_020), Some(latency_ms));
        })
    };
    assert_eq!(skewed(1.0).len(), 1);
    assert_eq!(skewed(80.0), []);
}

fn stepped(steps: &[(i64, i64)]) -> Vec<(String, Severity)> {
    found(|patient| {
        for (node, (ago_ms, by_ms)) in patient.nodes.iter_mut().zip(steps) {
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
fn a_step_of_one_clock_is_told_from_a_step_of_ours() {
    let is = |code: &str, severity| vec![(code.to_owned(), severity)];
    let hour = 3_600_000;
    for (steps, expected) in [
        (&[(1_000, 30_000)][..], is("clock-stepped", Severity::Error)),
        (&[(1_000, -30_000)], is("clock-stepped", Severity::Warning)),
        (&[(2 * hour, 30_000)], Vec::new()),
        (
            &[(1_000, -5_000), (1_200, -5_001), (900, -4_999)],
            is("console-clock-stepped", Severity::Note),
        ),
        (
            &[(1_000, 5_000), (60_000, 5_000), (900, 5_000)],
            is("clock-stepped", Severity::Error),
        ),
    ] {
        assert_eq!(stepped(steps), expected, "{steps:?}");
    }
}

#[test]
fn what_the_configuration_says_is_judged() {
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
        assert_eq!(found_in(&config(nodes), |_| {}), expected, "{nodes} nodes");
    }
}

#[test]
fn forgetting_is_worst_where_nobody_waits_after_a_restart() {
    let severity = |kind: u8, delayed_restart: bool, fsync: &'static str| {
        let mut config = config(kind);
        config.locking.delayed_restart = delayed_restart;
        let found = found_in(&config, |patient| match fsync {
            "off" => has(1, "appendonly", "no")(patient),
            often => has(1, "appendfsync", often)(patient),
        });
        let of_it = |(code, _): &&(String, Severity)| code.ends_with("-locks");
        found.iter().find(of_it).map(|(_, severity)| *severity)
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
fn servers_on_one_host_are_found_by_name_by_address_and_by_being_this_machine() {
    let at = |hosts: [(&str, [u8; 4]); 2]| {
        found(move |patient| {
            for (node, (host, place)) in patient.nodes.iter_mut().zip(hosts) {
                host.clone_into(&mut node.host);
                if let Ok(report) = &mut node.report {
                    report.places = [place.into()].into();
                }
            }
        })
    };
    let one_host = [("one-host".to_owned(), Severity::Warning)];
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
fn a_node_that_tells_nothing_is_not_judged_and_said_to_be_unchecked() {
    let config = config(3);
    let mut patient = patient(&config);
    let mut silent = SelfReport::default();
    silent.missing = Some(Vec::new());
    patient.nodes[0].report = Ok(silent);
    patient.nodes[1].report = Err("no answer within 500 ms".to_owned());
    let checkup = examine(&patient);
    assert_eq!(checkup.findings, []);
    let told: Vec<_> = checkup
        .unchecked
        .iter()
        .map(|one| (one.node.as_str(), one.why.split(' ').next().unwrap()))
        .collect();
    assert_eq!(told, [("a", "INFO"), ("a", "CONFIG"), ("b", "no")]);
}

#[test]
fn sentences_count_their_nodes() {
    let seen: Vec<Examined> = (1..=3).map(node).collect();
    let of = |n: usize| {
        let some: Vec<_> = seen[..n].iter().map(|node| (node, String::new())).collect();
        nodes_are(&some)
    };
    assert_eq!(
        [of(1), of(2), of(3)],
        ["Node a is", "Nodes a and b are", "Nodes a, b and c are"]
    );
}
