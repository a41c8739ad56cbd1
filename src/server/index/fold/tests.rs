//! Scenarios of one lock: the replies of the nodes and the resulting state.

use super::super::merge::{FeedActivity, FormatInfo};
use super::*;
use crate::domain::reason::Reason;
use crate::domain::{Confidence, Fingerprint, GoneReason};
use crate::server::clock::Clock;

mod feed;

const MAX_HOLD: Duration = Duration::from_secs(3_600);
const START: Timestamp = Timestamp::from_millis(1_000_000);

fn id() -> LockId {
    LockId {
        group: "orders".into(),
        key: "lock:a".into(),
    }
}

fn owner(n: u8) -> Owner {
    let fingerprint = Fingerprint::parse(&format!("{n:016x}")).unwrap();
    Owner {
        fingerprint,
        label: None,
        format: Format::Plain,
        hold_count: None,
    }
}

/// One lock on three nodes, and a clock.
struct Scenario {
    clock: Clock,
    now: Timestamp,
    lock: Option<Lock>,
    tracked: Option<TrackedLock>,
    feed: FeedActivity,
    /// When the nodes are read, if that is not now.
    read_at: Option<ClockReading>,
    /// How far from `read_at` the nodes may have been read.
    read_uncertainty: Duration,
    /// The leases that the value gives to each owner, for the next observation.
    leases_by_owner: holders::LeasesByOwner,
    mode: Mode,
    format: Format,
    /// The time in the lock itself.
    claimed_at: Option<Timestamp>,
    confidence: Confidence,
    expectation: Option<HoldExpectation>,
    /// How often owner 1 renewed through this console.
    local_renewals: u32,
}

impl Scenario {
    fn new() -> Self {
        Self {
            clock: Clock::manual(START),
            now: START,
            lock: None,
            tracked: None,
            feed: FeedActivity::default(),
            read_at: None,
            read_uncertainty: Duration::ZERO,
            leases_by_owner: holders::LeasesByOwner::new(),
            mode: Mode::Exclusive,
            format: Format::Plain,
            claimed_at: None,
            confidence: Confidence::Sure,
            expectation: None,
            local_renewals: 0,
        }
    }

    /// The same with notifications for every change.
    fn with_feed() -> Self {
        let mut scenario = Self::new();
        scenario.feed.complete_since = Some(START);
        scenario
    }

    /// Sets the number of writes notified before the next observation.
    fn notified_writes(&mut self, writes: u32) -> &mut Self {
        self.feed.writes = writes;
        self
    }

    /// When the lock has to be polled again, in milliseconds since the start.
    fn next_check_ms(&self) -> Option<i64> {
        let tracked = self.tracked.as_ref().unwrap();
        let due = renewal_tracker::next_check_at(
            self.lock(),
            tracked.lead.full_lease_ms,
            self.expectation,
            MAX_HOLD,
            self.now,
        );
        due.map(|at| at.millis_since(START))
    }

    fn after(&mut self, ms: i64) -> &mut Self {
        self.clock.advance(Duration::from_millis(ms.unsigned_abs()));
        self.now = self.clock.now();
        self
    }

    /// Steps the wall clock.
    fn step_clock(&mut self, ms: i64) -> &mut Self {
        self.clock.step_wall_clock(ms);
        self.now = self.clock.now();
        self
    }

    /// All three nodes show this owner with a lease until `until_ms`.
    fn held(&mut self, n: u8, until_ms: Option<i64>) -> Option<Change> {
        let lease = until_ms.map_or(Lease::Never, |ms| {
            Lease::until(START.plus_millis(ms), self.now)
        });
        self.observe([Some(n); 3].map(|n| n.map(|n| Observation::held_by(owner(n), lease))))
    }

    /// The same for a shared lock.
    fn shared(&mut self, owners: &[u8], until_ms: i64) -> Option<Change> {
        let answer = Observation::Holds {
            owner: owner(owners[0]),
            lease: Lease::until(START.plus_millis(until_ms), self.now),
            others: owners[1..].iter().copied().map(owner).collect(),
        };
        self.mode = Mode::Shared;
        self.observe([(); 3].map(|()| Some(answer.clone())))
    }

    /// The same for a semaphore whose holders have individual deadlines.
    fn permits(&mut self, holders: &[(u8, i64)]) -> Option<Change> {
        let lease = |ms: i64| Lease::until(START.plus_millis(ms), self.now);
        self.leases_by_owner = holders
            .iter()
            .map(|(n, ms)| (owner(*n).fingerprint, vec![lease(*ms); 3]))
            .collect();
        let owners: Vec<u8> = holders.iter().map(|(n, _)| *n).collect();
        let last = holders.iter().map(|(_, ms)| *ms).max().unwrap();
        self.shared(&owners, last)
    }

    fn absent(&mut self) -> Option<Change> {
        self.observe([
            Some(Observation::Absent),
            Some(Observation::Absent),
            Some(Observation::Absent),
        ])
    }

    /// Observes the replies of three nodes; `None` for an unreachable one.
    fn observe(&mut self, answers: [Option<Observation>; 3]) -> Option<Change> {
        let answers = answers.map(|answer| {
            answer.unwrap_or(Observation::Unreachable {
                reason: Reason::ConnectionRefused,
            })
        });
        let nodes: Vec<NodeObservation> = answers
            .into_iter()
            .zip(["a", "b", "c"])
            .map(|(answer, node)| NodeObservation {
                node: node.into(),
                observation: answer,
            })
            .collect();
        let has_owner = nodes.iter().any(|node| node.observation.owner().is_some());
        let format_info = has_owner.then_some(FormatInfo {
            format: self.format,
            confidence: self.confidence,
            mode: self.mode,
            claimed_at: self.claimed_at,
            may_belong_to_registry: false,
        });
        let observation = KeyObservation {
            restart_hazard: false,
            contention_unavailable_reason: None,
            evidence: Vec::new(),
            read_uncertainty: self.read_uncertainty,
            leases_by_owner: std::mem::take(&mut self.leases_by_owner),
            feed: self.feed,
            key: "lock:a".into(),
            nodes,
            format_info,
            expectation: self.expectation,
            local_renewals: (self.local_renewals > 0)
                .then(|| (owner(1).fingerprint, self.local_renewals)),
        };
        let change = match fold(
            id(),
            self.lock.as_ref(),
            self.tracked.as_ref(),
            self.read_at.take().unwrap_or_else(|| self.clock.reading()),
            MAX_HOLD,
            observation,
        ) {
            Transition::Ignore => None,
            Transition::Remove(change) => {
                (self.lock, self.tracked) = (None, None);
                return Some(change);
            }
            Transition::ShowOnly(change) => Some(change),
            Transition::Store(tracked, change) => {
                self.tracked = Some(tracked);
                Some(change)
            }
            Transition::Touch(tracked, lock) => {
                (self.tracked, self.lock) = (Some(tracked), Some(Lock::clone(&lock)));
                None
            }
        };
        if let Some(
            Change::Appeared { lock }
            | Change::Renewed { lock }
            | Change::OwnerChanged { lock }
            | Change::Updated { lock },
        ) = &change
        {
            self.lock = Some((**lock).clone());
        }
        change
    }

    fn lock(&self) -> &Lock {
        self.lock.as_ref().unwrap()
    }
}

#[test]
fn an_unchanged_lock_only_updates_its_observation_time() {
    let mut scenario = Scenario::new();
    assert!(matches!(
        scenario.held(1, Some(30_000)),
        Some(Change::Appeared { .. })
    ));
    assert_eq!(
        scenario.after(1_000).held(1, Some(30_020)),
        None,
        "20 ms are jitter"
    );
    assert_eq!(scenario.lock().observed_at, START.plus_millis(1_000));
    assert_eq!(
        scenario.lock().lease.expires_at(),
        Some(START.plus_millis(30_000)),
        "the deadline is stable"
    );
    assert_eq!(scenario.lock().acquired_at, START);
}

#[test]
fn a_possible_lock_that_is_renewed_twice_is_likely_one() {
    let mut scenario = Scenario::new();
    scenario.confidence = Confidence::Possible;
    let mut confidences = Vec::new();
    for n in 0..4 {
        scenario.after(10_000).held(1, Some(30_000 + n * 10_000));
        confidences.push(scenario.lock().confidence);
    }
    assert_eq!(
        confidences,
        [
            Confidence::Possible,
            Confidence::Possible,
            Confidence::Likely,
            Confidence::Likely
        ]
    );
}

#[test]
fn renewals_are_counted_with_their_interval() {
    let mut scenario = Scenario::new();
    scenario.held(1, Some(30_000));
    for n in 1..=4 {
        let change = scenario.after(10_000).held(1, Some(30_000 + n * 10_000));
        assert!(
            matches!(change, Some(Change::Renewed { .. })),
            "{n}: {change:?}"
        );
    }
    let renewals = &scenario.lock().renewals;
    assert_eq!(
        (renewals.count, renewals.interval_ms, renewals.per_minute),
        (4, Some(10_000), Some(6.0))
    );
}

#[test]
fn a_deadline_that_moved_by_less_than_slow_round_trips_can_explain_is_not_a_renewal() {
    for feed_reports in [false, true] {
        let mut scenario = Scenario::with_feed();
        scenario.held(1, Some(30_000));
        // Round trips of 800 ms: both deadlines may be wrong by 400 ms.
        scenario.read_uncertainty = Duration::from_millis(400);
        scenario.after(1_000).held(1, Some(30_350));
        scenario.feed.writes = u32::from(feed_reports);
        scenario.after(2_000).held(1, Some(29_700));
        scenario.after(1_000).held(1, Some(30_390));
        assert_eq!(scenario.lock().renewals.count, 0);
        // One that moved further was renewed.
        scenario.after(10_000).held(1, Some(41_000));
        assert_eq!(scenario.lock().renewals.count, 1);
    }
}

#[test]
fn a_deadline_read_in_a_short_round_trip_replaces_one_read_in_a_long_one() {
    let mut scenario = Scenario::new();
    scenario.read_uncertainty = Duration::from_millis(400);
    scenario.held(1, Some(30_350));
    scenario.read_uncertainty = Duration::ZERO;
    scenario.after(1_000).held(1, Some(30_000));
    // Renewed by 200 ms: less than the first deadline was wrong by.
    scenario.after(200).held(1, Some(30_200));
    assert_eq!(scenario.lock().renewals.count, 1);
}

#[test]
fn a_lock_with_a_late_renewal_is_at_risk() {
    let mut scenario = Scenario::new();
    scenario.held(1, Some(30_000));
    scenario.after(10_000).held(1, Some(40_000));
    scenario.after(10_000).held(1, Some(50_000));
    assert_eq!(scenario.after(11_000).held(1, Some(50_000)), None);
    scenario.after(6_000).held(1, Some(50_000));
    assert!(scenario.lock().has_flag(Flag::AtRisk));
    scenario.after(1_000).held(1, Some(80_000));
    assert!(
        !scenario.lock().has_flag(Flag::AtRisk),
        "the late renewal has arrived"
    );
}

/// An expectation with this median.
fn median(ms: u64) -> Option<HoldExpectation> {
    Some(HoldExpectation {
        median_ms: ms,
        overdue_after_ms: 1_000_000,
    })
}

#[test]
fn a_lock_without_renewals_is_at_risk_only_if_holds_usually_exceed_its_lease() {
    for (expected, is_at_risk) in [
        (None, false),
        (median(4_000), false),
        (median(10_200), false),
        (median(25_000), true),
    ] {
        let mut scenario = Scenario::new();
        scenario.expectation = expected;
        scenario.held(1, Some(10_000));
        scenario.after(7_900).held(1, Some(10_000));
        assert!(!scenario.lock().has_flag(Flag::AtRisk), "{expected:?}");
        scenario.after(200).held(1, Some(10_000));
        assert_eq!(
            scenario.lock().has_flag(Flag::AtRisk),
            is_at_risk,
            "{expected:?}"
        );
    }
}

#[test]
fn a_lock_that_renewed_once_is_at_risk_when_the_next_renewal_is_late() {
    let mut scenario = Scenario::new();
    scenario.held(1, Some(10_000));
    scenario.after(3_000).held(1, Some(13_000));
    assert_eq!(scenario.next_check_ms(), Some(11_001));
    scenario.after(7_900).held(1, Some(13_000));
    assert!(!scenario.lock().has_flag(Flag::AtRisk));
    scenario.after(101).held(1, Some(13_000));
    assert!(
        scenario.lock().has_flag(Flag::AtRisk),
        "a fifth of its lease is left"
    );

    let mut scenario = Scenario::new();
    scenario.format = Format::Redisson;
    scenario.held(1, Some(30_000));
    scenario.after(10_000).held(1, Some(40_000));
    assert_eq!(
        scenario.next_check_ms(),
        Some(26_001),
        "by the interval of the watchdog"
    );
    scenario.after(16_001).held(1, Some(40_000));
    assert!(scenario.lock().has_flag(Flag::AtRisk));
}

#[test]
fn gone_before_the_deadline_is_released_and_at_the_deadline_expired() {
    let mut scenario = Scenario::new();
    scenario.held(1, Some(10_000));
    assert!(matches!(
        scenario.after(1_000).absent(),
        Some(Change::Gone {
            end_reason: GoneReason::Released,
            ..
        })
    ));
    let mut scenario = Scenario::new();
    scenario.held(1, Some(1_000));
    assert!(matches!(
        scenario.after(900).absent(),
        Some(Change::Gone {
            end_reason: GoneReason::Expired,
            ..
        })
    ));
}

#[test]
fn a_lock_that_ended_while_nodes_were_unreachable_has_an_unknown_end_reason() {
    let mut scenario = Scenario::new();
    scenario.held(1, None);
    scenario.after(1_000).observe([None, None, None]);
    assert_eq!(
        (scenario.lock().verdict, &scenario.lock().owner),
        (Verdict::Unknown, &None)
    );
    assert_eq!(
        scenario.lock().owners,
        [owner(1)],
        "the last known owner is kept"
    );
    assert_eq!(
        scenario.lock().observed_at,
        START,
        "unreachable nodes are not an observation"
    );
    assert_eq!(scenario.after(1_000).observe([None, None, None]), None);
    assert!(matches!(
        scenario.after(10_000).absent(),
        Some(Change::Gone {
            end_reason: GoneReason::Unknown,
            ..
        })
    ));
}

#[test]
fn a_new_owner_resets_renewals_and_start() {
    let mut scenario = Scenario::new();
    scenario.held(1, Some(30_000));
    scenario.after(10_000).held(1, Some(40_000));
    assert!(matches!(
        scenario.after(1_000).held(2, Some(60_000)),
        Some(Change::OwnerChanged { .. })
    ));
    assert_eq!(
        (scenario.lock().renewals.count, scenario.lock().acquired_at),
        (0, START.plus_millis(11_000))
    );
}

#[test]
fn an_older_reading_is_ignored() {
    let mut scenario = Scenario::new();
    scenario.held(1, Some(30_000));
    let earlier = scenario.clock.reading();
    scenario.after(1_000).held(2, Some(30_000));
    scenario.read_at = Some(earlier);
    assert_eq!(scenario.after(500).held(1, Some(30_000)), None);
    assert_eq!(scenario.lock().owner, Some(owner(2)));
}

#[test]
fn a_newer_reading_counts_although_the_wall_clock_was_set_back() {
    let mut scenario = Scenario::new();
    scenario.held(1, Some(30_000));
    scenario.after(1_000).step_clock(-60_000);
    assert!(matches!(
        scenario.held(2, Some(-30_000)),
        Some(Change::OwnerChanged { .. })
    ));
    scenario.after(1_000).step_clock(-60_000);
    assert!(matches!(
        scenario.absent(),
        Some(Change::Gone {
            end_reason: GoneReason::Released,
            ..
        })
    ));
}

#[test]
fn a_clock_step_is_not_a_renewal_and_changes_neither_ages_nor_flags() {
    for step in [400, 500, 60_000, -400, -60_000, 7_200_000] {
        let mut scenario = Scenario::new();
        scenario.held(1, Some(30_000));
        scenario.after(10_000).held(1, Some(40_000));
        scenario.after(10_000).held(1, Some(50_000));
        let flags = scenario.lock().flags.clone();
        scenario.after(1_000).step_clock(step);
        let change = scenario.held(1, Some(50_000 + step));
        assert!(
            matches!(change, Some(Change::Updated { .. })),
            "{step}: the deadline is another moment of the clock: {change:?}"
        );
        let lock = scenario.lock();
        assert_eq!((lock.renewals.count, lock.renewals.missed_renewals), (2, 0));
        assert_eq!(lock.flags, flags, "{step}");
        assert_eq!(
            scenario.now.millis_since(lock.acquired_at),
            21_000,
            "{step}"
        );
        assert_eq!(
            lock.lease.remaining_ms(scenario.now),
            Some(29_000),
            "{step}"
        );
        scenario.after(9_000).held(1, Some(60_000 + step));
        let renewals = &scenario.lock().renewals;
        assert_eq!((renewals.count, renewals.interval_ms), (3, Some(10_000)));
    }
}

#[test]
fn semaphore_holders_are_tracked_separately() {
    let mut scenario = Scenario::new();
    scenario.permits(&[(1, 30_000), (2, 30_000)]);
    scenario.after(10_000).permits(&[(1, 40_000), (2, 30_000)]);
    scenario
        .after(5_000)
        .permits(&[(1, 40_000), (2, 45_000), (3, 45_000)]);
    scenario
        .after(5_000)
        .permits(&[(1, 50_000), (2, 45_000), (3, 45_000)]);
    let figures = |scenario: &Scenario| -> Vec<_> {
        let lock = scenario.lock();
        let holders = lock.holders.iter().map(|holder| {
            let since = holder.acquired_at.millis_since(START);
            (holder.fingerprint, since, holder.renewals.count)
        });
        holders.collect()
    };
    let fingerprint = |n: u8| owner(n).fingerprint;
    assert_eq!(
        figures(&scenario),
        [
            (fingerprint(1), 0, 2),
            (fingerprint(2), 0, 1),
            (fingerprint(3), 15_000, 0)
        ]
    );
    // The first two leave and another joins: the lock is held since its oldest holder acquired it.
    scenario.after(10_000).permits(&[(3, 60_000), (4, 60_000)]);
    assert_eq!(
        figures(&scenario),
        [(fingerprint(3), 15_000, 1), (fingerprint(4), 30_000, 0)]
    );
    let lock = scenario.lock();
    assert_eq!(lock.acquired_at, START.plus_millis(15_000));
    assert_eq!((lock.renewals.count, lock.renewals.missed_renewals), (1, 0));
    scenario.after(1_000).permits(&[(4, 60_000)]);
    let lock = scenario.lock();
    assert_eq!(
        (lock.acquired_at, lock.renewals.count),
        (START.plus_millis(30_000), 0)
    );
    assert_eq!(lock.holders, []);
}

#[test]
fn a_semaphore_is_not_overdue_while_none_of_its_holders_is() {
    let mut scenario = Scenario::new();
    scenario.expectation = Some(HoldExpectation {
        median_ms: 10_000,
        overdue_after_ms: 40_000,
    });
    for n in 0..40_u8 {
        let until = 30_000 + i64::from(n) * 10_000;
        scenario.permits(&[(n, until), (n + 1, until)]);
        assert!(!scenario.lock().has_flag(Flag::Overdue), "{n}");
        scenario.after(10_000);
    }
}

#[test]
fn both_sides_of_a_split_have_their_own_renewal_interval() {
    let mut scenario = Scenario::new();
    let lease = |ms: i64| Lease::until(START.plus_millis(ms), START);
    let side = |n: u8, ms: i64| Some(Observation::held_by(owner(n), lease(ms)));
    for n in 0..6 {
        let (one, two) = (30_000 + n * 10_000, 34_000 + n * 10_000);
        scenario.observe([
            side(1, one),
            side(2, two - 10_000),
            Some(Observation::Absent),
        ]);
        scenario.after(4_000);
        scenario.observe([side(1, one), side(2, two), Some(Observation::Absent)]);
        scenario.after(6_000);
    }
    let lock = scenario.lock();
    let intervals = lock.holders.iter().map(|holder| {
        let renewals = &holder.renewals;
        (
            renewals.interval_ms,
            renewals.jitter_ms,
            renewals.missed_renewals,
        )
    });
    let even = (Some(10_000), Some(0), 0);
    assert_eq!(intervals.collect::<Vec<_>>(), [even, even]);
}

#[test]
fn the_start_of_a_hold_survives_an_outage_of_a_node() {
    let mut scenario = Scenario::new();
    let lease = Lease::until(START.plus_millis(900_000), START);
    let side = |n: u8| Some(Observation::held_by(owner(n), lease));
    scenario.observe([side(2), side(1), Some(Observation::Absent)]);
    assert_eq!(scenario.lock().owners[0], owner(1));
    scenario
        .after(60_000)
        .observe([side(2), None, Some(Observation::Absent)]);
    let lock = scenario.lock();
    assert_eq!((&lock.owners[0], lock.acquired_at), (&owner(2), START));
    scenario
        .after(60_000)
        .observe([side(2), side(1), Some(Observation::Absent)]);
    let lock = scenario.lock();
    assert_eq!((lock.owners.len(), lock.acquired_at), (2, START));
    assert!(
        lock.holders
            .iter()
            .all(|holder| holder.acquired_at == START)
    );
}

#[test]
fn a_lock_past_its_own_deadline_is_held_at_least_since_then() {
    let mut scenario = Scenario::new();
    scenario.format = Format::LegacyTimestamp;
    scenario.held(1, Some(-60_000));
    assert_eq!(scenario.lock().acquired_at, START.plus_millis(-60_000));
    assert!(scenario.lock().has_flag(Flag::Overdue));
}

#[test]
fn readers_that_join_and_leave_are_not_an_owner_change() {
    let mut scenario = Scenario::new();
    scenario.shared(&[1], 30_000);
    assert!(matches!(
        scenario.after(1_000).shared(&[1, 2], 31_000),
        Some(Change::Updated { .. })
    ));
    assert_eq!(
        scenario.lock().renewals.count,
        0,
        "a joining owner is not a renewal"
    );
    assert!(matches!(
        scenario.after(9_000).shared(&[1, 2], 40_000),
        Some(Change::Renewed { .. })
    ));
    assert!(matches!(
        scenario.after(1_000).shared(&[2, 3], 40_000),
        Some(Change::Updated { .. })
    ));
    assert!(matches!(
        scenario.after(1_000).shared(&[4], 60_000),
        Some(Change::OwnerChanged { .. })
    ));
}

#[test]
fn an_owner_that_waited_in_the_queue_holds_the_lock_since_its_predecessor_left() {
    let mut scenario = Scenario::new();
    scenario.format = Format::Curator;
    // The first owner has held the lock since before the console started.
    scenario.claimed_at = Some(START.plus_millis(-60_000));
    scenario.held(1, None);
    let lock = scenario.lock();
    assert_eq!(lock.acquired_at, START.plus_millis(-60_000));
    assert_eq!(lock.acquired_at_source, AcquiredAtSource::Claimed);
    // The second one requested it 30 s ago.
    scenario.claimed_at = Some(START.plus_millis(-30_000));
    for _ in 0..2 {
        scenario.after(5_000).held(2, None);
        let lock = scenario.lock();
        assert_eq!(lock.acquired_at, START.plus_millis(5_000));
        assert_eq!(lock.acquired_at_source, AcquiredAtSource::FirstSeen);
    }
}
