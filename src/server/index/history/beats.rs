//! The latest renewals of one lock: when each was seen, and until when the lease was then.

use std::collections::VecDeque;

use super::holds::Open;
use crate::domain::{Beat, Lock, Timestamp};

/// So many renewals of one lock are kept.
pub const MOST_BEATS: usize = 24;

/// The latest renewals; nothing is taken up before there is one.
#[derive(Debug, Default)]
pub(super) struct Beats(Option<Box<Ring>>);

#[derive(Debug)]
struct Ring {
    /// What the others are counted from.
    base: Timestamp,
    /// Milliseconds after the base, and what was left of the lease then.
    beats: VecDeque<(u32, u32)>,
}

impl Beats {
    /// A hold was renewed: before, its lease would have ended at that moment.
    pub(super) fn of(
        &mut self,
        open: &Open,
        before: Option<Timestamp>,
        lock: &Lock,
        asked_at: Timestamp,
    ) {
        let Some(expires_at) = lock.lease.expires_at() else {
            return;
        };
        if let Some(before) = before
            && self.last_at().is_none_or(|last| last < open.from)
        {
            self.add(open.from, before);
        }
        self.add(lock.renewals.last_at.unwrap_or(asked_at), expires_at);
    }

    /// A renewal was seen at that moment, of a lease that ends then.
    fn add(&mut self, at: Timestamp, expires_at: Timestamp) {
        let fresh = || Ring {
            base: at,
            beats: VecDeque::with_capacity(MOST_BEATS),
        };
        let ring = self.0.get_or_insert_with(|| Box::new(fresh()));
        let mut after = u32::try_from(at.millis_since(ring.base));
        if after.is_err() {
            // Later than four bytes can tell, or a clock went back: what was before is of no use for a picture.
            **ring = fresh();
            after = Ok(0);
        }
        let left = u32::try_from(expires_at.millis_since(at)).unwrap_or(0);
        if ring.beats.len() >= MOST_BEATS {
            ring.beats.pop_front();
        }
        ring.beats.push_back((after.unwrap_or(0), left));
    }

    /// When the last one was.
    pub(super) fn last_at(&self) -> Option<Timestamp> {
        let ring = self.0.as_deref()?;
        let (after, _) = ring.beats.back()?;
        Some(ring.base.plus_millis(i64::from(*after)))
    }

    /// Drops all of them if the last is older.
    pub(super) fn forget_before(&mut self, oldest: Timestamp) {
        if self.last_at() < Some(oldest) {
            self.0 = None;
        }
    }

    /// The latest last.
    pub(super) fn tell(&self) -> Vec<Beat> {
        let beat = |ring: &Ring, (after, left): &(u32, u32)| {
            let at = ring.base.plus_millis(i64::from(*after));
            Beat {
                at,
                expires_at: at.plus_millis(i64::from(*left)),
            }
        };
        let ring = self.0.as_deref();
        ring.map_or_else(Vec::new, |ring| {
            let beats = ring.beats.iter();
            beats.map(|one| beat(ring, one)).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_795_200_000_000);

    #[test]
    fn the_latest_renewals_are_kept() {
        let mut beats = Beats::default();
        assert_eq!(beats.tell(), []);
        for n in 0..100 {
            let at = START.plus_millis(n * 10_000);
            beats.add(at, at.plus_millis(30_000));
        }
        let told = beats.tell();
        assert_eq!(told.len(), MOST_BEATS);
        let last = START.plus_millis(990_000);
        assert_eq!(told.last().map(|beat| beat.at), Some(last));
        assert_eq!(
            told.last().map(|beat| beat.expires_at),
            Some(last.plus_millis(30_000))
        );
        beats.forget_before(last);
        assert_eq!(beats.tell().len(), MOST_BEATS);
        beats.forget_before(last.plus_millis(1));
        assert_eq!(beats.tell(), []);
    }

    #[test]
    fn a_lock_that_renews_for_months_and_a_clock_that_goes_back_begin_anew() {
        let mut beats = Beats::default();
        beats.add(START, START.plus_millis(1_000));
        let later = START.plus_millis(i64::from(u32::MAX) + 1);
        beats.add(later, later.plus_millis(1_000));
        assert_eq!(beats.tell().len(), 1);
        beats.add(START, START.plus_millis(1_000));
        assert_eq!(beats.last_at(), Some(START));
    }
}
