//! What is known about leases. etcd reports no renewals, and the time left only on request and in
//! whole seconds, so each lease is sampled when a renewal is due, within a budget for all of them.
//!
//! A sample of `n` seconds says that the lease ends between `n` and `n + 1` seconds later. Samples of
//! one period therefore overlap; one that ends later than all before was renewed in between. The
//! reported deadline is the earliest end of the first sample of a period. It does not move until the
//! next renewal.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::client::{LeaseId, TimeToLiveReply};
use crate::domain::{Lease, LockKey};
use crate::server::clock::{ClockReading, MonotonicTime};

/// The maximum number of leases. Locks with other leases are shown without a deadline.
const MAX_LEASES: usize = 200_000;
/// The maximum number of locks of one lease that are read again when it is renewed.
const MAX_KEYS_PER_LEASE: usize = 64;
/// The budget of samples, per second. A call takes 0.6 ms on the server.
const SAMPLES_PER_SECOND: u32 = 200;
/// Libraries renew after a third of the TTL. A sample this long afterwards shows it.
const DELAY_AFTER_RENEWAL: Duration = Duration::from_millis(300);
/// The shortest time between two samples of a lease.
const MIN_SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// A lease that no reading mentioned for this long is forgotten. Every lock is read once a minute.
const FORGET_AFTER: Duration = Duration::from_secs(240);
/// The resolution of `TimeToLive`.
const RESOLUTION: Duration = Duration::from_secs(1);

/// The leases of the locks of a group.
#[derive(Default)]
pub struct LeaseBook {
    state: Mutex<LeaseTable>,
}

#[derive(Default)]
struct LeaseTable {
    leases: HashMap<LeaseId, TrackedLease>,
    /// When each lease is sampled next.
    due: BTreeSet<(MonotonicTime, LeaseId)>,
    budget: SampleBudget,
}

struct TrackedLease {
    /// The locks that the lease keeps.
    keys: BTreeSet<LockKey>,
    sample: Option<LeaseSample>,
    due_at: MonotonicTime,
    mentioned_at: MonotonicTime,
}

/// What the samples since the last renewal say.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LeaseSample {
    /// The deadline that is reported.
    reported: MonotonicTime,
    /// The lease ends between these.
    earliest: MonotonicTime,
    latest: MonotonicTime,
    granted: Duration,
    sampled_at: MonotonicTime,
}

/// What a sample showed.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleResult {
    /// The deadline is the known one.
    Unchanged,
    /// The deadline was not known before. The locks of the lease.
    First(Vec<LockKey>),
    /// The lease was renewed since the last sample, or has ended. The locks of the lease, which must
    /// be read again.
    Changed(Vec<LockKey>),
}

/// Allows a number of samples per second, and as many at once after a pause.
#[derive(Default)]
struct SampleBudget {
    used: u32,
    since: MonotonicTime,
}

impl LeaseBook {
    /// Records that a lock has a lease. Returns whether the lease must be sampled now to know when it
    /// ends, and the budget allows it.
    pub fn mention(&self, lease: LeaseId, key: &LockKey, now: MonotonicTime) -> bool {
        let mut table = self.table();
        let table = &mut *table;
        if !table.leases.contains_key(&lease) && table.leases.len() >= MAX_LEASES {
            return false;
        }
        let tracked = table.leases.entry(lease).or_insert_with(|| {
            table.due.insert((now, lease));
            TrackedLease {
                keys: BTreeSet::new(),
                sample: None,
                due_at: now,
                mentioned_at: now,
            }
        });
        tracked.mentioned_at = now;
        if tracked.keys.len() < MAX_KEYS_PER_LEASE && !tracked.keys.contains(key) {
            tracked.keys.insert(key.clone());
        }
        let is_current = tracked.sample.is_some_and(|sample| sample.is_current(now));
        !is_current && table.budget.take(now)
    }

    /// The lease of a key as far as it is known.
    pub fn lease(&self, lease: LeaseId, now: ClockReading) -> Lease {
        if lease == LeaseId::NONE {
            return Lease::Never;
        }
        let table = self.table();
        let sample = table.leases.get(&lease).and_then(|tracked| tracked.sample);
        match sample {
            // A deadline that passed without a sample since says nothing.
            Some(sample) if sample.reported > now.monotonic || sample.is_current(now.monotonic) => {
                Lease::until(now.wall_at(sample.reported), now.wall)
            }
            Some(_) | None => Lease::Session,
        }
    }

    /// The shortest TTLs that were granted, ascending, each with the name of a lock.
    pub fn shortest_ttls(&self) -> Vec<(Duration, String)> {
        const MAX_LISTED: usize = 5;
        const MAX_NAME_CHARS: usize = 100;
        let table = self.table();
        let granted = |tracked: &'_ TrackedLease| {
            let sample = tracked.sample?;
            Some((sample.granted, tracked.keys.first()?.clone()))
        };
        let mut shortest: Vec<(Duration, LockKey)> = Vec::new();
        for (ttl, key) in table.leases.values().filter_map(granted) {
            let is_short = shortest
                .last()
                .is_none_or(|(longest, _)| shortest.len() < MAX_LISTED || ttl < *longest);
            if is_short {
                shortest.push((ttl, key));
                shortest.sort_by_key(|(ttl, _)| *ttl);
                shortest.truncate(MAX_LISTED);
            }
        }
        let name = |key: LockKey| key.text().chars().take(MAX_NAME_CHARS).collect();
        let named = shortest.into_iter().map(|(ttl, key)| (ttl, name(key)));
        named.collect()
    }

    /// Takes the leases whose samples are due, within the budget.
    pub fn take_due(&self, now: MonotonicTime) -> Vec<LeaseId> {
        let mut table = self.table();
        let table = &mut *table;
        let mut due = Vec::new();
        while let Some(&(at, lease)) = table.due.first() {
            if at > now {
                break;
            }
            let is_forgotten = table
                .leases
                .get(&lease)
                .is_none_or(|tracked| now.duration_since(tracked.mentioned_at) > FORGET_AFTER);
            if !is_forgotten && !table.budget.take(now) {
                break;
            }
            table.due.pop_first();
            if is_forgotten {
                table.leases.remove(&lease);
                continue;
            }
            // If the call fails, the next one follows after a while.
            table.schedule(lease, now.plus(MIN_SAMPLE_INTERVAL * 2));
            due.push(lease);
        }
        due
    }

    /// Records a sample that was requested at `at`.
    pub fn record(
        &self,
        lease: LeaseId,
        reply: &TimeToLiveReply,
        at: MonotonicTime,
    ) -> SampleResult {
        let mut table = self.table();
        let table = &mut *table;
        let Some(tracked) = table.leases.get_mut(&lease) else {
            return SampleResult::Unchanged;
        };
        let Ok(left) = u64::try_from(reply.ttl) else {
            let keys = std::mem::take(&mut tracked.keys);
            table.due.remove(&(tracked.due_at, lease));
            table.leases.remove(&lease);
            return SampleResult::Changed(keys.into_iter().collect());
        };
        let granted = Duration::from_secs(u64::try_from(reply.granted_ttl).unwrap_or(0));
        let earliest = at.plus(Duration::from_secs(left));
        let latest = earliest.plus(RESOLUTION);
        let new_period = LeaseSample {
            reported: earliest,
            earliest,
            latest,
            granted,
            sampled_at: at,
        };
        let keys = |tracked: &TrackedLease| tracked.keys.iter().cloned().collect();
        let (sample, finding) = match tracked.sample {
            None => (new_period, SampleResult::First(keys(tracked))),
            // Later than all samples before: a renewal. Earlier: a leader with another clock.
            Some(before) if earliest > before.latest || latest < before.earliest => {
                (new_period, SampleResult::Changed(keys(tracked)))
            }
            Some(before) => {
                let sample = LeaseSample {
                    earliest: before.earliest.max(earliest),
                    latest: before.latest.min(latest),
                    granted,
                    sampled_at: at,
                    ..before
                };
                (sample, SampleResult::Unchanged)
            }
        };
        tracked.sample = Some(sample);
        table.schedule(lease, sample.next_due());
        finding
    }

    fn table(&self) -> MutexGuard<'_, LeaseTable> {
        self.state.lock()
    }
}

impl LeaseTable {
    fn schedule(&mut self, lease: LeaseId, at: MonotonicTime) {
        if let Some(tracked) = self.leases.get_mut(&lease) {
            self.due.remove(&(tracked.due_at, lease));
            tracked.due_at = at;
            self.due.insert((at, lease));
        }
    }
}

impl LeaseSample {
    /// Whether no renewal can have been missed that is worth a sample.
    fn is_current(&self, now: MonotonicTime) -> bool {
        let age = now.duration_since(self.sampled_at);
        age < MIN_SAMPLE_INTERVAL || (now < self.reported && age < self.granted / 3)
    }

    /// When the owner should have renewed: a third of the TTL after the last renewal; afterwards
    /// twice per third.
    fn next_due(&self) -> MonotonicTime {
        let third = self.granted / 3;
        let left = self.earliest.duration_since(self.sampled_at);
        let passed = self.granted.saturating_sub(left);
        let until_renewal = third.saturating_sub(passed);
        let wait = if until_renewal.is_zero() {
            third / 2
        } else {
            until_renewal + DELAY_AFTER_RENEWAL
        };
        self.sampled_at.plus(wait.max(MIN_SAMPLE_INTERVAL))
    }
}

impl SampleBudget {
    fn take(&mut self, now: MonotonicTime) -> bool {
        if now.duration_since(self.since) >= Duration::from_secs(1) {
            self.since = now;
            self.used = 0;
        }
        let is_available = self.used < SAMPLES_PER_SECOND;
        self.used += u32::from(is_available);
        is_available
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    const LEASE: LeaseId = LeaseId(7);

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::default().plus(Duration::from_millis(ms))
    }

    fn reading(ms: u64) -> ClockReading {
        ClockReading {
            wall: Timestamp::from_millis(i64::try_from(ms).unwrap()),
            monotonic: at(ms),
        }
    }

    fn left(seconds: i64) -> TimeToLiveReply {
        TimeToLiveReply {
            ttl: seconds,
            granted_ttl: 20,
            ..TimeToLiveReply::default()
        }
    }

    /// Samples every half second of a lease of 20 s, which is renewed once: the series that a real
    /// server returned.
    #[test]
    fn one_renewal_is_found_in_samples_of_whole_seconds() {
        let book = LeaseBook::default();
        assert!(book.mention(LEASE, &"a".into(), at(0)));
        let series = [18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 19, 19, 18];
        let mut renewals = Vec::new();
        for (n, seconds) in (0u64..).zip(series) {
            if let SampleResult::Changed(_) = book.record(LEASE, &left(seconds), at(n * 500)) {
                renewals.push(n);
            }
        }
        assert_eq!(renewals, [11]);
        let Lease::Expires { at, .. } = book.lease(LEASE, reading(6_500)) else {
            panic!("the deadline is known");
        };
        assert_eq!(at, Timestamp::from_millis(11 * 500 + 19_000));
    }

    #[test]
    fn a_lease_that_ended_is_forgotten_and_its_locks_are_read() {
        let book = LeaseBook::default();
        book.mention(LEASE, &"a".into(), at(0));
        book.mention(LEASE, &"b".into(), at(0));
        book.record(LEASE, &left(5), at(0));
        assert_eq!(
            book.record(LEASE, &left(-1), at(6_000)),
            SampleResult::Changed(vec!["a".into(), "b".into()])
        );
        assert_eq!(book.lease(LEASE, reading(6_000)), Lease::Session);
        assert_eq!(book.take_due(at(100_000)), []);
    }

    #[test]
    fn a_deadline_that_passed_without_a_sample_is_unknown() {
        let book = LeaseBook::default();
        book.mention(LEASE, &"a".into(), at(0));
        book.record(LEASE, &left(5), at(0));
        assert!(matches!(
            book.lease(LEASE, reading(4_000)),
            Lease::Expires { .. }
        ));
        assert_eq!(book.lease(LEASE, reading(9_000)), Lease::Session);
        assert_eq!(book.lease(LeaseId::NONE, reading(0)), Lease::Never);
    }

    #[test]
    fn a_sample_is_due_when_the_owner_should_have_renewed() {
        let book = LeaseBook::default();
        book.mention(LEASE, &"a".into(), at(0));
        book.record(LEASE, &left(19), at(0));
        // A third of 20 s after the renewal, which was less than 1 s before the sample.
        assert_eq!(book.take_due(at(5_900)), []);
        assert_eq!(book.take_due(at(6_000)), [LEASE]);
    }

    #[test]
    fn the_shortest_ttls_are_listed_with_a_lock() {
        let book = LeaseBook::default();
        for n in 1..=8 {
            let lease = LeaseId(n);
            book.mention(lease, &"a".into(), at(0));
            let reply = TimeToLiveReply {
                ttl: 1,
                granted_ttl: 10 - n,
                ..TimeToLiveReply::default()
            };
            book.record(lease, &reply, at(0));
        }
        let ttls = book.shortest_ttls();
        let seconds: Vec<u64> = ttls.iter().map(|(ttl, _)| ttl.as_secs()).collect();
        assert_eq!(seconds, [2, 3, 4, 5, 6]);
        assert_eq!(ttls[0].1, "a");
    }

    #[test]
    fn samples_are_bounded_per_second() {
        let book = LeaseBook::default();
        let limit = i64::from(SAMPLES_PER_SECOND);
        let allowed = (1..=limit + 50)
            .filter(|n| book.mention(LeaseId(*n), &"a".into(), at(0)))
            .count();
        assert_eq!(allowed, SAMPLES_PER_SECOND as usize);
        assert_eq!(book.take_due(at(0)), []);
        assert_eq!(book.take_due(at(1_000)).len(), SAMPLES_PER_SECOND as usize);
    }
}
