//! The latest renewals of one lock: the time of each, and the lease deadline after it.

use std::collections::VecDeque;

use super::hold::OpenHold;
use crate::domain::{Lock, RenewalEvent, Timestamp};

/// Renewals kept per lock.
pub const MAX_RENEWALS: usize = 24;

/// The latest renewals. Allocated with the first one.
#[derive(Debug, Default)]
pub(super) struct RecentRenewals(Option<Box<Ring>>);

#[derive(Debug)]
struct Ring {
    /// The reference time of the entries.
    base: Timestamp,
    /// Milliseconds after the base, and the remaining lease in milliseconds.
    renewals: VecDeque<(u32, u32)>,
}

impl RecentRenewals {
    /// Records a renewal. The first one of a hold is preceded by an entry for the acquire.
    pub(super) fn record(
        &mut self,
        open: &OpenHold,
        previous_expiry: Option<Timestamp>,
        lock: &Lock,
        read_at: Timestamp,
    ) {
        let Some(expires_at) = lock.lease.expires_at() else {
            return;
        };
        if let Some(previous_expiry) = previous_expiry
            && self.last_at().is_none_or(|last| last < open.started_at)
        {
            self.add(open.started_at, previous_expiry);
        }
        self.add(lock.renewals.last_at.unwrap_or(read_at), expires_at);
    }

    /// Adds a renewal at `at` of a lease that ends at `expires_at`.
    fn add(&mut self, at: Timestamp, expires_at: Timestamp) {
        let new_ring = || Ring {
            base: at,
            renewals: VecDeque::with_capacity(MAX_RENEWALS),
        };
        let ring = self.0.get_or_insert_with(|| Box::new(new_ring()));
        let mut after = u32::try_from(at.millis_since(ring.base));
        if after.is_err() {
            // More than 49 days after the base, or the clock was set back. The older entries do not
            // fit the same diagram.
            **ring = new_ring();
            after = Ok(0);
        }
        let left = u32::try_from(expires_at.millis_since(at)).unwrap_or(0);
        if ring.renewals.len() >= MAX_RENEWALS {
            ring.renewals.pop_front();
        }
        ring.renewals.push_back((after.unwrap_or(0), left));
    }

    /// The time of the last renewal.
    pub(super) fn last_at(&self) -> Option<Timestamp> {
        let ring = self.0.as_deref()?;
        let (after, _) = ring.renewals.back()?;
        Some(ring.base.plus_millis(i64::from(*after)))
    }

    /// Drops all renewals if the last one is older.
    pub(super) fn forget_before(&mut self, oldest: Timestamp) {
        if self.last_at() < Some(oldest) {
            self.0 = None;
        }
    }

    /// The renewals, the latest last.
    pub(super) fn to_vec(&self) -> Vec<RenewalEvent> {
        let renewal_event = |ring: &Ring, (after, left): &(u32, u32)| {
            let at = ring.base.plus_millis(i64::from(*after));
            RenewalEvent {
                at,
                expires_at: at.plus_millis(i64::from(*left)),
            }
        };
        let ring = self.0.as_deref();
        ring.map_or_else(Vec::new, |ring| {
            let renewals = ring.renewals.iter();
            renewals.map(|one| renewal_event(ring, one)).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_795_200_000_000);

    #[test]
    fn the_latest_renewals_are_kept() {
        let mut renewals = RecentRenewals::default();
        assert_eq!(renewals.to_vec(), []);
        for n in 0..100 {
            let at = START.plus_millis(n * 10_000);
            renewals.add(at, at.plus_millis(30_000));
        }
        let kept = renewals.to_vec();
        assert_eq!(kept.len(), MAX_RENEWALS);
        let last = START.plus_millis(990_000);
        assert_eq!(
            kept.last().map(|renewal_event| renewal_event.at),
            Some(last)
        );
        assert_eq!(
            kept.last().map(|renewal_event| renewal_event.expires_at),
            Some(last.plus_millis(30_000))
        );
        renewals.forget_before(last);
        assert_eq!(renewals.to_vec().len(), MAX_RENEWALS);
        renewals.forget_before(last.plus_millis(1));
        assert_eq!(renewals.to_vec(), []);
    }

    #[test]
    fn renewals_start_over_after_49_days_or_a_clock_set_back() {
        let mut renewals = RecentRenewals::default();
        renewals.add(START, START.plus_millis(1_000));
        let later = START.plus_millis(i64::from(u32::MAX) + 1);
        renewals.add(later, later.plus_millis(1_000));
        assert_eq!(renewals.to_vec().len(), 1);
        renewals.add(START, START.plus_millis(1_000));
        assert_eq!(renewals.last_at(), Some(START));
    }
}
