//! Stories of one node: what its checks brought, and how it is seen.

use super::super::restart::{Outstanding, Rules, hazard};
use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);
const UNOBSERVED: Outstanding = Outstanding {
    longest_lease: Duration::from_mins(1),
    left: Duration::from_mins(1),
};

fn vitals(at_ms: i64, took_us: u64, skew_ms: i64, run_id: &str) -> Vitals {
    let facts = Facts {
        run_id: Some(run_id.to_owned()),
        ..Facts::default()
    };
    Vitals {
        heard_at: NOW.plus_millis(at_ms),
        at: Instant::now(),
        steady: Steady::default().plus(Duration::from_millis(at_ms.unsigned_abs())),
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
fn a_step_of_our_clock_changes_by_how_much_a_node_is_ahead_before_it_is_asked_again() {
    let mut health = Health::unknown();
    health.heard(vitals(0, 400, 30, "a"), UNOBSERVED);
    let now = Moment {
        wall: NOW,
        steady: Steady::default(),
    };
    let later = now.plus(Duration::from_millis(700));
    assert_eq!(health.ahead_ms(later), 30);
    let stepped = Moment {
        wall: later.wall.plus_millis(60_000),
        ..later
    };
    assert_eq!(health.ahead_ms(stepped), 30 - 60_000);
}

#[test]
fn the_skew_is_the_one_of_the_best_round_trip() {
    let mut health = Health::unknown();
    health.heard(vitals(0, 900, 90, "a"), UNOBSERVED);
    health.heard(vitals(1, 100, 30, "a"), UNOBSERVED);
    health.heard(vitals(2, 700, -90, "a"), UNOBSERVED);
    assert_eq!(health.view("a", "h:1", NOW).clock_skew_ms, Some(30));
    health.heard(vitals(3, 700, 60_000, "a"), UNOBSERVED);
    let skew = health.view("a", "h:1", NOW).clock_skew_ms;
    assert_eq!(
        skew,
        Some(60_000),
        "a step leaves nothing of what was before"
    );
}

#[test]
fn another_run_id_is_a_restart_and_a_lost_connection_is_not() {
    let mut health = Health::unknown();
    health.heard(vitals(0, 100, 0, "a"), UNOBSERVED);
    health.lost(&Trouble::down("connection refused"), NOW.plus_millis(5));
    health.heard(vitals(10, 100, 0, "a"), UNOBSERVED);
    assert_eq!(health.view("a", "h:1", NOW).restarted_at, None);
    health.heard(vitals(20, 100, 0, "b"), UNOBSERVED);
    assert_eq!(
        health.view("a", "h:1", NOW).restarted_at,
        Some(NOW.plus_millis(20))
    );
}

#[test]
fn a_step_of_the_clock_another_role_or_another_history_make_it_another_server() {
    let mut health = Health::unknown();
    let facts = |replid: &str, role| Facts {
        run_id: Some("a".to_owned()),
        replid: Some(replid.to_owned()),
        role: Some(role),
        ..Facts::default()
    };
    let check = |skew_ms, facts| Vitals {
        facts,
        ..vitals(0, 400, skew_ms, "a")
    };
    let first = check(0, Some(facts("x", Role::Primary)));
    assert!(!health.is_another(&first));
    health.heard(first, UNOBSERVED);
    for (vitals, expected) in [
        (check(200, None), false),
        (check(-30_000, None), true),
        (check(0, Some(facts("x", Role::Primary))), false),
        (check(0, Some(facts("y", Role::Primary))), true),
        (check(0, Some(facts("x", Role::Replica))), true),
        (check(0, Some(Facts::default())), false),
    ] {
        assert_eq!(health.is_another(&vitals), expected, "{vitals:?}");
    }
}

#[test]
fn the_last_step_of_a_clock_is_remembered_with_its_moment_and_its_way() {
    let mut health = Health::unknown();
    for (at_ms, skew_ms) in [(0, 0), (1_000, 100), (2_000, 30_100), (3_000, 30_000)] {
        health.heard(vitals(at_ms, 400, skew_ms, "a"), UNOBSERVED);
    }
    let step = ClockStep {
        at: NOW.plus_millis(2_000),
        by_ms: 30_000,
    };
    assert_eq!(health.clock_step(), Some(step));
    health.heard(vitals(4_000, 400, -20_000, "a"), UNOBSERVED);
    assert_eq!(health.clock_step().unwrap().by_ms, -50_000);
}

#[test]
fn since_tells_when_the_state_began_not_the_latest_reason() {
    let mut health = Health::unknown();
    assert_eq!(health.view("a", "h:1", NOW).since, None);
    health.lost(&Trouble::down("no answer within 500 ms"), NOW);
    health.lost(&Trouble::down("connection refused"), NOW.plus_millis(100));
    let view = health.view("a", "h:1", NOW);
    assert_eq!(
        (view.since, view.reason.as_deref()),
        (Some(NOW), Some("connection refused"))
    );
}

/// Whether a node forgets that told before its restart, and tells after it, whether it keeps every write.
fn forgets(before: Option<bool>, after: bool) -> bool {
    let mut health = Health::unknown();
    let told = |run_id: &str, keeps| {
        let mut vitals = vitals(0, 100, 0, run_id);
        vitals.facts = vitals.facts.map(|facts| Facts {
            keeps_every_write: keeps,
            ..facts
        });
        vitals
    };
    if let Some(keeps) = before {
        health.heard(told("a", keeps), UNOBSERVED);
    }
    health.heard(told("b", after), UNOBSERVED);
    let rules = Rules {
        longest_lease: Duration::from_mins(1),
        delayed_restart: true,
    };
    hazard(&[health.past()], 0, rules, Instant::now()).is_some()
}

#[test]
fn a_node_has_kept_its_locks_only_if_it_said_before_that_it_would() {
    assert!(forgets(Some(false), false));
    assert!(forgets(Some(false), true), "it was set up meanwhile");
    assert!(forgets(Some(true), false), "it read something else");
    assert!(!forgets(Some(true), true));
    assert!(!forgets(None, false), "not seen to restart");
}

#[test]
fn that_it_keeps_every_write_now_does_not_bring_back_what_it_forgot() {
    let mut health = Health::unknown();
    for (run_id, keeps) in [("a", false), ("b", true), ("c", true)] {
        let mut vitals = vitals(0, 100, 0, run_id);
        vitals.facts = vitals.facts.map(|facts| Facts {
            keeps_every_write: keeps,
            ..facts
        });
        health.heard(vitals, UNOBSERVED);
    }
    let rules = Rules {
        longest_lease: Duration::from_mins(1),
        delayed_restart: true,
    };
    assert!(hazard(&[health.past()], 0, rules, Instant::now()).is_some());
}

fn record(address: &str, run_id: &str) -> NodeRecord {
    NodeRecord {
        group: "orders".to_owned(),
        node: "a".to_owned(),
        address: address.to_owned(),
        run_id: Some(run_id.to_owned()),
        keeps_every_write: false,
        hazard_until: None,
        ran_since: None,
        had_kept_everything: false,
        restarted_at: None,
        moved: None,
        vouched_run_id: None,
        is_member: true,
        recorded_at: NOW,
    }
}

/// For how many seconds a node may lack locks that has this address and answers with this run id, 10 s after it started.
fn hazard_of(records: Vec<NodeRecord>, address: &str, run_id: &str) -> Option<u64> {
    let url = |text: &str| crate::server::config::RedisUrl::parse(text).unwrap();
    let urls = ["redis://h:1", "redis://h:2", "redis://h:9"].map(url);
    let group = crate::server::config::GroupConfig::new("orders", urls);
    let history = crate::server::nodes::history::RestartHistory::of(records);
    let at = Instant::now();
    let longest = UNOBSERVED.longest_lease;
    let mut health = Health::remembering(history.of_node(&group, address), longest, NOW, at);
    let mut vitals = vitals(0, 100, 0, run_id);
    vitals.at = at;
    vitals.facts = vitals.facts.map(|facts| Facts {
        uptime: Some(Duration::from_secs(10)),
        ..facts
    });
    health.heard(vitals, UNOBSERVED);
    let left = health.past().seen(at).filter(|left| !left.is_zero());
    left.map(|left| left.as_secs())
}

#[test]
fn a_node_is_recognised_by_its_run_id_and_else_by_its_address() {
    let known = || vec![record("h:1", "x"), record("h:2", "y"), record("h:3", "z")];
    assert_eq!(hazard_of(known(), "h:1", "x"), None, "the same server");
    assert_eq!(
        hazard_of(known(), "h:1", "new"),
        Some(51),
        "it restarted when nobody watched"
    );
    assert_eq!(hazard_of(known(), "h:9", "z"), None, "at another address");
    assert_eq!(hazard_of(known(), "h:9", "new"), Some(60), "a new node");
    assert_eq!(hazard_of(Vec::new(), "h:9", "new"), None, "a new group");
}

#[test]
fn what_was_lost_before_is_carried_over_unless_an_operator_vouched_for_that_run() {
    let lost = NodeRecord {
        hazard_until: Some(NOW.plus_millis(30_000)),
        ..record("h:1", "x")
    };
    assert_eq!(hazard_of(vec![lost.clone()], "h:1", "x"), Some(30));
    let vouched = |run_id: &str| NodeRecord {
        vouched_run_id: Some(run_id.to_owned()),
        ..lost.clone()
    };
    assert_eq!(hazard_of(vec![vouched("x")], "h:1", "x"), None);
    assert_eq!(hazard_of(vec![vouched("w")], "h:1", "x"), Some(30));
}
