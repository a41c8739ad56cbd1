//! Stories of one lock: what the nodes showed, and what the board makes of it.

use super::super::merge::{Told, Watched};
use super::*;
use crate::domain::{Confidence, Ending, Fingerprint};
use crate::server::clock::Clock;

#[path = "told_tests.rs"]
mod told;

const LONGEST_HOLD: Duration = Duration::from_secs(3_600);
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
        holds: None,
    }
}

/// One lock on three nodes, and a clock.
struct Story {
    clock: Clock,
    now: Timestamp,
    lock: Option<Lock>,
    memory: Option<Memory>,
    watched: Watched,
    /// When the nodes are asked, where that is not now.
    asked: Option<Moment>,
    /// Until when each owner has it by the value, for the next look.
    deadlines: holders::Deadlines,
    mode: Mode,
    format: Format,
    expected: Option<Expected>,
    /// How often owner 1 renewed through this console.
    here: u32,
}

impl Story {
    fn begin() -> Self {
        Self {
            clock: Clock::by_hand(START),
            now: START,
            lock: None,
            memory: None,
            watched: Watched::default(),
            asked: None,
            deadlines: holders::Deadlines::new(),
            mode: Mode::Exclusive,
            format: Format::Plain,
            expected: None,
            here: 0,
        }
    }

    /// The same with nodes that tell of every change.
    fn fed() -> Self {
        let mut story = Self::begin();
        story.watched.fed_since = Some(START);
        story
    }

    /// So many writes are told before the next look.
    fn told(&mut self, writes: u32) -> &mut Self {
        self.watched.writes = writes;
        self
    }

    /// When it wants to be looked at, in milliseconds of the story.
    fn due_ms(&self) -> Option<i64> {
        let memory = self.memory.as_ref().unwrap();
        let due = renewing::due(
            self.lock(),
            memory.lead.whole_lease_ms,
            self.expected,
            LONGEST_HOLD,
            self.now,
        );
        due.map(|at| at.millis_since(START))
    }

    fn after(&mut self, ms: i64) -> &mut Self {
        self.clock.advance(Duration::from_millis(ms.unsigned_abs()));
        self.now = self.clock.now();
        self
    }

    /// The wall clock is set by so many milliseconds.
    fn stepped(&mut self, ms: i64) -> &mut Self {
        self.clock.step(ms);
        self.now = self.clock.now();
        self
    }

    /// All three nodes show this owner until this moment of the story.
    fn held(&mut self, n: u8, until_ms: Option<i64>) -> Option<Change> {
        let lease = until_ms.map_or(Lease::Never, |ms| {
            Lease::until(START.plus_millis(ms), self.now)
        });
        self.see([Some(n); 3].map(|n| n.map(|n| Answer::held_by(owner(n), lease))))
    }

    /// The same for a lock that several hold.
    fn shared(&mut self, owners: &[u8], until_ms: i64) -> Option<Change> {
        let answer = Answer::Holds {
            owner: owner(owners[0]),
            lease: Lease::until(START.plus_millis(until_ms), self.now),
            others: owners[1..].iter().copied().map(owner).collect(),
        };
        self.mode = Mode::Shared;
        self.see([(); 3].map(|()| Some(answer.clone())))
    }

    /// The same for a semaphore, each of whose holders has a deadline of its own.
    fn permits(&mut self, holders: &[(u8, i64)]) -> Option<Change> {
        let lease = |ms: i64| Lease::until(START.plus_millis(ms), self.now);
        self.deadlines = holders
            .iter()
            .map(|(n, ms)| (owner(*n).fingerprint, vec![lease(*ms); 3]))
            .collect();
        let owners: Vec<u8> = holders.iter().map(|(n, _)| *n).collect();
        let last = holders.iter().map(|(_, ms)| *ms).max().unwrap();
        self.shared(&owners, last)
    }

    fn absent(&mut self) -> Option<Change> {
        self.see([
            Some(Answer::Absent),
            Some(Answer::Absent),
            Some(Answer::Absent),
        ])
    }

    /// What three nodes answer; nothing where one cannot be asked.
    fn see(&mut self, answers: [Option<Answer>; 3]) -> Option<Change> {
        let answers = answers.map(|answer| {
            answer.unwrap_or(Answer::Unreachable {
                reason: "connection refused".into(),
            })
        });
        let nodes: Vec<NodeAnswer> = answers
            .into_iter()
            .zip(["a", "b", "c"])
            .map(|(answer, node)| NodeAnswer {
                node: node.into(),
                answer,
            })
            .collect();
        let seen = nodes.iter().any(|node| node.answer.owner().is_some());
        let told = seen.then_some(Told {
            format: self.format,
            confidence: Confidence::Sure,
            mode: self.mode,
            claimed_at: None,
            may_be_of_a_registry: false,
        });
        let entry = Entry {
            restart_hazard: false,
            unmeasured: None,
            evidence: Vec::new(),
            deadlines: std::mem::take(&mut self.deadlines),
            watched: self.watched,
            key: "lock:a".into(),
            nodes,
            told,
            expected: self.expected,
            renewed_here: (self.here > 0).then(|| (owner(1).fingerprint, self.here)),
        };
        let change = match fold(
            id(),
            self.lock.as_ref(),
            self.memory.as_ref(),
            self.asked.take().unwrap_or_else(|| self.clock.moment()),
            LONGEST_HOLD,
            entry,
        ) {
            Step::Nothing => None,
            Step::Forget(change) => {
                (self.lock, self.memory) = (None, None);
                return Some(change);
            }
            Step::Show(change) => Some(change),
            Step::Remember(memory, change) => {
                self.memory = Some(memory);
                Some(change)
            }
            Step::Refresh(memory, lock) => {
                (self.memory, self.lock) = (Some(memory), Some(Lock::clone(&lock)));
                None
            }
        };
        if let Some(
            Change::Appeared { lock }
            | Change::Renewed { lock }
            | Change::ChangedHands { lock }
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
fn a_lock_that_only_grows_older_changes_nothing_but_its_observation() {
    let mut story = Story::begin();
    assert!(matches!(
        story.held(1, Some(30_000)),
        Some(Change::Appeared { .. })
    ));
    assert_eq!(
        story.after(1_000).held(1, Some(30_020)),
        None,
        "20 ms are jitter"
    );
    assert_eq!(story.lock().observed_at, START.plus_millis(1_000));
    assert_eq!(
        story.lock().lease.expires_at(),
        Some(START.plus_millis(30_000)),
        "the countdown does not wobble"
    );
    assert_eq!(story.lock().acquired_at, START);
}

#[test]
fn renewals_are_counted_with_their_beat() {
    let mut story = Story::begin();
    story.held(1, Some(30_000));
    for n in 1..=4 {
        let change = story.after(10_000).held(1, Some(30_000 + n * 10_000));
        assert!(
            matches!(change, Some(Change::Renewed { .. })),
            "{n}: {change:?}"
        );
    }
    let renewals = &story.lock().renewals;
    assert_eq!(
        (renewals.count, renewals.every_ms, renewals.per_minute),
        (4, Some(10_000), Some(6.0))
    );
}

#[test]
fn a_renewing_lock_that_misses_its_beat_is_at_risk() {
    let mut story = Story::begin();
    story.held(1, Some(30_000));
    story.after(10_000).held(1, Some(40_000));
    story.after(10_000).held(1, Some(50_000));
    assert_eq!(story.after(11_000).held(1, Some(50_000)), None);
    story.after(6_000).held(1, Some(50_000));
    assert!(story.lock().has(Flag::AtRisk));
    story.after(1_000).held(1, Some(80_000));
    assert!(!story.lock().has(Flag::AtRisk), "it came after all");
}

/// Half of the holds before lasted longer than this.
fn half_last(ms: u64) -> Option<Expected> {
    Some(Expected {
        half_last_ms: ms,
        overdue_after_ms: 1_000_000,
    })
}

#[test]
fn a_lock_that_never_renewed_is_at_risk_only_where_it_is_usually_held_beyond_its_lease() {
    for (expected, is_at_risk) in [
        (None, false),
        (half_last(4_000), false),
        (half_last(10_200), false),
        (half_last(25_000), true),
    ] {
        let mut story = Story::begin();
        story.expected = expected;
        story.held(1, Some(10_000));
        story.after(7_900).held(1, Some(10_000));
        assert!(!story.lock().has(Flag::AtRisk), "{expected:?}");
        story.after(200).held(1, Some(10_000));
        assert_eq!(story.lock().has(Flag::AtRisk), is_at_risk, "{expected:?}");
    }
}

#[test]
fn a_lock_that_renewed_once_is_at_risk_when_the_next_renewal_is_late() {
    let mut story = Story::begin();
    story.held(1, Some(10_000));
    story.after(3_000).held(1, Some(13_000));
    assert_eq!(story.due_ms(), Some(11_001));
    story.after(7_900).held(1, Some(13_000));
    assert!(!story.lock().has(Flag::AtRisk));
    story.after(101).held(1, Some(13_000));
    assert!(
        story.lock().has(Flag::AtRisk),
        "a fifth of its lease is left"
    );

    let mut story = Story::begin();
    story.format = Format::Redisson;
    story.held(1, Some(30_000));
    story.after(10_000).held(1, Some(40_000));
    assert_eq!(story.due_ms(), Some(26_001), "by the beat of its watchdog");
    story.after(16_001).held(1, Some(40_000));
    assert!(story.lock().has(Flag::AtRisk));
}

#[test]
fn gone_before_the_deadline_is_released_and_at_the_deadline_expired() {
    let mut story = Story::begin();
    story.held(1, Some(10_000));
    assert!(matches!(
        story.after(1_000).absent(),
        Some(Change::Gone {
            ending: Ending::Released,
            ..
        })
    ));
    let mut story = Story::begin();
    story.held(1, Some(1_000));
    assert!(matches!(
        story.after(900).absent(),
        Some(Change::Gone {
            ending: Ending::Expired,
            ..
        })
    ));
}

#[test]
fn what_went_while_nobody_could_look_ended_unknown() {
    let mut story = Story::begin();
    story.held(1, None);
    story.after(1_000).see([None, None, None]);
    assert_eq!(
        (story.lock().verdict, &story.lock().owner),
        (Verdict::Unknown, &None)
    );
    assert_eq!(
        story.lock().owners,
        [owner(1)],
        "the last known owner stays in sight"
    );
    assert_eq!(story.lock().observed_at, START, "it was not observed since");
    assert_eq!(story.after(1_000).see([None, None, None]), None);
    assert!(matches!(
        story.after(10_000).absent(),
        Some(Change::Gone {
            ending: Ending::Unknown,
            ..
        })
    ));
}

#[test]
fn another_owner_starts_anew() {
    let mut story = Story::begin();
    story.held(1, Some(30_000));
    story.after(10_000).held(1, Some(40_000));
    assert!(matches!(
        story.after(1_000).held(2, Some(60_000)),
        Some(Change::ChangedHands { .. })
    ));
    assert_eq!(
        (story.lock().renewals.count, story.lock().acquired_at),
        (0, START.plus_millis(11_000))
    );
}

#[test]
fn an_answer_that_was_asked_for_earlier_is_not_believed() {
    let mut story = Story::begin();
    story.held(1, Some(30_000));
    let earlier = story.clock.moment();
    story.after(1_000).held(2, Some(30_000));
    story.asked = Some(earlier);
    assert_eq!(story.after(500).held(1, Some(30_000)), None);
    assert_eq!(story.lock().owner, Some(owner(2)));
}

#[test]
fn an_answer_that_was_asked_for_later_is_believed_though_the_clock_was_set_back() {
    let mut story = Story::begin();
    story.held(1, Some(30_000));
    story.after(1_000).stepped(-60_000);
    assert!(matches!(
        story.held(2, Some(-30_000)),
        Some(Change::ChangedHands { .. })
    ));
    story.after(1_000).stepped(-60_000);
    assert!(matches!(
        story.absent(),
        Some(Change::Gone {
            ending: Ending::Released,
            ..
        })
    ));
}

#[test]
fn a_step_of_the_clock_is_no_renewal_and_changes_neither_ages_nor_risks() {
    for step in [400, 500, 60_000, -400, -60_000, 7_200_000] {
        let mut story = Story::begin();
        story.held(1, Some(30_000));
        story.after(10_000).held(1, Some(40_000));
        story.after(10_000).held(1, Some(50_000));
        let flags = story.lock().flags.clone();
        story.after(1_000).stepped(step);
        let change = story.held(1, Some(50_000 + step));
        assert!(
            matches!(change, Some(Change::Updated { .. })),
            "{step}: the deadline is another moment of the clock: {change:?}"
        );
        let lock = story.lock();
        assert_eq!((lock.renewals.count, lock.renewals.missed_beats), (2, 0));
        assert_eq!(lock.flags, flags, "{step}");
        assert_eq!(story.now.millis_since(lock.acquired_at), 21_000, "{step}");
        assert_eq!(lock.lease.remaining_ms(story.now), Some(29_000), "{step}");
        story.after(9_000).held(1, Some(60_000 + step));
        let renewals = &story.lock().renewals;
        assert_eq!((renewals.count, renewals.every_ms), (3, Some(10_000)));
    }
}

#[test]
fn what_holders_of_a_semaphore_do_is_counted_for_each_alone() {
    let mut story = Story::begin();
    story.permits(&[(1, 30_000), (2, 30_000)]);
    story.after(10_000).permits(&[(1, 40_000), (2, 30_000)]);
    story
        .after(5_000)
        .permits(&[(1, 40_000), (2, 45_000), (3, 45_000)]);
    story
        .after(5_000)
        .permits(&[(1, 50_000), (2, 45_000), (3, 45_000)]);
    let figures = |story: &Story| -> Vec<_> {
        let lock = story.lock();
        let holders = lock.holders.iter().map(|holder| {
            let since = holder.acquired_at.millis_since(START);
            (holder.fingerprint.clone(), since, holder.renewals.count)
        });
        holders.collect()
    };
    let who = |n: u8| owner(n).fingerprint;
    assert_eq!(
        figures(&story),
        [(who(1), 0, 2), (who(2), 0, 1), (who(3), 15_000, 0)]
    );
    // The first two leave, another one comes: the lock is held for as long as the one that is there for longest.
    story.after(10_000).permits(&[(3, 60_000), (4, 60_000)]);
    assert_eq!(figures(&story), [(who(3), 15_000, 1), (who(4), 30_000, 0)]);
    let lock = story.lock();
    assert_eq!(lock.acquired_at, START.plus_millis(15_000));
    assert_eq!((lock.renewals.count, lock.renewals.missed_beats), (1, 0));
    story.after(1_000).permits(&[(4, 60_000)]);
    let lock = story.lock();
    assert_eq!(
        (lock.acquired_at, lock.renewals.count),
        (START.plus_millis(30_000), 0)
    );
    assert_eq!(lock.holders, []);
}

#[test]
fn a_semaphore_is_not_overdue_while_none_of_its_holders_is() {
    let mut story = Story::begin();
    story.expected = Some(Expected {
        half_last_ms: 10_000,
        overdue_after_ms: 40_000,
    });
    for n in 0..40_u8 {
        let until = 30_000 + i64::from(n) * 10_000;
        story.permits(&[(n, until), (n + 1, until)]);
        assert!(!story.lock().has(Flag::Overdue), "{n}");
        story.after(10_000);
    }
}

#[test]
fn the_two_sides_of_a_split_each_have_a_beat_of_their_own() {
    let mut story = Story::begin();
    let lease = |ms: i64| Lease::until(START.plus_millis(ms), START);
    let side = |n: u8, ms: i64| Some(Answer::held_by(owner(n), lease(ms)));
    for n in 0..6 {
        let (one, two) = (30_000 + n * 10_000, 34_000 + n * 10_000);
        story.see([side(1, one), side(2, two - 10_000), Some(Answer::Absent)]);
        story.after(4_000);
        story.see([side(1, one), side(2, two), Some(Answer::Absent)]);
        story.after(6_000);
    }
    let lock = story.lock();
    let beats = lock.holders.iter().map(|holder| {
        let renewals = &holder.renewals;
        (renewals.every_ms, renewals.jitter_ms, renewals.missed_beats)
    });
    let even = (Some(10_000), Some(0), 0);
    assert_eq!(beats.collect::<Vec<_>>(), [even, even]);
}

#[test]
fn an_owner_that_stays_is_held_for_as_long_though_a_node_goes_away_and_comes_back() {
    let mut story = Story::begin();
    let lease = Lease::until(START.plus_millis(900_000), START);
    let side = |n: u8| Some(Answer::held_by(owner(n), lease));
    story.see([side(2), side(1), Some(Answer::Absent)]);
    assert_eq!(story.lock().owners[0], owner(1));
    story
        .after(60_000)
        .see([side(2), None, Some(Answer::Absent)]);
    let lock = story.lock();
    assert_eq!((&lock.owners[0], lock.acquired_at), (&owner(2), START));
    story
        .after(60_000)
        .see([side(2), side(1), Some(Answer::Absent)]);
    let lock = story.lock();
    assert_eq!((lock.owners.len(), lock.acquired_at), (2, START));
    assert!(
        lock.holders
            .iter()
            .all(|holder| holder.acquired_at == START)
    );
}

#[test]
fn a_lock_whose_own_time_was_over_when_it_was_first_seen_is_held_since_then_at_least() {
    let mut story = Story::begin();
    story.format = Format::LegacyTimestamp;
    story.held(1, Some(-60_000));
    assert_eq!(story.lock().acquired_at, START.plus_millis(-60_000));
    assert!(story.lock().has(Flag::Overdue));
}

#[test]
fn readers_that_come_and_go_hand_nothing_over() {
    let mut story = Story::begin();
    story.shared(&[1], 30_000);
    assert!(matches!(
        story.after(1_000).shared(&[1, 2], 31_000),
        Some(Change::Updated { .. })
    ));
    assert_eq!(story.lock().renewals.count, 0, "somebody joined");
    assert!(matches!(
        story.after(9_000).shared(&[1, 2], 40_000),
        Some(Change::Renewed { .. })
    ));
    assert!(matches!(
        story.after(1_000).shared(&[2, 3], 40_000),
        Some(Change::Updated { .. })
    ));
    assert!(matches!(
        story.after(1_000).shared(&[4], 60_000),
        Some(Change::ChangedHands { .. })
    ));
}
