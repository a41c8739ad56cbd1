//! Folds one observation of a key into the previous state of its lock. No I/O.

use std::sync::Arc;
use std::time::Duration;

use strum::VariantArray as _;

use super::feed_inference;
use super::history::HoldExpectation;
use super::holders::{self, DEADLINE_JITTER_MS, OwnerTrack, TrackedHolder};
use super::leading_owner::{self, FoldContext};
use super::merge::{FormatInfo, KeyObservation};
use super::renewal_tracker;
use crate::domain::quorum::{Judgement, ObservedLock, judge};
use crate::domain::{
    AcquiredAtSource, Change, Confidence, Flag, Format, Holder, Lease, Lock, LockId, Mode,
    NodeObservation, Observation, Owner, Timestamp, Verdict,
};
use crate::server::clock::ClockReading;

/// Owners remembered per lock because an unreachable node may still show them.
const MAX_UNREACHABLE_OWNERS: usize = 16;

/// After this many renewals by one owner, a possible lock is likely a lock.
const RENEWALS_OF_A_LOCK: u32 = 2;

/// Tracking state of a lock that is not part of its public view.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TrackedLock {
    /// When the nodes were read. Older readings that arrive later are ignored.
    read_at: ClockReading,
    /// The leading owner.
    pub(super) lead: OwnerTrack,
    /// Other owners that are shown, or may still be shown by an unreachable node.
    others: Vec<TrackedHolder>,
}

impl TrackedLock {
    /// Milliseconds by which the wall clock was stepped since the last reading.
    pub(super) fn clock_step_ms(&self, now: ClockReading) -> i64 {
        now.wall_step_ms_since(self.read_at)
    }

    fn apply_clock_step(&mut self, ms: i64) {
        self.lead.apply_clock_step(ms);
        for other in &mut self.others {
            other.apply_clock_step(ms);
        }
    }
}

/// The effect of one observation of a key.
#[derive(Debug, PartialEq)]
pub(super) enum Transition {
    /// No change.
    Ignore,
    /// The lock is gone.
    Remove(Change),
    /// The view changed although no node showed the lock; tracking state is kept.
    ShowOnly(Change),
    /// The lock was observed and its view changed.
    Store(TrackedLock, Change),
    /// The lock was observed without a visible change. Subscribers are not notified; the API
    /// reports the new observation time.
    Touch(TrackedLock, Arc<Lock>),
}

/// Folds an observation read at `read_at` into the state shown `before`.
///
/// The order of readings and steps of the wall clock are determined by the monotonic clock. After a
/// step, the times shown before are moved to the new wall clock: a deadline that moved with it was
/// not renewed.
///
/// An owner that keeps renewing for longer than `max_hold` is flagged `endless`.
pub(super) fn fold(
    id: LockId,
    before: Option<&Lock>,
    tracked: Option<&TrackedLock>,
    read_at: ClockReading,
    max_hold: Duration,
    observation: KeyObservation,
) -> Transition {
    // Readings can arrive out of order: an inspection and the watcher may read the same key
    // concurrently.
    if tracked.is_some_and(|tracked| tracked.read_at.monotonic > read_at.monotonic) {
        return Transition::Ignore;
    }
    let now = read_at.wall;
    // Compared without the shift, because subscribers have received the unshifted times.
    let previous = before;
    let clock_step_ms = tracked.map_or(0, |tracked| tracked.clock_step_ms(read_at));
    let shifted = before
        .filter(|_| clock_step_ms != 0)
        .map(|before| apply_clock_step(before, clock_step_ms));
    let before = shifted.as_ref().or(before);
    let tracked = tracked.cloned().map(|mut tracked| {
        tracked.apply_clock_step(clock_step_ms);
        tracked
    });
    let node_observations: Vec<&Observation> = observation
        .nodes
        .iter()
        .map(|node| &node.observation)
        .collect();
    let mode = observation
        .format_info
        .map_or(Mode::Exclusive, |info| info.mode);
    match (judge(&node_observations, mode), before) {
        (Judgement::NotObserved, Some(before)) => Transition::Remove(Change::Gone {
            id,
            end_reason: feed_inference::infer_end_reason(before, observation.feed, now),
            at: now,
        }),
        (Judgement::Undetermined, Some(before)) => {
            // Unreachable nodes may still hold the lock, so it stays in the index.
            let lock = mark_unknown(before.clone(), observation.nodes);
            if is_same_view(before, &lock) {
                Transition::Ignore
            } else {
                Transition::ShowOnly(Change::Updated {
                    lock: Arc::new(lock),
                })
            }
        }
        (Judgement::NotObserved | Judgement::Undetermined, None) => Transition::Ignore,
        (Judgement::Observed(observed), before) => {
            let (tracked, lock, kind) = fold_observed(
                id,
                before,
                tracked,
                read_at,
                max_hold,
                observed,
                observation,
            );
            let is_unchanged = previous.is_some_and(|previous| is_same_view(previous, &lock));
            let lock = Arc::new(lock);
            match kind {
                ChangeKind::Appeared => Transition::Store(tracked, Change::Appeared { lock }),
                ChangeKind::OwnerChanged => {
                    Transition::Store(tracked, Change::OwnerChanged { lock })
                }
                ChangeKind::Renewed => Transition::Store(tracked, Change::Renewed { lock }),
                ChangeKind::Updated if is_unchanged => Transition::Touch(tracked, lock),
                ChangeKind::Updated => Transition::Store(tracked, Change::Updated { lock }),
            }
        }
    }
}

/// The kind of change of an observed lock.
enum ChangeKind {
    Appeared,
    OwnerChanged,
    Renewed,
    Updated,
}

impl ChangeKind {
    fn of(before: Option<&Lock>, now: &Lock, tracked: &TrackedLock, renewed: bool) -> Self {
        match before {
            None => Self::Appeared,
            Some(before) if has_new_owner(before, now, tracked) => Self::OwnerChanged,
            Some(_) if renewed => Self::Renewed,
            Some(_) => Self::Updated,
        }
    }
}

/// The lock with its times moved by a step of the wall clock.
fn apply_clock_step(lock: &Lock, ms: i64) -> Lock {
    let mut lock = lock.clone();
    lock.lease = lock.lease.shifted(ms);
    lock.observed_at = lock.observed_at.plus_millis(ms);
    lock.renewals.last_at = lock.renewals.last_at.map(|at| at.plus_millis(ms));
    for holder in &mut lock.holders {
        holder.shift(ms);
    }
    // A time claimed by an owner comes from the owner's clock.
    if lock.acquired_at_source == AcquiredAtSource::FirstSeen {
        lock.acquired_at = lock.acquired_at.plus_millis(ms);
    }
    for node in &mut lock.nodes {
        if let Observation::Holds { lease, .. } = &mut node.observation {
            *lease = lease.shifted(ms);
        }
    }
    lock
}

fn fold_observed(
    id: LockId,
    before: Option<&Lock>,
    tracked: Option<TrackedLock>,
    read_at: ClockReading,
    max_hold: Duration,
    mut observed: ObservedLock,
    observation: KeyObservation,
) -> (TrackedLock, Lock, ChangeKind) {
    let now = read_at.wall;
    let info = observation.format_info;
    let mode = info.map_or(Mode::Exclusive, |info| info.mode);
    let mut readings = holders::read_owners(
        &observed.owners,
        &observation.nodes,
        &observation.leases_by_owner,
        observation.read_uncertainty,
    );
    let (lead_before, mut others) = tracked.map_or((None, Vec::new()), |tracked| {
        (Some(tracked.lead), tracked.others)
    });
    leading_owner::move_leader_first(&mut observed, &mut readings, mode, before, &others);
    let context = FoldContext::new(&observed.owners, before, observation.feed, now);
    let leader = &observed.owners[0].fingerprint;
    let mut lead = context.update_leader(leader, &readings[0], lead_before, &mut others);
    feed_inference::credit_local_renewals(
        &mut lead.renewals,
        observation.local_renewals.as_ref(),
        &observed.owners,
    );
    let (mut current_others, other_renewed) =
        context.update_others(&observed.owners, &readings, &mut others);
    let renewed = lead.is_renewed || other_renewed;
    // An owner with a quorum replaces all earlier owners.
    let has_quorum_owner = observed.verdict == Verdict::Held && mode == Mode::Exclusive;
    let reachable = holders::reachable_nodes(&observation.nodes);
    others.retain_mut(|other| !has_quorum_owner && other.clear_nodes(reachable));
    // Bounds memory when many owners follow each other while a node is unreachable.
    others.truncate(MAX_UNREACHABLE_OWNERS);

    let format = info
        .map(|info| info.format)
        .or(before.map(|before| before.format))
        .unwrap_or(Format::Plain);
    let claimed_at = info.and_then(|info| info.claimed_at);
    let (acquired_at, acquired_at_source) = context.acquired_at(
        lead.start,
        claimed_at,
        format,
        observed.lease,
        before.is_some(),
    );
    let leading = lead.holder(leader, acquired_at, acquired_at_source, &readings[0]);
    let all =
        std::iter::once(leading).chain(current_others.iter().map(|other| other.holder.clone()));
    // A single holder would repeat the fields of the lock.
    let holders: Vec<Holder> = if context.has_one_owner {
        Vec::new()
    } else {
        all.collect()
    };
    others.append(&mut current_others);
    let mut lock = Lock {
        id,
        format,
        confidence: confidence(info, before, lead.renewals.count),
        mode,
        verdict: observed.verdict,
        flags: Vec::new(),
        owner: observed.owner,
        owners: observed.owners,
        lease: observed.lease,
        acquired_at,
        acquired_at_source,
        observed_at: now,
        nodes: observation.nodes,
        renewals: lead.renewals,
        holders,
        evidence: observation.evidence,
        contention_unavailable_reason: observation.contention_unavailable_reason,
    };
    // A renewal moves the deadline. Without one, small differences are jitter.
    if let Some(before) = context.same_owner.filter(|_| !renewed) {
        keep_jittered_deadlines(&mut lock, before);
    }
    let inputs = FlagInputs {
        is_split: observed.is_split,
        is_fragment: observed.is_fragment,
        restart_hazard: observation.restart_hazard,
        expectation: observation.expectation,
    };
    let tracked = TrackedLock {
        read_at,
        lead: lead.track,
        others,
    };
    lock.flags = compute_flags(&lock, inputs, &tracked, max_hold, now);
    let kind = ChangeKind::of(before, &lock, &tracked, renewed);
    (tracked, lock, kind)
}

/// Whether the lock has a new owner. Without a quorum owner, earlier owners of an exclusive lock
/// that may still be shown keep it. A shared lock has a new owner when none of the earlier ones is
/// left.
fn has_new_owner(before: &Lock, now: &Lock, tracked: &TrackedLock) -> bool {
    if before.mode == Mode::Shared {
        return !before
            .owners
            .iter()
            .any(|then| leading_owner::is_among(then, &now.owners));
    }
    let first = |lock: &Lock| lock.owners.first().map(|owner| owner.fingerprint);
    let is_tracked = |then: &Owner| {
        let mut others = tracked.others.iter();
        others.any(|other| other.holder.fingerprint == then.fingerprint)
    };
    let may_still_hold = |then: &Owner| now.owner.is_none() && is_tracked(then);
    first(before) != first(now) && !before.owners.first().is_some_and(may_still_hold)
}

/// A known lock that no reachable node shows, while unreachable nodes could still hold it.
fn mark_unknown(before: Lock, nodes: Vec<NodeObservation>) -> Lock {
    // These flags follow from the replies of nodes that show the lock, and none does now.
    let stale = [Flag::AtRisk, Flag::Split, Flag::Fragment];
    let flags = before
        .flags
        .iter()
        .copied()
        .filter(|flag| !stale.contains(flag))
        .collect();
    Lock {
        verdict: Verdict::Unknown,
        owner: None,
        flags,
        nodes,
        ..before
    }
}

/// The confidence that the key is a lock. Entries of caches are rewritten with other values; only an
/// owner extends the lease of the same value again and again.
fn confidence(info: Option<FormatInfo>, before: Option<&Lock>, renewals: u32) -> Confidence {
    let before = before.map(|before| before.confidence);
    let Some(detected) = info.map(|info| info.confidence).or(before) else {
        return Confidence::default();
    };
    let is_renewed = renewals >= RENEWALS_OF_A_LOCK || before == Some(Confidence::Likely);
    match detected {
        Confidence::Possible if is_renewed => Confidence::Likely,
        Confidence::Sure | Confidence::Likely | Confidence::Possible => detected,
    }
}

/// Keeps deadlines that differ only by jitter, so that a countdown is steady.
fn keep_jittered_deadlines(lock: &mut Lock, before: &Lock) {
    let at = lock.observed_at;
    let keep = |now: Lease, before: Lease| match (before.expires_at(), now.expires_at()) {
        (Some(then), Some(now)) if now.millis_since(then).abs() <= DEADLINE_JITTER_MS => {
            Lease::until(then, at)
        }
        _ => now,
    };
    lock.lease = keep(lock.lease, before.lease);
    for (now, before) in lock.nodes.iter_mut().zip(&before.nodes) {
        if let (Observation::Holds { lease, .. }, Observation::Holds { lease: then, .. }) =
            (&mut now.observation, &before.observation)
        {
            *lease = keep(*lease, *then);
        }
    }
}

/// Whether two views of a lock are equal except for their time of observation.
pub(super) fn is_same_view(before: &Lock, now: &Lock) -> bool {
    let lease = |lease: Lease| lease.expires_at();
    before.verdict == now.verdict
        && before.flags == now.flags
        && before.evidence == now.evidence
        && before.contention_unavailable_reason == now.contention_unavailable_reason
        && before.renewals == now.renewals
        && before.holders == now.holders
        && before.owner == now.owner
        && before.owners == now.owners
        && before.format == now.format
        && before.confidence == now.confidence
        && before.mode == now.mode
        && lease(before.lease) == lease(now.lease)
        && before.nodes.len() == now.nodes.len()
        && before.nodes.iter().zip(&now.nodes).all(|(before, now)| {
            match (&before.observation, &now.observation) {
                (
                    Observation::Holds {
                        owner,
                        lease: then,
                        others,
                    },
                    Observation::Holds {
                        owner: another,
                        lease: at,
                        others: more,
                    },
                ) => owner == another && others == more && lease(*then) == lease(*at),
                (before, now) => before == now,
            }
        })
}

/// Inputs for flags that the lock itself does not contain.
struct FlagInputs {
    is_split: bool,
    is_fragment: bool,
    restart_hazard: bool,
    expectation: Option<HoldExpectation>,
}

fn compute_flags(
    lock: &Lock,
    inputs: FlagInputs,
    tracked: &TrackedLock,
    max_hold: Duration,
    now: Timestamp,
) -> Vec<Flag> {
    let is_past_lease = lock.is_past_lease(now);
    let is_at_risk =
        renewal_tracker::at_risk_from(lock, tracked.lead.full_lease_ms, inputs.expectation)
            .is_some_and(|from| now >= from);
    let is_endless = lock.renewals.count > 0 && now.since(lock.acquired_at) > max_hold;
    let held_ms = u64::try_from(now.millis_since(lock.acquired_at)).unwrap_or(0);
    let is_overdue = inputs
        .expectation
        .is_some_and(|expectation| held_ms > expectation.overdue_after_ms);
    Flag::VARIANTS
        .iter()
        .copied()
        .filter(|flag| match flag {
            Flag::NoExpiry => lock.lease == Lease::Never,
            // A lock that outlives its lease is overdue after the deadline, not at risk.
            Flag::AtRisk => is_at_risk && !is_past_lease && lock.verdict == Verdict::Held,
            Flag::Overdue => is_past_lease || is_overdue,
            Flag::Split => inputs.is_split,
            Flag::Fragment => inputs.is_fragment,
            Flag::Contended => !lock.evidence.is_empty(),
            Flag::RestartHazard => inputs.restart_hazard,
            Flag::Endless => is_endless,
        })
        .collect()
}

#[cfg(test)]
mod tests;
