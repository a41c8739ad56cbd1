//! One hold: while it lasts, and after it ended.

use std::sync::Arc;

use super::ChangeContext;
use crate::domain::{
    AcquiredAtSource, Fingerprint, Hold, HoldEndReason, Holder, Lock, Mode, StartSource, Timestamp,
    Verdict,
};

/// After a longer gap between observations, the state in between is unknown.
const MAX_UNOBSERVED_MS: i64 = 5_000;
/// Jitter of polling and clocks around a deadline.
const EXPIRY_JITTER_MS: i64 = 200;
/// An owner that still has the lock this long after a force-release was not released, or acquired
/// it again.
const FORCE_RELEASE_TIMEOUT_MS: i64 = 2_000;
/// A start is known if its uncertainty is at most this: on a small key space without notifications,
/// a scan pass begins about every second and is reported a second later …
const MAX_START_UNCERTAINTY_MS: u64 = 2_000;
/// … or at most one part in this many of the hold.
const MAX_START_UNCERTAINTY_DIVISOR: u64 = 10;

/// A current hold.
#[derive(Clone, Debug)]
pub(super) struct OpenHold {
    pub(super) owner: Fingerprint,
    pub(super) label: Option<Arc<str>>,
    pub(super) started_at: Timestamp,
    pub(super) start_source: StartSource,
    pub(super) uncertainty_ms: Option<u32>,
    pub(super) renewals: u32,
    /// Whether the owner was observed with a quorum.
    pub(super) was_held: bool,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) forced_at: Option<Timestamp>,
    pub(super) min_margin_ms: Option<u32>,
    pub(super) attempts: Attempts,
}

/// The failed attempts during a hold. Evidence covers a sliding window, so only its increases are
/// counted: a lower bound.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attempts {
    pub(super) count: Option<u32>,
    in_window: u32,
}

impl Attempts {
    /// Starts counting at the start of a hold; attempts in the window were made before.
    fn starting_with(lock: &Lock) -> Self {
        Self {
            count: None,
            in_window: attempts_in_window(lock).unwrap_or(0),
        }
    }

    fn update(&mut self, lock: &Lock) {
        let Some(in_window) = attempts_in_window(lock) else {
            self.in_window = 0;
            return;
        };
        let new = in_window.saturating_sub(self.in_window);
        self.count = Some(self.count.unwrap_or(0).saturating_add(new));
        self.in_window = in_window;
    }
}

/// The failed attempts that the evidence of a lock counts; `None` if it counts none.
fn attempts_in_window(lock: &Lock) -> Option<u32> {
    let evidence = lock.evidence.iter();
    let counted = evidence.filter(|one| ["api-attempts", "monitor-sample"].contains(&&*one.kind));
    counted
        .map(|one| u32::try_from(one.value).unwrap_or(u32::MAX))
        .reduce(u32::saturating_add)
}

/// An ended hold.
#[derive(Debug)]
pub(super) struct EndedHold {
    pub(super) owner: Fingerprint,
    pub(super) label: Option<Arc<str>>,
    pub(super) started_at: Timestamp,
    pub(super) ended_at: Timestamp,
    pub(super) uncertainty_ms: Option<u32>,
    pub(super) renewals: u32,
    pub(super) start_source: StartSource,
    pub(super) end_reason: HoldEndReason,
}

impl OpenHold {
    pub(super) fn new(
        owner: Fingerprint,
        started_at: Timestamp,
        source: AcquiredAtSource,
        uncertainty: Option<i64>,
    ) -> Self {
        let (start_source, uncertainty_ms) = match (source, uncertainty) {
            (AcquiredAtSource::Claimed, _) => (StartSource::Claimed, Some(0)),
            // After a longer gap, other owners may have held the lock in between.
            (AcquiredAtSource::FirstSeen, Some(ms)) if ms <= MAX_UNOBSERVED_MS => {
                (StartSource::Appeared, u32::try_from(ms).ok())
            }
            (AcquiredAtSource::FirstSeen, Some(_) | None) => (StartSource::FirstSeen, None),
        };
        Self {
            owner,
            label: None,
            started_at,
            start_source,
            uncertainty_ms,
            renewals: 0,
            was_held: false,
            expires_at: None,
            forced_at: None,
            min_margin_ms: None,
            attempts: Attempts::default(),
        }
    }

    /// Starts to count attempts.
    pub(super) fn start_counting(&mut self, lock: &Lock) {
        self.attempts = Attempts::starting_with(lock);
    }

    /// Shifts all times after a clock step. The duration does not change.
    pub(super) fn apply_clock_step(&mut self, ms: i64) {
        self.started_at = self.started_at.plus_millis(ms);
        self.expires_at = self.expires_at.map(|at| at.plus_millis(ms));
        self.forced_at = self.forced_at.map(|at| at.plus_millis(ms));
    }

    pub(super) fn update(&mut self, lock: &Lock, holder: Option<&Holder>, read_at: Timestamp) {
        let (renewals, expires_at) = match holder {
            Some(holder) => (&holder.renewals, holder.expires_at),
            None => (&lock.renewals, lock.lease.expires_at()),
        };
        let count = renewals.count;
        let margin = renewals.min_margin_ms;
        let margin = margin.map(|ms| u32::try_from(ms).unwrap_or(u32::MAX));
        self.min_margin_ms = self.min_margin_ms.into_iter().chain(margin).min();
        self.attempts.update(lock);
        // The count is reset when a shared lease becomes the owner's own lease.
        self.renewals = self.renewals.max(count);
        self.was_held |= lock.verdict == Verdict::Held;
        self.expires_at = expires_at;
        self.forced_at = self
            .forced_at
            .filter(|at| read_at.millis_since(*at) < FORCE_RELEASE_TIMEOUT_MS);
    }

    /// The reason and time of the end, if the lock is still held but not by this owner.
    pub(super) fn end_when_replaced(
        &self,
        lock: &Lock,
        context: ChangeContext,
    ) -> (HoldEndReason, Timestamp) {
        let at = context.read_at;
        if let Some(expires) = self.expires_at
            && at.millis_since(expires) >= -EXPIRY_JITTER_MS
        {
            return (HoldEndReason::Expired, expires.min(at));
        }
        let unobserved_ms = context
            .last_observed_at
            .map_or(0, |before| at.millis_since(before));
        match lock.mode {
            _ if unobserved_ms > MAX_UNOBSERVED_MS && !context.had_notification => {
                (HoldEndReason::Unknown, at)
            }
            Mode::Exclusive => (HoldEndReason::TakenOver, at),
            // Other owners of a shared lock do not displace anyone.
            Mode::Shared => (HoldEndReason::Released, at),
        }
    }

    /// Ends the hold. A recorded force-release overrides the reason.
    pub(super) fn end(self, end_reason: HoldEndReason, ended_at: Timestamp) -> EndedHold {
        EndedHold {
            end_reason: self.forced_at.map_or(end_reason, |_| HoldEndReason::Forced),
            // A lease may have expired before the owner was first observed.
            ended_at: ended_at.max(self.started_at),
            owner: self.owner,
            label: self.label,
            started_at: self.started_at,
            uncertainty_ms: self.uncertainty_ms,
            renewals: self.renewals,
            start_source: self.start_source,
        }
    }

    pub(super) fn to_hold(&self) -> Hold {
        Hold {
            fingerprint: self.owner,
            label: self.label.as_deref().map(str::to_owned),
            started_at: self.started_at,
            started_at_source: self.start_source,
            started_at_uncertainty_ms: self.uncertainty_ms.map(u64::from),
            ended_at: None,
            end_reason: None,
            renewal_count: self.renewals,
        }
    }
}

impl EndedHold {
    /// The duration, if it is representative: start and end were observed, and the hold was not cut
    /// short.
    pub(super) fn representative_duration_ms(&self) -> Option<u64> {
        let duration_ms = u64::try_from(self.ended_at.millis_since(self.started_at)).unwrap_or(0);
        let uncertainty = u64::from(self.uncertainty_ms?);
        let is_known = uncertainty
            <= MAX_START_UNCERTAINTY_MS.max(duration_ms / MAX_START_UNCERTAINTY_DIVISOR);
        let is_representative = match self.end_reason {
            HoldEndReason::Released | HoldEndReason::Expired | HoldEndReason::TakenOver => true,
            HoldEndReason::Forced | HoldEndReason::Unknown => false,
        };
        (is_known && is_representative).then_some(duration_ms)
    }

    pub(super) fn to_hold(&self) -> Hold {
        Hold {
            fingerprint: self.owner,
            label: self.label.as_deref().map(str::to_owned),
            started_at: self.started_at,
            started_at_source: self.start_source,
            started_at_uncertainty_ms: self.uncertainty_ms.map(u64::from),
            ended_at: Some(self.ended_at),
            end_reason: Some(self.end_reason),
            renewal_count: self.renewals,
        }
    }
}

/// The size of an ended hold.
#[cfg(test)]
pub(super) const BYTES_PER_HOLD: usize = size_of::<EndedHold>();
