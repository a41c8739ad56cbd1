//! The current and the ended holds of one lock.

use std::collections::VecDeque;
use std::sync::Arc;

use super::hold::{EndedHold, OpenHold};
use super::hold_stats::{CachedExpectation, HoldExpectation};
use super::recent_renewals::RecentRenewals;
use super::{ChangeContext, MAX_HOLDS_PER_LOCK, MAX_SHARED_OWNERS};
use crate::domain::{
    Fingerprint, Format, Hold, HoldEndReason, HoldStats, Lock, Mode, Owner, RenewalEvent,
    StatsScope, Timestamp,
};

/// The longest time between a force-release and the poll that shows it.
const FORCE_RELEASE_WINDOW_MS: i64 = 10_000;

/// How the first owner of a lock acquired it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The lock was not held.
    Appeared,
    /// The lock was held by another owner.
    TookOver,
    /// The owner held the lock before.
    Existing,
}

/// A change of a hold, for the recorder.
pub(super) enum HoldChange<'a> {
    /// An owner was observed with a quorum for the first time.
    Started(&'a OpenHold),
    /// The hold was renewed, or attempts were observed.
    Renewed(&'a OpenHold),
    /// The hold ended.
    Ended {
        ended: &'a EndedHold,
        min_margin_ms: Option<u32>,
        attempts: Option<u32>,
    },
}

/// The holds of one lock.
#[derive(Debug, Default)]
pub(super) struct LockHistory {
    /// Ordered by end, the latest last.
    ended: VecDeque<EndedHold>,
    open: Vec<OpenHold>,
    changed_at: Option<Timestamp>,
    expectation: CachedExpectation,
    renewals: RecentRenewals,
    /// The format of the latest observation.
    format: Option<Format>,
}

impl LockHistory {
    /// Records that the lock was observed. Returns the durations of holds that ended and are
    /// representative.
    pub(super) fn record_held(
        &mut self,
        lock: &Lock,
        arrival: Arrival,
        context: ChangeContext,
        absent_since: Option<Timestamp>,
        mut label: impl FnMut(&str) -> Arc<str>,
        report: &mut dyn FnMut(HoldChange<'_>),
    ) -> Vec<u64> {
        self.apply_clock_step(context.clock_step_ms);
        self.format = Some(lock.format);
        let now = owners(lock);
        let was_held_by_others = !self.open.is_empty();
        // An earlier owner of an exclusive lock keeps it while it is still shown and no owner has a
        // quorum.
        let still_shown = lock.owners.iter().filter(|_| lock.owner.is_none());
        let still_holds = |open: &OpenHold| {
            let mut owners = now.iter().copied().chain(still_shown.clone());
            owners.any(|owner| owner.fingerprint == open.owner)
        };
        let leaving: Vec<OpenHold> = self
            .open
            .extract_if(.., |open| !still_holds(open))
            .collect();
        let durations = leaving
            .into_iter()
            .filter_map(|open| {
                let (end_reason, ended_at) = open.end_when_replaced(lock, context);
                self.end(open, end_reason, ended_at, report)
            })
            .collect();
        let last_ended = self.ended.back().map(|ended| ended.ended_at);
        for (n, owner) in now.into_iter().enumerate() {
            let holder = lock.holder(&owner.fingerprint);
            if let Some(open) = self
                .open
                .iter_mut()
                .find(|open| open.owner == owner.fingerprint)
            {
                let (renewals_before, expiry_before) = (open.renewals, open.expires_at);
                let (was_held, attempts_before) = (open.was_held, open.attempts.count);
                open.update(lock, holder, context.read_at);
                if !was_held && open.was_held {
                    report(HoldChange::Started(open));
                } else if was_held
                    && (open.renewals > renewals_before || open.attempts.count != attempts_before)
                {
                    report(HoldChange::Renewed(open));
                }
                if lock.mode == Mode::Exclusive && open.renewals > renewals_before {
                    self.renewals
                        .record(open, expiry_before, lock, context.read_at);
                }
                continue;
            }
            let joined = was_held_by_others && (n > 0 || arrival == Arrival::Existing);
            let absent_since = match arrival {
                Arrival::Appeared => absent_since.max(last_ended),
                Arrival::TookOver => context.last_observed_at,
                Arrival::Existing => context.last_observed_at.filter(|_| joined),
            };
            // After the clock was set back, the elapsed time is not known.
            let absent_since = absent_since.filter(|since| *since <= context.read_at);
            // The lock was absent, no notification was missed since then, and one has arrived now:
            // the hold began just now.
            let absent_since = match (absent_since, context.feed_complete_since) {
                (Some(absent), Some(fed)) if context.had_notification && absent >= fed => {
                    Some(context.read_at)
                }
                (absent_since, _) => absent_since,
            };
            let started_at = match holder {
                Some(holder) => holder.acquired_at,
                None if joined => context.read_at,
                None => lock.acquired_at,
            };
            let uncertainty = absent_since.map(|since| started_at.millis_since(since).max(0));
            let mut open = OpenHold::new(
                owner.fingerprint,
                started_at,
                lock.acquired_at_source,
                uncertainty,
            );
            open.label = owner.label.as_deref().map(&mut label);
            open.start_counting(lock);
            open.update(lock, holder, context.read_at);
            if open.was_held {
                report(HoldChange::Started(&open));
            }
            if self.open.is_empty() {
                // Most locks have one owner, but a `Vec` starts with room for four.
                self.open.reserve_exact(1);
            }
            self.open.push(open);
        }
        self.changed_at = Some(context.read_at);
        durations
    }

    /// Shifts the times of current holds after a clock step. Ended holds stay unchanged.
    pub(super) fn apply_clock_step(&mut self, ms: i64) {
        for open in &mut self.open {
            open.apply_clock_step(ms);
        }
    }

    /// Ends all current holds.
    pub(super) fn record_gone(
        &mut self,
        end_reason: HoldEndReason,
        at: Timestamp,
        report: &mut dyn FnMut(HoldChange<'_>),
    ) -> Vec<u64> {
        self.changed_at = Some(at);
        let durations = std::mem::take(&mut self.open).into_iter().map(|open| {
            let ended_at = match end_reason {
                HoldEndReason::Expired => open.expires_at.map_or(at, |expires| expires.min(at)),
                HoldEndReason::Released
                | HoldEndReason::Forced
                | HoldEndReason::TakenOver
                | HoldEndReason::Unknown => at,
            };
            self.end(open, end_reason, ended_at, report)
        });
        durations.flatten().collect()
    }

    /// Marks the hold of an owner as force-released. Returns the end of the hold if it has ended.
    pub(super) fn record_force_release(
        &mut self,
        owner: Fingerprint,
        at: Timestamp,
    ) -> Option<Timestamp> {
        if let Some(open) = self.open.iter_mut().find(|open| open.owner == owner) {
            open.forced_at = Some(at);
            return None;
        }
        let last = self.ended.iter_mut().rfind(|ended| ended.owner == owner);
        if let Some(last) = last
            && last.ended_at.millis_since(at).abs() <= FORCE_RELEASE_WINDOW_MS
        {
            last.end_reason = HoldEndReason::Forced;
            self.expectation.invalidate();
            return Some(last.ended_at);
        }
        None
    }

    fn end(
        &mut self,
        open: OpenHold,
        end_reason: HoldEndReason,
        ended_at: Timestamp,
        report: &mut dyn FnMut(HoldChange<'_>),
    ) -> Option<u64> {
        if !open.was_held {
            return None;
        }
        let (min_margin_ms, attempts) = (open.min_margin_ms, open.attempts.count);
        let ended = open.end(end_reason, ended_at);
        report(HoldChange::Ended {
            ended: &ended,
            min_margin_ms,
            attempts,
        });
        let duration_ms = ended.representative_duration_ms();
        while self.ended.len() >= MAX_HOLDS_PER_LOCK {
            self.ended.pop_front();
        }
        if self.ended.is_empty() {
            // Most locks have few holds; the capacity doubles from one.
            self.ended.reserve_exact(1);
        }
        self.ended.push_back(ended);
        self.expectation.invalidate();
        duration_ms
    }

    /// Removes holds that ended before `oldest`. Returns whether anything is left.
    pub(super) fn forget_before(&mut self, oldest: Timestamp) -> bool {
        self.renewals.forget_before(oldest);
        let before = self.ended.len();
        self.ended.retain(|ended| ended.ended_at >= oldest);
        if self.ended.len() < before {
            self.ended.shrink_to_fit();
            self.expectation.invalidate();
        }
        !self.ended.is_empty() || !self.open.is_empty()
    }

    /// The number of ended holds.
    pub(super) fn len(&self) -> usize {
        self.ended.len()
    }

    /// Whether the lock has an owner.
    pub(super) fn is_held(&self) -> bool {
        !self.open.is_empty()
    }

    /// Eviction order: locks without an owner first, then those that changed longest ago.
    pub(super) fn rank(&self) -> (bool, Timestamp) {
        let never = Timestamp::from_millis(0);
        (self.is_held(), self.changed_at.unwrap_or(never))
    }

    /// The holds, the latest first.
    pub(super) fn holds(&self, oldest: Timestamp) -> Vec<Hold> {
        let mut open: Vec<&OpenHold> = self.open.iter().filter(|open| open.was_held).collect();
        open.sort_by_key(|open| std::cmp::Reverse(open.started_at));
        let ended = self.ended.iter().rev();
        let ended = ended
            .filter(|ended| ended.ended_at >= oldest)
            .map(EndedHold::to_hold);
        open.into_iter()
            .map(OpenHold::to_hold)
            .chain(ended)
            .collect()
    }

    /// The current holds of owners that were observed with a quorum.
    pub(super) fn open_holds(&self) -> impl Iterator<Item = &OpenHold> {
        self.open.iter().filter(|open| open.was_held)
    }

    /// The format of the lock; `None` before the first observation.
    pub(super) fn format(&self) -> Option<Format> {
        self.format
    }

    /// The latest renewals.
    pub(super) fn renewals(&self) -> Vec<RenewalEvent> {
        self.renewals.to_vec()
    }

    fn durations_ms(&self) -> Vec<u64> {
        let durations = self
            .ended
            .iter()
            .filter_map(EndedHold::representative_duration_ms);
        durations.collect()
    }

    /// Duration statistics of this lock.
    pub(super) fn stats(&self) -> Option<HoldStats> {
        HoldStats::from_durations(&mut self.durations_ms(), StatsScope::Lock)
    }

    /// The expectation from the lock's own holds, if there are enough of them.
    pub(super) fn own_expectation(&mut self) -> Option<HoldExpectation> {
        (self.ended.len() >= HoldStats::MIN_HOLDS)
            .then(|| self.expectation())
            .flatten()
    }

    /// The expectation from the lock's own holds.
    pub(super) fn expectation(&mut self) -> Option<HoldExpectation> {
        let Self {
            expectation, ended, ..
        } = self;
        expectation.get(|| {
            let durations = ended
                .iter()
                .filter_map(EndedHold::representative_duration_ms);
            durations.collect()
        })
    }
}

/// The owners whose holds are recorded.
fn owners(lock: &Lock) -> Vec<&Owner> {
    let lead = lock.owner.as_ref().or(lock.owners.first());
    match lock.mode {
        Mode::Exclusive => lead.into_iter().collect(),
        Mode::Shared => lock.owners.iter().take(MAX_SHARED_OWNERS).collect(),
    }
}
