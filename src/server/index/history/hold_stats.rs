//! Duration statistics: the latest holds of a key pattern, and the expectation that follows from
//! them.

use crate::domain::{HoldStats, StatsScope, Timestamp};

/// The expected duration of a hold, based on earlier holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct HoldExpectation {
    /// The median duration in milliseconds.
    pub median_ms: u64,
    /// The duration in milliseconds after which a hold is overdue.
    pub overdue_after_ms: u64,
}

impl HoldExpectation {
    /// `None` if there are too few holds.
    pub(super) fn from_stats(stats: &HoldStats) -> Option<Self> {
        Some(Self {
            median_ms: stats.p50_ms,
            overdue_after_ms: stats.overdue_after_ms()?,
        })
    }
}

/// Durations kept per pattern.
const MAX_SAMPLES: usize = 256;

/// A ring of the latest durations.
#[derive(Debug, Default)]
pub(super) struct DurationSamples {
    durations_ms: Vec<u32>,
    /// The next position to be written.
    next: usize,
    expectation: CachedExpectation,
    pub(super) changed_at: Option<Timestamp>,
}

impl DurationSamples {
    pub(super) fn add(&mut self, durations_ms: &[u64], now: Timestamp) {
        self.changed_at = Some(now);
        self.expectation.invalidate();
        for ms in durations_ms {
            let ms = u32::try_from(*ms).unwrap_or(u32::MAX);
            match self.durations_ms.get_mut(self.next) {
                Some(oldest) => *oldest = ms,
                None => self.durations_ms.push(ms),
            }
            self.next = (self.next + 1) % MAX_SAMPLES;
        }
    }

    pub(super) fn all(&self) -> Vec<u64> {
        self.durations_ms.iter().map(|ms| u64::from(*ms)).collect()
    }

    pub(super) fn expectation(&mut self) -> Option<HoldExpectation> {
        let Self {
            expectation,
            durations_ms,
            ..
        } = self;
        expectation.get(|| durations_ms.iter().map(|ms| u64::from(*ms)).collect())
    }
}

/// An expectation that is computed on demand and cached.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CachedExpectation(Option<Option<HoldExpectation>>);

impl CachedExpectation {
    pub(super) fn get(
        &mut self,
        durations_ms: impl FnOnce() -> Vec<u64>,
    ) -> Option<HoldExpectation> {
        // The inner `None` is cached as well: there are too few holds.
        *self.0.get_or_insert_with(|| {
            let stats = HoldStats::from_durations(&mut durations_ms(), StatsScope::Lock);
            stats.as_ref().and_then(HoldExpectation::from_stats)
        })
    }

    /// Drops the cached value after a change of its inputs.
    pub(super) fn invalidate(&mut self) {
        self.0 = None;
    }
}
