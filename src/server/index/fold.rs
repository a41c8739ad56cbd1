//! Pure: one key's answers folded into what the board showed of it before.

use super::merge::Entry;
use crate::domain::quorum::{Judgement, Seen, judge};
use crate::domain::{
    AcquiredAt, Answer, Change, Ending, Flag, Format, Lease, Lock, LockId, Mode, NodeAnswer, Owner,
    Renewals, Source, Timestamp, Verdict,
};

/// A deadline that is read twice differs by the jitter of two round trips; only a larger step is a renewal.
const RENEWAL_STEP_MS: i64 = 100;
/// Deadlines closer than this are shown as the same, so that a countdown does not wobble.
const SAME_DEADLINE_MS: i64 = 60;
/// Longer than this without a sighting, and anything may have happened to a lock that is gone.
const UNSEEN_MS: i64 = 5_000;
/// The last moments before a deadline are within the jitter of look and clock: gone then is expired.
const EXPIRY_JITTER_MS: u64 = 200;

/// What is remembered about a lock beyond what is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Memory {
    /// When the nodes were asked: an older answer that comes later is not believed.
    asked_at: Timestamp,
    /// The largest lease left that was seen since the owner came or renewed: taken for the whole lease.
    whole_lease_ms: u64,
    first_renewal_at: Option<Timestamp>,
}

/// What one look at one key comes to.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Nothing new.
    Nothing,
    /// It is gone.
    Forget(Change),
    /// It looks different, though no node showed it.
    Show(Change),
    /// It was seen and looks different.
    Remember(Memory, Change),
    /// It was seen and looks the same: viewers need not hear of it, but the API says when it was last observed.
    Refresh(Memory, Box<Lock>),
}

/// Folds what the nodes answered at `asked_at` into what was shown `before`.
pub(super) fn fold(
    id: LockId,
    before: Option<Lock>,
    memory: Option<&Memory>,
    asked_at: Timestamp,
    entry: Entry,
) -> Step {
    if memory.is_some_and(|memory| memory.asked_at > asked_at) {
        return Step::Nothing;
    }
    let answers: Vec<&Answer> = entry.nodes.iter().map(|node| &node.answer).collect();
    match (judge(&answers), before) {
        (Judgement::NotObserved, Some(before)) => Step::Forget(Change::Gone {
            id,
            ending: ending(&before, asked_at),
            at: asked_at,
        }),
        (Judgement::CannotTell, Some(before)) => {
            let lock = cannot_tell(before.clone(), entry.nodes);
            if same(&before, &lock) {
                Step::Nothing
            } else {
                Step::Show(Change::Updated {
                    lock: Box::new(lock),
                })
            }
        }
        (Judgement::NotObserved | Judgement::CannotTell, None) => Step::Nothing,
        (Judgement::Seen(seen), before) => show(id, before, memory, asked_at, seen, entry),
    }
}

fn show(
    id: LockId,
    before: Option<Lock>,
    memory: Option<&Memory>,
    asked_at: Timestamp,
    seen: Seen,
    entry: Entry,
) -> Step {
    let told = entry.told;
    let left_ms = seen.lease.remaining_ms(asked_at).unwrap_or(0);
    let same_owner = before
        .as_ref()
        .filter(|before| is_same_owner(before, &seen.owners));
    let known = same_owner.and(memory).cloned();
    let mut memory = known.unwrap_or(Memory {
        asked_at,
        whole_lease_ms: left_ms,
        first_renewal_at: None,
    });
    memory.asked_at = asked_at;

    let mut renewals = same_owner.map_or_else(none_seen, |before| before.renewals.clone());
    let renewed =
        same_owner.is_some_and(|before| moved_ms(before.lease, seen.lease) > RENEWAL_STEP_MS);
    if renewed {
        let first = *memory.first_renewal_at.get_or_insert(asked_at);
        renewals = and_one(&renewals, first, asked_at);
        memory.whole_lease_ms = left_ms;
    }
    memory.whole_lease_ms = memory.whole_lease_ms.max(left_ms);

    let (acquired_at, acquired_at_is) = match (same_owner, told.and_then(|told| told.claimed_at)) {
        (_, Some(claimed)) => (claimed.min(asked_at), AcquiredAt::Claimed),
        (Some(before), None) => (before.acquired_at, before.acquired_at_is),
        (None, None) => (asked_at, AcquiredAt::FirstSeen),
    };
    let format = told
        .map(|told| told.format)
        .or(before.as_ref().map(|before| before.format))
        .unwrap_or(Format::Plain);
    let mut lock = Lock {
        id,
        format,
        mode: told.map_or(Mode::Exclusive, |told| told.mode),
        verdict: seen.verdict,
        flags: Vec::new(),
        owner: seen.owner,
        owners: seen.owners,
        lease: seen.lease,
        acquired_at,
        acquired_at_is,
        observed_at: asked_at,
        nodes: entry.nodes,
        renewals,
        evidence: entry.evidence,
    };
    if let Some(before) = same_owner.filter(|_| !renewed) {
        steady(&mut lock, before);
    }
    let marks = Marks {
        is_split: seen.is_split,
        is_fragment: seen.is_fragment,
        restart_hazard: entry.restart_hazard,
    };
    lock.flags = flags(&lock, marks, &memory, asked_at);

    match before {
        None => Step::Remember(
            memory,
            Change::Appeared {
                lock: Box::new(lock),
            },
        ),
        Some(before) if !is_same_owner(&before, &lock.owners) => Step::Remember(
            memory,
            Change::ChangedHands {
                lock: Box::new(lock),
            },
        ),
        Some(_) if renewed => Step::Remember(
            memory,
            Change::Renewed {
                lock: Box::new(lock),
            },
        ),
        Some(before) if !same(&before, &lock) => Step::Remember(
            memory,
            Change::Updated {
                lock: Box::new(lock),
            },
        ),
        Some(_) => Step::Refresh(memory, Box::new(lock)),
    }
}

/// A known lock of which no node that answers shows anything, while those that do not answer could hold it.
fn cannot_tell(before: Lock, nodes: Vec<NodeAnswer>) -> Lock {
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

/// Whether the first of the owners is the one that led before.
fn is_same_owner(before: &Lock, owners: &[Owner]) -> bool {
    let (then, now) = (
        before.owner.as_ref().or(before.owners.first()),
        owners.first(),
    );
    then.map(|owner| &owner.fingerprint) == now.map(|owner| &owner.fingerprint)
}

/// Milliseconds by which the deadline moved. A lock that gained or lost its expiry counts as not moved.
fn moved_ms(before: Lease, now: Lease) -> i64 {
    match (before.expires_at(), now.expires_at()) {
        (Some(before), Some(now)) => now.millis_since(before),
        (None | Some(_), None) | (None, Some(_)) => 0,
    }
}

/// Keeps deadlines that only jittered, so that a countdown does not wobble.
fn steady(lock: &mut Lock, before: &Lock) {
    let at = lock.observed_at;
    let keep = |now: Lease, before: Lease| match (before.expires_at(), now.expires_at()) {
        (Some(then), Some(now)) if now.millis_since(then).abs() <= SAME_DEADLINE_MS => {
            Lease::until(then, at)
        }
        _ => now,
    };
    lock.lease = keep(lock.lease, before.lease);
    for (now, before) in lock.nodes.iter_mut().zip(&before.nodes) {
        if let (Answer::Holds { lease, .. }, Answer::Holds { lease: then, .. }) =
            (&mut now.answer, &before.answer)
        {
            *lease = keep(*lease, *then);
        }
    }
}

/// Whether two views of a lock differ in nothing but the moment they were taken.
fn same(before: &Lock, now: &Lock) -> bool {
    let lease = |lease: Lease| lease.expires_at();
    before.verdict == now.verdict
        && before.flags == now.flags
        && before.evidence == now.evidence
        && before.owner == now.owner
        && before.owners == now.owners
        && before.format == now.format
        && lease(before.lease) == lease(now.lease)
        && before.nodes.len() == now.nodes.len()
        && before.nodes.iter().zip(&now.nodes).all(|(before, now)| {
            match (&before.answer, &now.answer) {
                (
                    Answer::Holds { owner, lease: then },
                    Answer::Holds {
                        owner: another,
                        lease: at,
                    },
                ) => owner == another && lease(*then) == lease(*at),
                (before, now) => before == now,
            }
        })
}

/// What a look tells beyond what the lock itself carries.
struct Marks {
    is_split: bool,
    is_fragment: bool,
    restart_hazard: bool,
}

fn flags(lock: &Lock, marks: Marks, memory: &Memory, now: Timestamp) -> Vec<Flag> {
    let over = lock.format == Format::LegacyTimestamp && lock.lease.remaining_ms(now) == Some(0);
    let at_risk = match lock.renewals.every_ms {
        // A renewing owner missed its beat when half as long again as usual has passed since the last one.
        Some(every) => lock.renewals.last_at.is_some_and(|last| {
            now.millis_since(last)
                > i64::try_from(every.saturating_mul(3) / 2 + 1_000).unwrap_or(i64::MAX)
        }),
        None => lock.renewals.count == 0 && lock.lease.is_nearly_over(memory.whole_lease_ms, now),
    };
    Flag::ALL
        .into_iter()
        .filter(|flag| match flag {
            Flag::NoExpiry => lock.lease == Lease::Never,
            Flag::AtRisk => at_risk && !over && lock.verdict == Verdict::Held,
            Flag::Overdue => over,
            Flag::Split => marks.is_split,
            Flag::Fragment => marks.is_fragment,
            Flag::Contended => !lock.evidence.is_empty(),
            Flag::RestartHazard => marks.restart_hazard,
            Flag::Endless => false,
        })
        .collect()
}

/// How a lock went that nobody shows any more.
fn ending(before: &Lock, now: Timestamp) -> Ending {
    match before.lease.remaining_ms(now) {
        Some(left) if left <= EXPIRY_JITTER_MS && before.format != Format::LegacyTimestamp => {
            Ending::Expired
        }
        _ if now.millis_since(before.observed_at) > UNSEEN_MS => Ending::Unknown,
        Some(_) | None => Ending::Released,
    }
}

fn none_seen() -> Renewals {
    Renewals {
        count: 0,
        per_minute: None,
        every_ms: None,
        last_at: None,
        source: Source::Poll,
    }
}

/// One more, seen at `now`; the first one was seen at `first`.
fn and_one(before: &Renewals, first: Timestamp, now: Timestamp) -> Renewals {
    let count = before.count + 1;
    let span_ms = u64::try_from(now.millis_since(first)).unwrap_or(0);
    let steps = u64::from(count - 1);
    let every_ms = (steps > 0 && span_ms > 0).then(|| span_ms / steps);
    let per_minute = every_ms.map(|every| (600_000.0 / every as f64).round() / 10.0);
    Renewals {
        count,
        per_minute,
        every_ms,
        last_at: Some(now),
        source: Source::Poll,
    }
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
