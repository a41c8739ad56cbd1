//! Duration statistics and retention.

use super::*;

fn overdue_after_ms(scenario: &Scenario, id: &LockId) -> Option<u64> {
    let expectation = scenario.histories.expectation(id);
    expectation.map(|expectation| expectation.overdue_after_ms)
}

#[test]
fn statistics_use_only_holds_with_observed_start_and_end() {
    let mut scenario = Scenario::new();
    for ms in [4_000, 5_000, 6_000, 4_000] {
        scenario.hold_once("lock:report", 1, ms);
    }
    let overdue = |scenario: &mut Scenario| {
        scenario.complete_scan_pass();
        scenario.held("lock:report", 2, 600_000);
        overdue_after_ms(scenario, &id("lock:report"))
    };
    assert_eq!(overdue(&mut scenario), None, "four are not enough");
    // Holds that were cut short or have an unknown start are not representative.
    scenario.after(90_000);
    scenario
        .histories
        .record_force_release(&id("lock:report"), &fingerprint(2), scenario.now);
    scenario.gone("lock:report", GoneReason::Released);
    scenario.after(60_000).held("lock:report", 3, 600_000);
    scenario
        .after(90_000)
        .gone("lock:report", GoneReason::Unknown);
    let stats = scenario.history("lock:report").hold_stats.unwrap();
    assert_eq!((stats.count, stats.max_ms), (4, 6_000));

    scenario.hold_once("lock:report", 1, 5_000);
    assert_eq!(overdue(&mut scenario), Some(18_000), "three times the p90");
    scenario.gone("lock:report", GoneReason::Released);
    let stats = scenario.history("lock:report").hold_stats.unwrap();
    assert_eq!(
        (stats.p50_ms, stats.p90_ms, stats.p99_ms, stats.scope),
        (4_000, 6_000, 6_000, StatsScope::Lock)
    );
}

#[test]
fn a_lock_with_too_few_holds_uses_the_statistics_of_its_pattern() {
    let mut scenario = Scenario::new();
    for n in 0..5 {
        scenario.hold_once(&format!("lock:invoice:{n}"), 1, 1_000);
    }
    scenario.complete_scan_pass();
    scenario.held("lock:invoice:77", 2, 600_000);
    let after = overdue_after_ms(&scenario, &id("lock:invoice:77"));
    assert_eq!(after, Some(11_000), "ten seconds beyond the p90");
    let stats = scenario.history("lock:invoice:77").hold_stats.unwrap();
    assert_eq!((stats.count, stats.scope), (5, StatsScope::Pattern));
    assert_eq!(stats.pattern.as_deref(), Some("lock:invoice:*"));
    let other = overdue_after_ms(&scenario, &id("lock:payout:77"));
    assert_eq!(other, None);
}

#[test]
fn holds_are_kept_up_to_a_number_and_an_age() {
    let mut scenario = Scenario::new();
    for _ in 0..MAX_HOLDS_PER_LOCK + 20 {
        scenario.hold_once("lock:a", 1, 10);
    }
    let history = scenario.history("lock:a");
    assert_eq!(history.holds.len(), MAX_HOLDS_PER_LOCK);
    assert_eq!(history.retention.since, START);
    let day = i64::try_from(MAX_AGE.as_millis()).unwrap();
    scenario.after(day + 1).held("lock:b", 1, 1_000);
    assert_eq!(scenario.history("lock:a").holds, []);
    let state = scenario.histories.state();
    assert_eq!((state.locks, state.holds, state.labels.len()), (1, 0, 1));
}

#[test]
fn locks_that_changed_longest_ago_are_evicted_first() {
    let mut scenario = Scenario::within(50, 1_000);
    scenario.held("lock:long", 1, 600_000);
    for n in 0..100 {
        scenario.hold_once(&format!("lock:x{n}"), n, 10);
    }
    assert!(scenario.histories.state().locks <= 50);
    assert_eq!(scenario.holds("lock:long").len(), 1, "a held lock is kept");
    assert_eq!(scenario.holds("lock:x0"), []);
    assert_eq!(scenario.holds("lock:x99").len(), 1);
    assert!(scenario.history("lock:long").retention.since > START);

    for n in 0..10 {
        for _ in 0..200 {
            scenario.hold_once(&format!("lock:y{n}"), n, 10);
        }
    }
    let state = scenario.histories.state();
    assert!(state.holds <= 1_000, "{}", state.holds);
    let counted: usize = state.groups["orders"]
        .locks
        .values()
        .map(LockHistory::len)
        .sum();
    assert_eq!(state.holds, counted);
    assert!(state.groups["orders"].patterns.len() <= 3);
}

#[test]
fn an_evicted_lock_that_is_still_held_has_an_unknown_start() {
    let mut scenario = Scenario::new();
    scenario.held("lock:a", 1, 60_000);
    scenario.histories.state().groups.clear();
    scenario.after(3_000).held("lock:a", 1, 60_000);
    let hold = scenario.history("lock:a").holds.remove(0);
    assert_eq!(
        (hold.started_at, hold.started_at_source),
        (START, StartSource::FirstSeen)
    );
}

/// Measured on x86-64 Linux: 100,000 locks with one hold and one owner each, then a million more
/// holds.
#[test]
#[ignore = "measures memory of the whole process; run it alone, with --nocapture"]
fn memory_per_lock_and_hold() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kb = line.and_then(|line| line.split_whitespace().nth(1));
        kb.unwrap().parse::<usize>().unwrap() * 1024
    };
    eprintln!("an ended hold: {} bytes", hold::BYTES_PER_HOLD);
    const LOCKS: usize = 100_000;
    let mut scenario = Scenario::new();
    scenario.complete_scan_pass();
    let template = scenario.lock("lock:x", 1, 60_000);
    let lock = |n: usize| Lock {
        id: id(&format!("lock:invoice:{n:08}")),
        ..template.clone()
    };
    let see = |scenario: &Scenario, n: usize| {
        let lock = std::sync::Arc::new(lock(n));
        scenario.publish(&Change::Appeared { lock }, None);
    };
    let go = |scenario: &Scenario, n: usize| {
        let gone = Change::Gone {
            id: lock(n).id,
            end_reason: GoneReason::Released,
            at: scenario.now,
        };
        scenario.publish(&gone, None);
    };
    let before = resident();
    (0..LOCKS).for_each(|n| see(&scenario, n));
    let held = resident();
    eprintln!("a lock that is held: {} bytes", (held - before) / LOCKS);
    (0..LOCKS).for_each(|n| go(&scenario, n));
    let once = resident();
    eprintln!("a lock with one hold: {} bytes", (once - before) / LOCKS);
    for _ in 0..3 {
        (0..LOCKS).for_each(|n| see(&scenario, n));
        (0..LOCKS).for_each(|n| go(&scenario, n));
    }
    let full = resident();
    eprintln!("a lock with four holds: {} bytes", (full - before) / LOCKS);
}
