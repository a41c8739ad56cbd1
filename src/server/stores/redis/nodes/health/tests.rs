//! The health of one node after sequences of checks.

use super::super::restart::{OutstandingLease, RestartPolicy, hazard};
use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);
const UNOBSERVED: OutstandingLease = OutstandingLease {
    max_lease: Duration::from_mins(1),
    remaining: Duration::from_mins(1),
};

fn health_check(at_ms: i64, took_us: u64, skew_ms: i64, run_id: &str) -> HealthCheck {
    let server_info = ServerInfo {
        run_id: Some(run_id.to_owned()),
        ..ServerInfo::default()
    };
    HealthCheck {
        received_at: NOW.plus_millis(at_ms),
        at: Instant::now(),
        monotonic: MonotonicTime::default().plus(Duration::from_millis(at_ms.unsigned_abs())),
        round_trip: Duration::from_micros(took_us),
        skew_ms: Some(skew_ms),
        server_info: Some(server_info),
    }
}

#[test]
fn valkey_is_not_reported_as_the_redis_version_it_was_forked_from() {
    let server_info = ServerInfo::parse(
        "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\nserver_mode:standalone\r\n",
    );
    assert_eq!(
        (
            server_info.server.as_deref(),
            server_info.version.as_deref()
        ),
        (Some("valkey"), Some("9.1.2"))
    );
    assert!(!server_info.is_cluster_node);
}

#[test]
fn a_server_whose_clock_was_set_back_has_no_uptime() {
    assert_eq!(ServerInfo::parse("uptime_in_seconds:-29\r\n").uptime, None);
    assert_eq!(
        ServerInfo::parse("uptime_in_seconds:29\r\n").uptime,
        Some(Duration::from_secs(29))
    );
}

#[test]
fn a_step_of_the_consoles_clock_changes_the_skew_before_the_next_check() {
    let mut health = NodeHealth::unknown();
    health.record_check(health_check(0, 400, 30, "a"), UNOBSERVED);
    let now = ClockReading {
        wall: NOW,
        monotonic: MonotonicTime::default(),
    };
    let later = now.plus(Duration::from_millis(700));
    assert_eq!(health.clock_skew_ms(later), 30);
    let stepped = ClockReading {
        wall: later.wall.plus_millis(60_000),
        ..later
    };
    assert_eq!(health.clock_skew_ms(stepped), 30 - 60_000);
}

#[test]
fn the_skew_is_taken_from_the_shortest_round_trip() {
    let mut health = NodeHealth::unknown();
    health.record_check(health_check(0, 900, 90, "a"), UNOBSERVED);
    health.record_check(health_check(1, 100, 30, "a"), UNOBSERVED);
    health.record_check(health_check(2, 700, -90, "a"), UNOBSERVED);
    assert_eq!(health.view("a", "h:1", NOW).clock_skew_ms, Some(30));
    health.record_check(health_check(3, 700, 60_000, "a"), UNOBSERVED);
    let skew = health.view("a", "h:1", NOW).clock_skew_ms;
    assert_eq!(
        skew,
        Some(60_000),
        "a step leaves nothing of what was before"
    );
}

#[test]
fn a_different_run_id_is_a_restart_and_a_lost_connection_is_not() {
    let mut health = NodeHealth::unknown();
    health.record_check(health_check(0, 100, 0, "a"), UNOBSERVED);
    health.record_failure(
        &NodeError::down(Reason::ConnectionRefused),
        NOW.plus_millis(5),
    );
    health.record_check(health_check(10, 100, 0, "a"), UNOBSERVED);
    assert_eq!(health.view("a", "h:1", NOW).restarted_at, None);
    health.record_check(health_check(20, 100, 0, "b"), UNOBSERVED);
    assert_eq!(
        health.view("a", "h:1", NOW).restarted_at,
        Some(NOW.plus_millis(20))
    );
}

#[test]
fn a_clock_step_or_a_different_role_or_replication_id_means_another_server() {
    let mut health = NodeHealth::unknown();
    let server_info = |replid: &str, role| ServerInfo {
        run_id: Some("a".to_owned()),
        replid: Some(replid.to_owned()),
        role: Some(role),
        ..ServerInfo::default()
    };
    let check = |skew_ms, server_info| HealthCheck {
        server_info,
        ..health_check(0, 400, skew_ms, "a")
    };
    let first = check(0, Some(server_info("x", ReplicationRole::Primary)));
    assert!(!health.is_other_server(&first));
    health.record_check(first, UNOBSERVED);
    for (health_check, expected) in [
        (check(200, None), false),
        (check(-30_000, None), true),
        (
            check(0, Some(server_info("x", ReplicationRole::Primary))),
            false,
        ),
        (
            check(0, Some(server_info("y", ReplicationRole::Primary))),
            true,
        ),
        (
            check(0, Some(server_info("x", ReplicationRole::Replica))),
            true,
        ),
        (check(0, Some(ServerInfo::default())), false),
    ] {
        assert_eq!(
            health.is_other_server(&health_check),
            expected,
            "{health_check:?}"
        );
    }
}

#[test]
fn the_last_clock_step_is_recorded_with_time_and_direction() {
    let mut health = NodeHealth::unknown();
    for (at_ms, skew_ms) in [(0, 0), (1_000, 100), (2_000, 30_100), (3_000, 30_000)] {
        health.record_check(health_check(at_ms, 400, skew_ms, "a"), UNOBSERVED);
    }
    let step = ClockStep {
        at: NOW.plus_millis(2_000),
        by_ms: 30_000,
    };
    assert_eq!(health.clock_step(), Some(step));
    health.record_check(health_check(4_000, 400, -20_000, "a"), UNOBSERVED);
    assert_eq!(health.clock_step().unwrap().by_ms, -50_000);
}

#[test]
fn since_is_the_start_of_the_state_not_of_the_latest_reason() {
    let mut health = NodeHealth::unknown();
    assert_eq!(health.view("a", "h:1", NOW).since, None);
    health.record_failure(&NodeError::timeout(Duration::from_millis(500)), NOW);
    health.record_failure(
        &NodeError::down(Reason::ConnectionRefused),
        NOW.plus_millis(100),
    );
    let view = health.view("a", "h:1", NOW);
    assert_eq!(
        (view.since, view.reason),
        (Some(NOW), Some(Reason::ConnectionRefused))
    );
}

/// Whether a node counts as having lost locks, given what it reported about persistence before and
/// after its restart.
fn loses_locks(before: Option<bool>, after: bool) -> bool {
    let mut health = NodeHealth::unknown();
    let check_of = |run_id: &str, keeps| {
        let mut health_check = health_check(0, 100, 0, run_id);
        health_check.server_info = health_check.server_info.map(|server_info| ServerInfo {
            fsyncs_every_write: keeps,
            ..server_info
        });
        health_check
    };
    if let Some(keeps) = before {
        health.record_check(check_of("a", keeps), UNOBSERVED);
    }
    health.record_check(check_of("b", after), UNOBSERVED);
    let rules = RestartPolicy {
        max_lease: Duration::from_mins(1),
        delayed_restart: true,
    };
    hazard(&[health.restart_state()], 0, rules, Instant::now()).is_some()
}

#[test]
fn a_node_kept_its_locks_only_if_it_reported_persistence_before_the_restart() {
    assert!(loses_locks(Some(false), false));
    assert!(loses_locks(Some(false), true), "it was set up meanwhile");
    assert!(loses_locks(Some(true), false), "it read something else");
    assert!(!loses_locks(Some(true), true));
    assert!(!loses_locks(None, false), "not seen to restart");
}

#[test]
fn persistence_after_a_data_loss_does_not_end_the_hazard() {
    let mut health = NodeHealth::unknown();
    for (run_id, keeps) in [("a", false), ("b", true), ("c", true)] {
        let mut health_check = health_check(0, 100, 0, run_id);
        health_check.server_info = health_check.server_info.map(|server_info| ServerInfo {
            fsyncs_every_write: keeps,
            ..server_info
        });
        health.record_check(health_check, UNOBSERVED);
    }
    let rules = RestartPolicy {
        max_lease: Duration::from_mins(1),
        delayed_restart: true,
    };
    assert!(hazard(&[health.restart_state()], 0, rules, Instant::now()).is_some());
}

fn record(address: &str, run_id: &str) -> NodeRecord {
    NodeRecord {
        group: "orders".to_owned(),
        node: "a".to_owned(),
        address: address.to_owned(),
        run_id: Some(run_id.to_owned()),
        fsyncs_every_write: false,
        hazard_until: None,
        ran_since: None,
        had_kept_everything: false,
        restarted_at: None,
        moved: None,
        cleared_run_id: None,
        is_member: true,
        recorded_at: NOW,
    }
}

/// For how many seconds a node with this address and run id counts as possibly missing locks, 10 s
/// after it started.
fn hazard_of(records: Vec<NodeRecord>, address: &str, run_id: &str) -> Option<u64> {
    let url = |text: &str| crate::server::config::RedisUrl::parse(text).unwrap();
    let urls = ["redis://h:1", "redis://h:2", "redis://h:9"].map(url);
    let group = crate::server::config::GroupConfig::new("orders", urls);
    let history =
        crate::server::stores::redis::nodes::restart_history::RestartHistory::from_records(records);
    let at = Instant::now();
    let longest = UNOBSERVED.max_lease;
    let mut health = NodeHealth::with_history(history.for_node(&group, address), longest, NOW, at);
    let mut health_check = health_check(0, 100, 0, run_id);
    health_check.at = at;
    health_check.server_info = health_check.server_info.map(|server_info| ServerInfo {
        uptime: Some(Duration::from_secs(10)),
        ..server_info
    });
    health.record_check(health_check, UNOBSERVED);
    let left = health
        .restart_state()
        .observed_hazard(at)
        .filter(|left| !left.is_zero());
    left.map(|left| left.as_secs())
}

#[test]
fn a_node_is_recognised_by_its_run_id_and_else_by_its_address() {
    let known = || vec![record("h:1", "x"), record("h:2", "y"), record("h:3", "z")];
    assert_eq!(hazard_of(known(), "h:1", "x"), None, "the same server");
    assert_eq!(
        hazard_of(known(), "h:1", "new"),
        Some(51),
        "it restarted while no console observed it"
    );
    assert_eq!(hazard_of(known(), "h:9", "z"), None, "at another address");
    assert_eq!(hazard_of(known(), "h:9", "new"), Some(60), "a new node");
    assert_eq!(hazard_of(Vec::new(), "h:9", "new"), None, "a new group");
}

#[test]
fn an_earlier_data_loss_is_carried_over_unless_the_hazard_of_that_run_was_cleared() {
    let lost = NodeRecord {
        hazard_until: Some(NOW.plus_millis(30_000)),
        ..record("h:1", "x")
    };
    assert_eq!(hazard_of(vec![lost.clone()], "h:1", "x"), Some(30));
    let cleared = |run_id: &str| NodeRecord {
        cleared_run_id: Some(run_id.to_owned()),
        ..lost.clone()
    };
    assert_eq!(hazard_of(vec![cleared("x")], "h:1", "x"), None);
    assert_eq!(hazard_of(vec![cleared("w")], "h:1", "x"), Some(30));
}
