//! How long holds usually last: the latest ones of a name pattern, and the limit that follows from them.

use crate::domain::{Timestamp, Usual, UsualOf};

/// What is expected of a hold, by those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Expected {
    /// Half of them lasted longer, in milliseconds.
    pub half_last_ms: u64,
    /// From when on it is overdue.
    pub overdue_after_ms: u64,
}

impl Expected {
    /// Nothing while too few holds are known.
    pub(super) fn of(usual: &Usual) -> Option<Self> {
        Some(Self {
            half_last_ms: usual.p50_ms,
            overdue_after_ms: usual.overdue_after_ms()?,
        })
    }
}

/// So many durations of one pattern are kept.
const MOST_SAMPLES: usize = 256;

/// The latest durations of holds.
#[derive(Debug, Default)]
pub(super) struct Samples {
    lasted_ms: Vec<u32>,
    /// Which one is overwritten next, once there are enough.
    next: usize,
    limit: Limit,
    pub(super) changed_at: Option<Timestamp>,
}

impl Samples {
    pub(super) fn add(&mut self, lasted_ms: &[u64], now: Timestamp) {
        self.changed_at = Some(now);
        self.limit.forget();
        for ms in lasted_ms {
            let ms = u32::try_from(*ms).unwrap_or(u32::MAX);
            match self.lasted_ms.get_mut(self.next) {
                Some(oldest) => *oldest = ms,
                None => self.lasted_ms.push(ms),
            }
            self.next = (self.next + 1) % MOST_SAMPLES;
        }
    }

    pub(super) fn all(&self) -> Vec<u64> {
        self.lasted_ms.iter().map(|ms| u64::from(*ms)).collect()
    }

    pub(super) fn expected(&mut self) -> Option<Expected> {
        let Self {
            limit, lasted_ms, ..
        } = self;
        limit.get(|| lasted_ms.iter().map(|ms| u64::from(*ms)).collect())
    }
}

/// What is expected of a hold, worked out when it is asked for and only once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limit(Option<Option<Expected>>);

impl Limit {
    pub(super) fn get(&mut self, lasted_ms: impl FnOnce() -> Vec<u64>) -> Option<Expected> {
        *self.0.get_or_insert_with(|| {
            let usual = Usual::of(&mut lasted_ms(), UsualOf::Lock);
            usual.as_ref().and_then(Expected::of)
        })
    }

    /// Something is known beyond it.
    pub(super) fn forget(&mut self) {
        self.0 = None;
    }
}
