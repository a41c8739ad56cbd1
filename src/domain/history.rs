//! Who held a lock from when to when, how each hold ended, and how long it is usually held.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use utoipa::ToSchema;

use super::{Fingerprint, Timestamp};

/// How a hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum HowEnded {
    /// It was gone before its lease was over: released, deleted by somebody else, or evicted. Nodes do not tell these apart.
    Released,
    /// Its lease was over.
    Expired,
    /// It was released by force through this console.
    Forced,
    /// The next look showed another owner while its lease ran: it was overwritten, or released and taken at once.
    TakenOver,
    /// It went away while nobody was looking.
    Unknown,
}

impl HowEnded {
    /// The word in the API and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// How the start of a hold is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// The owner was there when it was first looked for: an earlier start cannot be excluded.
    FirstSeen,
    /// The owner's own time stamp.
    Claimed,
    /// It was seen to appear: shortly before, this owner did not have it.
    Appeared,
}

/// One owner's time with a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Hold {
    /// Who.
    pub fingerprint: Fingerprint,
    /// The readable part of the owner, where there was one.
    pub label: Option<String>,
    /// Since when it is known to have held it.
    pub from: Timestamp,
    /// How that is known.
    pub from_is: Start,
    /// By how many milliseconds the start may have been earlier; null where that is not known.
    pub from_within_ms: Option<u64>,
    /// Until when; null while it holds it.
    pub until: Option<Timestamp>,
    /// How it ended; null while it holds it.
    pub ending: Option<HowEnded>,
    /// How many renewals were seen in that time.
    pub renewals: u32,
}

impl Hold {
    /// How long it lasted, up to `now` where it goes on.
    pub fn lasted_ms(&self, now: Timestamp) -> u64 {
        let until = self.until.unwrap_or(now);
        u64::try_from(until.millis_since(self.from)).unwrap_or(0)
    }
}

/// Whose holds tell what is usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UsualOf {
    /// This lock's own.
    Lock,
    /// Those of all locks whose name has the same pattern: this one has too few of its own.
    Pattern,
}

/// How long a lock is usually held, from holds that were seen from beginning to end and were not cut short by force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usual {
    /// How many holds it is made of.
    pub count: u32,
    /// Half of them were not longer, in milliseconds.
    pub p50_ms: u64,
    /// Nine of ten were not longer.
    pub p90_ms: u64,
    /// 99 of a hundred were not longer.
    pub p99_ms: u64,
    /// The longest.
    pub max_ms: u64,
    /// Whose holds they are.
    pub of: UsualOf,
    /// The pattern, such as `lock:invoice:*`, where they are those of all locks with it.
    pub pattern: Option<String>,
}

impl Usual {
    /// So many holds have to be known before any is called unusual.
    pub const ENOUGH: usize = 5;
    /// A hold is overdue beyond so many times what nine of ten did not exceed …
    const TIMES: u64 = 3;
    /// … and no less than this beyond it, so that short locks do not cry wolf at every pause of a machine.
    const BEYOND_MS: u64 = 10_000;

    /// What these holds come to; nothing where there is none.
    pub fn of(lasted_ms: &mut [u64], of: UsualOf) -> Option<Self> {
        lasted_ms.sort_unstable();
        let max_ms = *lasted_ms.last()?;
        // The smallest that so many of a hundred do not exceed (nearest rank).
        let percentile = |percent: usize| {
            let rank = (lasted_ms.len() * percent).div_ceil(100).max(1);
            lasted_ms.get(rank - 1).copied().unwrap_or(max_ms)
        };
        Some(Self {
            count: u32::try_from(lasted_ms.len()).unwrap_or(u32::MAX),
            p50_ms: percentile(50),
            p90_ms: percentile(90),
            p99_ms: percentile(99),
            max_ms,
            of,
            pattern: None,
        })
    }

    /// From when on a hold is overdue: held for more than three times the p90, and for more than 10 s beyond it. Nothing
    /// while fewer than five holds are known.
    pub fn overdue_after_ms(&self) -> Option<u64> {
        let is_known = usize::try_from(self.count).is_ok_and(|count| count >= Self::ENOUGH);
        let after = self.p90_ms.saturating_mul(Self::TIMES);
        is_known.then(|| after.max(self.p90_ms.saturating_add(Self::BEYOND_MS)))
    }
}

/// One renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Beat {
    /// When it was seen.
    pub at: Timestamp,
    /// When the lock would expire by itself from then on.
    pub expires_at: Timestamp,
}

/// How far back the history goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Retention {
    /// So many holds of a lock are kept, the latest ones.
    pub holds: u32,
    /// None is kept for longer than this after it ended, in milliseconds.
    pub span_ms: u64,
    /// Since when everything that was seen is here, as far as these two let it: since the console started, or since it had to
    /// forget the locks that had not changed for longest.
    pub since: Timestamp,
}

/// Who held a lock, as far as it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// The holds, the latest first. Time between two of them is time in which nobody was seen to hold it.
    pub holds: Vec<Hold>,
    /// The latest renewals of an exclusive lock, the latest last; at most 24. What the lease was before the first of them stands
    /// there as well, at the beginning of the hold.
    #[serde(default)]
    pub beats: Vec<Beat>,
    /// How long it is usually held; null where no hold was seen from beginning to end.
    pub usual: Option<Usual>,
    /// How far back it goes.
    pub retention: Retention,
}

impl History {
    /// For each hold the milliseconds without an owner between it and the next later one; nothing for the latest, and where
    /// one followed the other at once.
    pub fn gaps_ms(&self) -> Vec<Option<u64>> {
        let later = std::iter::once(None).chain(self.holds.iter().map(Some));
        let gap = |(hold, later): (&Hold, Option<&Hold>)| {
            let gap = later?.from.millis_since(hold.until?);
            u64::try_from(gap).ok().filter(|ms| *ms > 0)
        };
        self.holds.iter().zip(later).map(gap).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_holds_that_took_place() {
        let mut hundred: Vec<u64> = (1..=100).rev().map(|n| n * 10).collect();
        let usual = Usual::of(&mut hundred, UsualOf::Lock).unwrap();
        let figures = (usual.p50_ms, usual.p90_ms, usual.p99_ms, usual.max_ms);
        assert_eq!((usual.count, figures), (100, (500, 900, 990, 1_000)));
        let one = Usual::of(&mut [70], UsualOf::Lock).unwrap();
        assert_eq!((one.p50_ms, one.p99_ms, one.max_ms), (70, 70, 70));
        assert_eq!(Usual::of(&mut [], UsualOf::Lock), None);
    }

    #[test]
    fn overdue_is_far_beyond_what_is_usual_and_needs_something_to_go_by() {
        let after = |holds: &[u64]| {
            let usual = Usual::of(&mut holds.to_vec(), UsualOf::Lock).unwrap();
            usual.overdue_after_ms()
        };
        assert_eq!(after(&[100; 4]), None);
        assert_eq!(after(&[100; 5]), Some(10_100));
        assert_eq!(after(&[60_000; 5]), Some(180_000));
    }

    #[test]
    fn gaps_are_what_lies_between_two_owners() {
        let hold = |from: i64, until: Option<i64>| Hold {
            fingerprint: Fingerprint::parse("0123456789abcdef").unwrap(),
            label: None,
            from: Timestamp::from_millis(from),
            from_is: Start::Appeared,
            from_within_ms: Some(0),
            until: until.map(Timestamp::from_millis),
            ending: until.map(|_| HowEnded::Released),
            renewals: 0,
        };
        let history = History {
            holds: vec![hold(900, None), hold(500, Some(700)), hold(0, Some(500))],
            beats: Vec::new(),
            usual: None,
            retention: Retention {
                holds: 100,
                span_ms: 1,
                since: Timestamp::from_millis(0),
            },
        };
        assert_eq!(history.gaps_ms(), [None, Some(200), None]);
        assert_eq!(history.holds[0].lasted_ms(Timestamp::from_millis(950)), 50);
    }
}
