//! The history of a lock: its holds, renewals and hold duration statistics.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use utoipa::ToSchema;

use super::{Fingerprint, Timestamp};

/// Why a hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum HoldEndReason {
    /// The lock disappeared before its lease ended: it was released, deleted by another client, or
    /// evicted. Redis does not report which.
    Released,
    /// The lease ended.
    Expired,
    /// A user released the lock by force through this console.
    Forced,
    /// The next poll showed another owner before the lease ended: the value was overwritten, or the
    /// lock was released and acquired between two polls.
    TakenOver,
    /// The lock disappeared while the console did not observe it.
    Unknown,
}

impl HoldEndReason {
    /// The word in the API and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// The source of the start time of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum StartSource {
    /// The owner already held the lock at the first observation. The hold may have started earlier.
    FirstSeen,
    /// The timestamp in the owner's value.
    Claimed,
    /// The console observed the start: the previous observation did not show this owner.
    Appeared,
}

impl StartSource {
    /// The word in the API and in CSV.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// A period in which one owner held the lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Hold {
    /// The owner.
    pub fingerprint: Fingerprint,
    /// The label of the owner, if it has one.
    pub label: Option<String>,
    /// The known start of the hold.
    pub started_at: Timestamp,
    /// How `started_at` is known.
    pub started_at_source: StartSource,
    /// The hold may have started up to this many milliseconds earlier; null if the limit is not
    /// known.
    pub started_at_uncertainty_ms: Option<u64>,
    /// The end of the hold; null while it lasts.
    pub ended_at: Option<Timestamp>,
    /// Why the hold ended; null while it lasts.
    pub end_reason: Option<HoldEndReason>,
    /// The number of renewals that were observed during the hold.
    pub renewal_count: u32,
}

impl Hold {
    /// The duration of the hold, up to `now` if it has not ended.
    pub fn duration_ms(&self, now: Timestamp) -> u64 {
        let until = self.ended_at.unwrap_or(now);
        u64::try_from(until.millis_since(self.started_at)).unwrap_or(0)
    }
}

/// The holds that statistics are based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StatsScope {
    /// The holds of this lock.
    Lock,
    /// The holds of all locks with the same name pattern, because this lock has too few.
    Pattern,
}

/// Statistics of the hold duration. Only holds that were observed from start to end and were not
/// released by force are included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HoldStats {
    /// The number of holds.
    pub count: u32,
    /// The median in milliseconds.
    pub p50_ms: u64,
    /// The 90th percentile in milliseconds.
    pub p90_ms: u64,
    /// The 99th percentile in milliseconds.
    pub p99_ms: u64,
    /// The longest hold in milliseconds.
    pub max_ms: u64,
    /// Which holds are included.
    pub scope: StatsScope,
    /// The name pattern, such as `lock:invoice:*`, if `scope` is `pattern`.
    pub pattern: Option<String>,
}

impl HoldStats {
    /// With fewer holds the percentiles are not meaningful, and no hold counts as overdue.
    pub const MIN_HOLDS: usize = 5;
    /// A hold is overdue if it exceeds the 90th percentile by this factor …
    const OVERDUE_FACTOR: u64 = 3;
    /// … and by at least this time. Without it, a pause of the owner's process would make every
    /// short lock overdue.
    const MIN_OVERDUE_MS: u64 = 10_000;

    /// Computes the statistics of these durations; `None` if there are none.
    pub fn from_durations(duration_ms: &mut [u64], of: StatsScope) -> Option<Self> {
        duration_ms.sort_unstable();
        let max_ms = *duration_ms.last()?;
        // Nearest-rank method: each percentile is the duration of an actual hold.
        let percentile = |percent: usize| {
            let rank = (duration_ms.len() * percent).div_ceil(100).max(1);
            duration_ms.get(rank - 1).copied().unwrap_or(max_ms)
        };
        Some(Self {
            count: u32::try_from(duration_ms.len()).unwrap_or(u32::MAX),
            p50_ms: percentile(50),
            p90_ms: percentile(90),
            p99_ms: percentile(99),
            max_ms,
            scope: of,
            pattern: None,
        })
    }

    /// The duration after which a hold is overdue: three times the 90th percentile, and at least
    /// 10 s more than it. `None` with fewer than five holds.
    pub fn overdue_after_ms(&self) -> Option<u64> {
        let has_enough_holds =
            usize::try_from(self.count).is_ok_and(|count| count >= Self::MIN_HOLDS);
        let after = self.p90_ms.saturating_mul(Self::OVERDUE_FACTOR);
        has_enough_holds.then(|| after.max(self.p90_ms.saturating_add(Self::MIN_OVERDUE_MS)))
    }
}

/// A renewal of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RenewalEvent {
    /// When the renewal was observed.
    pub at: Timestamp,
    /// The new expiry.
    pub expires_at: Timestamp,
}

/// The retention of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Retention {
    /// The maximum number of holds that are kept for each lock; the oldest are removed first.
    pub max_holds: u32,
    /// A hold is removed this many milliseconds after it ended.
    pub max_age_ms: u64,
    /// The start of the recorded history, within these limits: the start of the console, or the
    /// last time that it evicted the history of the least recently changed locks.
    pub since: Timestamp,
}

/// The observed history of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// The holds, the latest first. Between two holds no owner was observed.
    pub holds: Vec<Hold>,
    /// The most recent renewals of an exclusive lock, the latest last; at most 24. The lease before
    /// the first of them is not known.
    #[serde(default)]
    pub renewals: Vec<RenewalEvent>,
    /// Statistics of the hold duration; null if no hold was observed from start to end.
    pub hold_stats: Option<HoldStats>,
    /// The limits of the history.
    pub retention: Retention,
}

impl History {
    /// For each hold, the milliseconds without an owner until the next hold. `None` for the latest
    /// hold and for holds without a gap.
    pub fn gaps_ms(&self) -> Vec<Option<u64>> {
        let later = std::iter::once(None).chain(self.holds.iter().map(Some));
        let gap = |(hold, later): (&Hold, Option<&Hold>)| {
            let gap = later?.started_at.millis_since(hold.ended_at?);
            u64::try_from(gap).ok().filter(|ms| *ms > 0)
        };
        self.holds.iter().zip(later).map(gap).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_durations_of_actual_holds() {
        let mut hundred: Vec<u64> = (1..=100).rev().map(|n| n * 10).collect();
        let stats = HoldStats::from_durations(&mut hundred, StatsScope::Lock).unwrap();
        let figures = (stats.p50_ms, stats.p90_ms, stats.p99_ms, stats.max_ms);
        assert_eq!((stats.count, figures), (100, (500, 900, 990, 1_000)));
        let one = HoldStats::from_durations(&mut [70], StatsScope::Lock).unwrap();
        assert_eq!((one.p50_ms, one.p99_ms, one.max_ms), (70, 70, 70));
        assert_eq!(HoldStats::from_durations(&mut [], StatsScope::Lock), None);
    }

    #[test]
    fn a_hold_is_overdue_only_with_enough_statistics_and_a_large_excess() {
        let after = |holds: &[u64]| {
            let stats = HoldStats::from_durations(&mut holds.to_vec(), StatsScope::Lock).unwrap();
            stats.overdue_after_ms()
        };
        assert_eq!(after(&[100; 4]), None);
        assert_eq!(after(&[100; 5]), Some(10_100));
        assert_eq!(after(&[60_000; 5]), Some(180_000));
    }

    #[test]
    fn gaps_are_the_times_between_two_holds() {
        let hold = |from: i64, until: Option<i64>| Hold {
            fingerprint: Fingerprint::parse("0123456789abcdef").unwrap(),
            label: None,
            started_at: Timestamp::from_millis(from),
            started_at_source: StartSource::Appeared,
            started_at_uncertainty_ms: Some(0),
            ended_at: until.map(Timestamp::from_millis),
            end_reason: until.map(|_| HoldEndReason::Released),
            renewal_count: 0,
        };
        let history = History {
            holds: vec![hold(900, None), hold(500, Some(700)), hold(0, Some(500))],
            renewals: Vec::new(),
            hold_stats: None,
            retention: Retention {
                max_holds: 100,
                max_age_ms: 1,
                since: Timestamp::from_millis(0),
            },
        };
        assert_eq!(history.gaps_ms(), [None, Some(200), None]);
        assert_eq!(
            history.holds[0].duration_ms(Timestamp::from_millis(950)),
            50
        );
    }
}
