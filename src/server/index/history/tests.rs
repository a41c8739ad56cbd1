//! Scenarios of holds with simulated times.

mod hold_stats;

use std::sync::Arc;

use super::*;
use crate::domain::testing::group;
use crate::domain::{
    AcquiredAtSource, Confidence, Format, Hold, Lease, Mode, Owner, RenewalSource, RenewalStats,
    ScanCoverage, StartSource, Verdict,
};

const START: Timestamp = Timestamp::from_millis(1_795_200_000_000);

fn id(key: &str) -> LockId {
    LockId {
        group: "orders".into(),
        key: key.into(),
    }
}

fn fingerprint(n: u64) -> Fingerprint {
    Fingerprint::parse(&format!("{n:016x}")).unwrap()
}

/// A group whose key space is scanned every second, and the observations of its locks.
struct Scenario {
    now: Timestamp,
    histories: Histories,
    locks: HashMap<String, Lock>,
    feed_complete_since: Option<Timestamp>,
    /// Milliseconds by which the clock was stepped since the last observation.
    clock_step_ms: i64,
}

impl Scenario {
    fn new() -> Self {
        Self::within(MAX_LOCKS, MAX_HOLDS)
    }

    fn within(locks: usize, holds: usize) -> Self {
        let bounds = Bounds {
            locks,
            holds,
            patterns: 3,
        };
        let mut scenario = Self {
            now: START,
            histories: Histories::with_bounds(START, bounds),
            locks: HashMap::new(),
            feed_complete_since: None,
            clock_step_ms: 0,
        };
        scenario.complete_scan_pass();
        scenario
    }

    fn after(&mut self, ms: i64) -> &mut Self {
        self.now = self.now.plus_millis(ms);
        self
    }

    /// Completes a scan pass that began a second ago.
    fn complete_scan_pass(&mut self) {
        let view = GroupView {
            coverage: ScanCoverage {
                patterns: vec!["lock:*".into()],
                pass_started_at: Some(self.now.plus_millis(-1_000)),
                ..ScanCoverage::default()
            },
            ..group("orders", 0)
        };
        self.histories.record_scan_pass(&view);
    }

    fn lock(&self, key: &str, owner: u64, lease_ms: i64) -> Lock {
        let owner = Owner {
            fingerprint: fingerprint(owner),
            label: Some(format!("api-{owner}")),
            format: Format::Plain,
            hold_count: None,
        };
        Lock {
            id: id(key),
            format: Format::Plain,
            confidence: Confidence::Sure,
            mode: Mode::Exclusive,
            verdict: Verdict::Held,
            flags: Vec::new(),
            owner: Some(owner.clone()),
            owners: vec![owner],
            lease: Lease::until(self.now.plus_millis(lease_ms), self.now),
            acquired_at: self.now,
            acquired_at_source: AcquiredAtSource::FirstSeen,
            observed_at: self.now,
            nodes: Vec::new(),
            renewals: RenewalStats::empty(RenewalSource::Poll),
            holders: Vec::new(),
            evidence: Vec::new(),
            contention_unavailable_reason: None,
        }
    }

    /// Observes this lock and publishes the change as the fold would.
    fn observe(&mut self, mut lock: Lock) {
        let key = lock.id.key.text().into_owned();
        let before = self.locks.get(&key).cloned();
        let shared = |lock: &Lock| Arc::new(lock.clone());
        let change = match &before {
            None => Change::Appeared {
                lock: shared(&lock),
            },
            Some(before) if before.owners[0] != lock.owners[0] => Change::OwnerChanged {
                lock: shared(&lock),
            },
            Some(before) => {
                lock.acquired_at = before.acquired_at;
                lock.renewals.count = before.renewals.count + 1;
                Change::Renewed {
                    lock: shared(&lock),
                }
            }
        };
        self.locks.insert(key, lock);
        self.publish(&change, before.as_ref());
    }

    fn held(&mut self, key: &str, owner: u64, lease_ms: i64) {
        self.observe(self.lock(key, owner, lease_ms));
    }

    fn gone(&mut self, key: &str, ending: GoneReason) {
        let before = self.locks.remove(key);
        let change = Change::Gone {
            id: id(key),
            end_reason: ending,
            at: self.now,
        };
        self.publish(&change, before.as_ref());
    }

    fn publish(&self, change: &Change, before: Option<&Lock>) {
        let context = ChangeContext {
            clock_step_ms: self.clock_step_ms,
            read_at: self.now,
            last_observed_at: before.map(|before| before.observed_at),
            feed_complete_since: self.feed_complete_since,
            had_notification: self.feed_complete_since.is_some(),
        };
        self.histories.record(change, context);
    }

    /// Holds the lock for so long, then releases it.
    fn hold_once(&mut self, key: &str, owner: u64, ms: i64) {
        self.complete_scan_pass();
        self.held(key, owner, 60_000);
        self.after(ms).gone(key, GoneReason::Released);
    }

    fn history(&self, key: &str) -> History {
        self.histories.history_of(&id(key), self.now)
    }

    /// Owner, start and end (milliseconds since the start of the scenario), reason of the end.
    fn holds(&self, key: &str) -> Vec<(u64, i64, Option<i64>, &'static str)> {
        let holds = self.history(key).holds.into_iter();
        let row = |hold: Hold| {
            let owner = u64::from_str_radix(hold.fingerprint.as_str(), 16).unwrap();
            let since = |at: Timestamp| at.millis_since(START);
            let ending = hold.end_reason.map_or("holds", HoldEndReason::slug);
            (
                owner,
                since(hold.started_at),
                hold.ended_at.map(since),
                ending,
            )
        };
        holds.map(row).collect()
    }
}

#[test]
fn a_clock_step_does_not_change_the_duration_of_a_hold() {
    for step in [-3_600_000, 3_600_000] {
        let mut scenario = Scenario::new();
        scenario.held("lock:a", 1, 60_000);
        scenario.clock_step_ms = step;
        scenario
            .after(20_000 + step)
            .gone("lock:a", GoneReason::Released);
        let holds = scenario.holds("lock:a");
        let (_, from, until, ending) = holds[0];
        let duration = until.map(|until| until - from);
        assert_eq!((duration, ending), (Some(20_000), "released"), "{step}");
    }
}

#[test]
fn a_hold_lasts_from_first_observation_to_release_and_counts_renewals() {
    let mut scenario = Scenario::new();
    scenario.after(500).held("lock:a", 1, 10_000);
    scenario.after(3_000).held("lock:a", 1, 10_000);
    assert_eq!(scenario.holds("lock:a"), [(1, 500, None, "holds")]);
    scenario.after(3_000).gone("lock:a", GoneReason::Released);
    assert_eq!(
        scenario.holds("lock:a"),
        [(1, 500, Some(6_500), "released")]
    );
    let hold = &scenario.history("lock:a").holds[0];
    assert_eq!(
        (hold.label.as_deref(), hold.renewal_count),
        (Some("api-1"), 1)
    );
    // A scan pass that began 1.5 s before did not find it.
    assert_eq!(
        (hold.started_at_source, hold.started_at_uncertainty_ms),
        (StartSource::Appeared, Some(1_500))
    );
}

#[test]
fn recent_renewals_start_with_the_lease_of_the_acquire() {
    let mut scenario = Scenario::new();
    scenario.held("lock:a", 1, 30_000);
    assert_eq!(scenario.history("lock:a").renewals, []);
    scenario.after(10_000).held("lock:a", 1, 30_000);
    scenario.after(10_000).held("lock:a", 1, 30_000);
    let since = |at: Timestamp| at.millis_since(START);
    let renewals = scenario.history("lock:a").renewals.into_iter();
    let renewals: Vec<_> = renewals
        .map(|renewal| (since(renewal.at), since(renewal.expires_at)))
        .collect();
    assert_eq!(renewals, [(0, 30_000), (10_000, 40_000), (20_000, 50_000)]);
    // The next owner's renewals begin with its own hold.
    scenario.after(1_000).held("lock:a", 2, 30_000);
    scenario.after(5_000).held("lock:a", 2, 30_000);
    let renewals = scenario.history("lock:a").renewals;
    assert_eq!(renewals.len(), 5);
    assert_eq!(since(renewals[3].at), 21_000);
}

#[test]
fn end_reasons_are_distinguished() {
    let mut scenario = Scenario::new();
    // Its lease expired, and the poll was slightly late.
    scenario.held("lock:a", 1, 5_000);
    scenario.after(5_300).gone("lock:a", GoneReason::Expired);
    // Another owner has it before its lease expired.
    scenario.after(700).held("lock:a", 2, 60_000);
    scenario.after(1_000).held("lock:a", 3, 2_000);
    // Its lease had expired when another owner acquired it.
    scenario.after(2_500).held("lock:a", 4, 60_000);
    // A long gap between observations.
    scenario.after(9_000).held("lock:a", 5, 60_000);
    scenario.after(1_000).gone("lock:a", GoneReason::Unknown);
    assert_eq!(
        scenario.holds("lock:a"),
        [
            (5, 18_500, Some(19_500), "unknown"),
            (4, 9_500, Some(18_500), "unknown"),
            (3, 7_000, Some(9_000), "expired"),
            (2, 6_000, Some(7_000), "taken-over"),
            (1, 0, Some(5_000), "expired"),
        ]
    );
    let gaps = scenario.history("lock:a").gaps_ms();
    assert_eq!(gaps, [None, None, Some(500), None, Some(1_000)]);
}

#[test]
fn a_force_release_may_be_recorded_before_or_after_it_is_observed() {
    let mut scenario = Scenario::new();
    scenario.held("lock:a", 1, 60_000);
    scenario.after(1_000);
    scenario
        .histories
        .record_force_release(&id("lock:a"), &fingerprint(1), scenario.now);
    scenario.after(100).gone("lock:a", GoneReason::Released);
    scenario.after(1_000).held("lock:a", 2, 60_000);
    scenario.after(1_000).gone("lock:a", GoneReason::Released);
    scenario
        .histories
        .record_force_release(&id("lock:a"), &fingerprint(2), scenario.now);
    // A force-release of another owner has no effect.
    scenario.after(1_000).held("lock:a", 3, 60_000);
    scenario
        .histories
        .record_force_release(&id("lock:a"), &fingerprint(9), scenario.now);
    scenario.after(1_000).gone("lock:a", GoneReason::Released);
    let endings: Vec<_> = scenario.holds("lock:a").iter().map(|hold| hold.3).collect();
    assert_eq!(endings, ["released", "forced", "forced"]);
}

#[test]
fn a_lock_set_again_after_a_force_release_ends_for_its_own_reason() {
    let mut scenario = Scenario::new();
    scenario.held("lock:a", 1, 60_000);
    scenario
        .histories
        .record_force_release(&id("lock:a"), &fingerprint(1), scenario.now);
    scenario.after(2_500).held("lock:a", 1, 60_000);
    scenario.after(1_000).gone("lock:a", GoneReason::Released);
    assert_eq!(scenario.holds("lock:a"), [(1, 0, Some(3_500), "released")]);
}

#[test]
fn an_owner_without_a_quorum_is_not_a_hold() {
    let mut scenario = Scenario::new();
    let remains = Lock {
        verdict: Verdict::Partial,
        owner: None,
        ..scenario.lock("lock:a", 1, 5_000)
    };
    scenario.observe(remains.clone());
    scenario.after(1_000).gone("lock:a", GoneReason::Released);
    assert_eq!(scenario.holds("lock:a"), []);
    // An acquire in progress counts from its first observation.
    scenario.observe(Lock {
        acquired_at: scenario.now,
        ..remains
    });
    scenario.after(20).held("lock:a", 1, 5_000);
    assert_eq!(scenario.holds("lock:a"), [(1, 1_000, None, "holds")]);
}

#[test]
fn readers_have_separate_holds() {
    let mut scenario = Scenario::new();
    let shared = |scenario: &Scenario, owners: &[u64]| {
        let locks = owners.iter().map(|n| scenario.lock("lock:a", *n, 60_000));
        Lock {
            mode: Mode::Shared,
            owners: locks.flat_map(|lock| lock.owners).collect(),
            ..scenario.lock("lock:a", owners[0], 60_000)
        }
    };
    scenario.observe(shared(&scenario, &[1]));
    scenario.after(1_000);
    scenario.observe(shared(&scenario, &[1, 2]));
    scenario.after(1_000);
    scenario.observe(shared(&scenario, &[2]));
    assert_eq!(
        scenario.holds("lock:a"),
        [(2, 1_000, None, "holds"), (1, 0, Some(2_000), "released")]
    );
}

#[test]
fn an_unknown_start_is_reported_as_unknown() {
    let mut scenario = Scenario::new();
    // Its key does not match a scanned pattern, so the start is unknown.
    scenario.held("other", 1, 60_000);
    assert_eq!(
        scenario.history("other").holds[0].started_at_source,
        StartSource::FirstSeen
    );
    // The last scan pass began too long ago.
    scenario.after(60_000).held("lock:a", 1, 60_000);
    let hold = scenario.history("lock:a").holds.remove(0);
    assert_eq!(
        (hold.started_at_source, hold.started_at_uncertainty_ms),
        (StartSource::FirstSeen, None)
    );
    // The value contains the start.
    let claimed = Lock {
        acquired_at: START,
        acquired_at_source: AcquiredAtSource::Claimed,
        ..scenario.lock("lock:b", 1, 60_000)
    };
    scenario.observe(claimed);
    let hold = scenario.history("lock:b").holds.remove(0);
    assert_eq!(
        (hold.started_at_source, hold.started_at),
        (StartSource::Claimed, START)
    );
}

#[test]
fn a_notified_hold_has_just_begun_unless_it_may_have_existed_before() {
    let mut scenario = Scenario::new();
    scenario.feed_complete_since = Some(scenario.now.plus_millis(-5_000));
    scenario.after(30_000).held("lock:a", 1, 60_000);
    // A long gap between polls, without a missed notification.
    scenario.after(30_000).held("lock:a", 2, 60_000);
    for hold in scenario.history("lock:a").holds {
        assert_eq!(
            (hold.started_at_source, hold.started_at_uncertainty_ms),
            (StartSource::Appeared, Some(0))
        );
        assert!(
            hold.end_reason
                .is_none_or(|ending| ending == HoldEndReason::TakenOver)
        );
    }
    // Notifications began after the last scan pass.
    scenario.feed_complete_since = Some(scenario.now);
    scenario.held("lock:b", 1, 60_000);
    assert_eq!(
        scenario.history("lock:b").holds[0].started_at_source,
        StartSource::FirstSeen
    );
}
