//! Stories of holds with made-up times.

mod usual;

use std::sync::Arc;

use super::*;
use crate::domain::testing::group;
use crate::domain::{
    AcquiredAt, Confidence, Coverage, Format, Hold, Lease, Mode, Owner, Renewals, Source, Start,
    Verdict,
};

const START: Timestamp = Timestamp::from_millis(1_795_200_000_000);

fn id(key: &str) -> LockId {
    LockId {
        group: "orders".into(),
        key: key.into(),
    }
}

fn who(n: u64) -> Fingerprint {
    Fingerprint::parse(&format!("{n:016x}")).unwrap()
}

/// A group whose keyspace is gone over every second, and what is seen of its locks.
struct Story {
    now: Timestamp,
    histories: Histories,
    seen: HashMap<String, Lock>,
    fed_since: Option<Timestamp>,
    /// By how much the clock was set since the last look.
    stepped_ms: i64,
}

impl Story {
    fn begin() -> Self {
        Self::within(MOST_LOCKS, MOST_HOLDS)
    }

    fn within(locks: usize, holds: usize) -> Self {
        let bounds = Bounds {
            locks,
            holds,
            patterns: 3,
        };
        let mut story = Self {
            now: START,
            histories: Histories::within(START, bounds),
            seen: HashMap::new(),
            fed_since: None,
            stepped_ms: 0,
        };
        story.gone_over();
        story
    }

    fn after(&mut self, ms: i64) -> &mut Self {
        self.now = self.now.plus_millis(ms);
        self
    }

    /// A pass over the keyspace ends, which began a second ago.
    fn gone_over(&mut self) {
        let view = GroupView {
            coverage: Coverage {
                patterns: vec!["lock:*".into()],
                pass_started_at: Some(self.now.plus_millis(-1_000)),
                ..Coverage::default()
            },
            ..group("orders", 0)
        };
        self.histories.group(&view);
    }

    fn lock(&self, key: &str, owner: u64, lease_ms: i64) -> Lock {
        let owner = Owner {
            fingerprint: who(owner),
            label: Some(format!("api-{owner}")),
            format: Format::Plain,
            holds: None,
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
            acquired_at_is: AcquiredAt::FirstSeen,
            observed_at: self.now,
            nodes: Vec::new(),
            renewals: Renewals::none(Source::Poll),
            holders: Vec::new(),
            evidence: Vec::new(),
            unmeasured: None,
        }
    }

    /// The nodes show this lock: a change is published as the fold would.
    fn see(&mut self, mut lock: Lock) {
        let key = lock.id.key.text().into_owned();
        let before = self.seen.get(&key).cloned();
        let shared = |lock: &Lock| Arc::new(lock.clone());
        let change = match &before {
            None => Change::Appeared {
                lock: shared(&lock),
            },
            Some(before) if before.owners[0] != lock.owners[0] => Change::ChangedHands {
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
        self.seen.insert(key, lock);
        self.publish(&change, before.as_ref());
    }

    fn held(&mut self, key: &str, owner: u64, lease_ms: i64) {
        self.see(self.lock(key, owner, lease_ms));
    }

    fn gone(&mut self, key: &str, ending: Ending) {
        let before = self.seen.remove(key);
        let change = Change::Gone {
            id: id(key),
            ending,
            at: self.now,
        };
        self.publish(&change, before.as_ref());
    }

    fn publish(&self, change: &Change, before: Option<&Lock>) {
        let seen = Seen {
            stepped_ms: self.stepped_ms,
            asked_at: self.now,
            before: before.map(|before| before.observed_at),
            fed_since: self.fed_since,
            told: self.fed_since.is_some(),
        };
        self.histories.see(change, seen);
    }

    /// Held for so long by somebody who then releases it.
    fn once(&mut self, key: &str, owner: u64, ms: i64) {
        self.gone_over();
        self.held(key, owner, 60_000);
        self.after(ms).gone(key, Ending::Released);
    }

    fn history(&self, key: &str) -> History {
        self.histories.of(&id(key), self.now)
    }

    /// Who, from and until when (since the start), how it ended.
    fn holds(&self, key: &str) -> Vec<(u64, i64, Option<i64>, &'static str)> {
        let holds = self.history(key).holds.into_iter();
        let tell = |hold: Hold| {
            let owner = u64::from_str_radix(hold.fingerprint.as_str(), 16).unwrap();
            let since = |at: Timestamp| at.millis_since(START);
            let ending = hold.ending.map_or("holds", HowEnded::slug);
            (owner, since(hold.from), hold.until.map(since), ending)
        };
        holds.map(tell).collect()
    }
}

#[test]
fn a_hold_lasts_as_long_as_it_did_though_the_clock_was_set_meanwhile() {
    for step in [-3_600_000, 3_600_000] {
        let mut story = Story::begin();
        story.held("lock:a", 1, 60_000);
        story.stepped_ms = step;
        story.after(20_000 + step).gone("lock:a", Ending::Released);
        let holds = story.holds("lock:a");
        let (_, from, until, ending) = holds[0];
        let lasted = until.map(|until| until - from);
        assert_eq!((lasted, ending), (Some(20_000), "released"), "{step}");
    }
}

#[test]
fn a_hold_goes_from_the_first_sighting_to_the_release_and_counts_renewals() {
    let mut story = Story::begin();
    story.after(500).held("lock:a", 1, 10_000);
    story.after(3_000).held("lock:a", 1, 10_000);
    assert_eq!(story.holds("lock:a"), [(1, 500, None, "holds")]);
    story.after(3_000).gone("lock:a", Ending::Released);
    assert_eq!(story.holds("lock:a"), [(1, 500, Some(6_500), "released")]);
    let hold = &story.history("lock:a").holds[0];
    assert_eq!((hold.label.as_deref(), hold.renewals), (Some("api-1"), 1));
    // A pass over the keyspace that began 1.5 s before did not find it.
    assert_eq!(
        (hold.from_is, hold.from_within_ms),
        (Start::Appeared, Some(1_500))
    );
}

#[test]
fn the_lease_is_known_before_and_after_each_of_the_latest_renewals() {
    let mut story = Story::begin();
    story.held("lock:a", 1, 30_000);
    assert_eq!(story.history("lock:a").beats, []);
    story.after(10_000).held("lock:a", 1, 30_000);
    story.after(10_000).held("lock:a", 1, 30_000);
    let since = |at: Timestamp| at.millis_since(START);
    let beats = story.history("lock:a").beats.into_iter();
    let told: Vec<_> = beats
        .map(|beat| (since(beat.at), since(beat.expires_at)))
        .collect();
    assert_eq!(told, [(0, 30_000), (10_000, 40_000), (20_000, 50_000)]);
    // The next owner's begin with its own hold.
    story.after(1_000).held("lock:a", 2, 30_000);
    story.after(5_000).held("lock:a", 2, 30_000);
    let beats = story.history("lock:a").beats;
    assert_eq!(beats.len(), 5);
    assert_eq!(since(beats[3].at), 21_000);
}

#[test]
fn each_ending_is_told_from_the_others() {
    let mut story = Story::begin();
    // Its lease is over, and that was seen a little late.
    story.held("lock:a", 1, 5_000);
    story.after(5_300).gone("lock:a", Ending::Expired);
    // Somebody else has it although its lease runs.
    story.after(700).held("lock:a", 2, 60_000);
    story.after(1_000).held("lock:a", 3, 2_000);
    // Its lease was over when somebody else took it.
    story.after(2_500).held("lock:a", 4, 60_000);
    // Nobody looked for long.
    story.after(9_000).held("lock:a", 5, 60_000);
    story.after(1_000).gone("lock:a", Ending::Unknown);
    assert_eq!(
        story.holds("lock:a"),
        [
            (5, 18_500, Some(19_500), "unknown"),
            (4, 9_500, Some(18_500), "unknown"),
            (3, 7_000, Some(9_000), "expired"),
            (2, 6_000, Some(7_000), "taken-over"),
            (1, 0, Some(5_000), "expired"),
        ]
    );
    let gaps = story.history("lock:a").gaps_ms();
    assert_eq!(gaps, [None, None, Some(500), None, Some(1_000)]);
}

#[test]
fn a_forced_release_is_told_before_or_after_it_is_seen() {
    let mut story = Story::begin();
    story.held("lock:a", 1, 60_000);
    story.after(1_000);
    story.histories.forced(&id("lock:a"), &who(1), story.now);
    story.after(100).gone("lock:a", Ending::Released);
    story.after(1_000).held("lock:a", 2, 60_000);
    story.after(1_000).gone("lock:a", Ending::Released);
    story.histories.forced(&id("lock:a"), &who(2), story.now);
    // Of somebody who does not have it, nothing is said.
    story.after(1_000).held("lock:a", 3, 60_000);
    story.histories.forced(&id("lock:a"), &who(9), story.now);
    story.after(1_000).gone("lock:a", Ending::Released);
    let endings: Vec<_> = story.holds("lock:a").iter().map(|hold| hold.3).collect();
    assert_eq!(endings, ["released", "forced", "forced"]);
}

#[test]
fn who_puts_its_lock_back_after_a_forced_release_ends_it_by_itself() {
    let mut story = Story::begin();
    story.held("lock:a", 1, 60_000);
    story.histories.forced(&id("lock:a"), &who(1), story.now);
    story.after(2_500).held("lock:a", 1, 60_000);
    story.after(1_000).gone("lock:a", Ending::Released);
    assert_eq!(story.holds("lock:a"), [(1, 0, Some(3_500), "released")]);
}

#[test]
fn what_never_had_a_quorum_was_no_hold() {
    let mut story = Story::begin();
    let remains = Lock {
        verdict: Verdict::Partial,
        owner: None,
        ..story.lock("lock:a", 1, 5_000)
    };
    story.see(remains.clone());
    story.after(1_000).gone("lock:a", Ending::Released);
    assert_eq!(story.holds("lock:a"), []);
    // It was on its way: from its first sighting on.
    story.see(Lock {
        acquired_at: story.now,
        ..remains
    });
    story.after(20).held("lock:a", 1, 5_000);
    assert_eq!(story.holds("lock:a"), [(1, 1_000, None, "holds")]);
}

#[test]
fn readers_come_and_go_one_by_one() {
    let mut story = Story::begin();
    let shared = |story: &Story, owners: &[u64]| {
        let locks = owners.iter().map(|n| story.lock("lock:a", *n, 60_000));
        Lock {
            mode: Mode::Shared,
            owners: locks.flat_map(|lock| lock.owners).collect(),
            ..story.lock("lock:a", owners[0], 60_000)
        }
    };
    story.see(shared(&story, &[1]));
    story.after(1_000);
    story.see(shared(&story, &[1, 2]));
    story.after(1_000);
    story.see(shared(&story, &[2]));
    assert_eq!(
        story.holds("lock:a"),
        [(2, 1_000, None, "holds"), (1, 0, Some(2_000), "released")]
    );
}

#[test]
fn a_start_is_not_made_up() {
    let mut story = Story::begin();
    // Its name is not scanned for, so nobody knows since when it was there.
    story.held("other", 1, 60_000);
    assert_eq!(story.history("other").holds[0].from_is, Start::FirstSeen);
    // The last pass over the keyspace began too long ago.
    story.after(60_000).held("lock:a", 1, 60_000);
    let hold = story.history("lock:a").holds.remove(0);
    assert_eq!(
        (hold.from_is, hold.from_within_ms),
        (Start::FirstSeen, None)
    );
    // It says itself since when.
    let claimed = Lock {
        acquired_at: START,
        acquired_at_is: AcquiredAt::Claimed,
        ..story.lock("lock:b", 1, 60_000)
    };
    story.see(claimed);
    let hold = story.history("lock:b").holds.remove(0);
    assert_eq!((hold.from_is, hold.from), (Start::Claimed, START));
}

#[test]
fn what_is_told_has_just_begun_unless_it_may_have_been_there_before() {
    let mut story = Story::begin();
    story.fed_since = Some(story.now.plus_millis(-5_000));
    story.after(30_000).held("lock:a", 1, 60_000);
    // Nobody looked for long, and nothing was missed.
    story.after(30_000).held("lock:a", 2, 60_000);
    for hold in story.history("lock:a").holds {
        assert_eq!(
            (hold.from_is, hold.from_within_ms),
            (Start::Appeared, Some(0))
        );
        assert!(
            hold.ending
                .is_none_or(|ending| ending == HowEnded::TakenOver)
        );
    }
    // The nodes began to tell after the last look at the whole keyspace.
    story.fed_since = Some(story.now);
    story.held("lock:b", 1, 60_000);
    assert_eq!(story.history("lock:b").holds[0].from_is, Start::FirstSeen);
}
