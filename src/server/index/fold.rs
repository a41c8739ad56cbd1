//! Pure: one key's answers folded into what the board showed of it before.

use std::time::Duration;

use super::history::Expected;
use super::merge::Entry;
use super::renewing::{self, Beat};
use super::told;
use crate::domain::quorum::{Judgement, Seen, judge};
use crate::domain::{
    AcquiredAt, Answer, Change, Flag, Format, Lease, Lock, LockId, Mode, NodeAnswer, Owner,
    Renewals, Timestamp, Verdict,
};
use crate::server::clock::Moment;

/// A deadline that is read twice differs by the jitter of two round trips; only a larger step is a renewal.
const RENEWAL_STEP_MS: i64 = 100;
/// The same where a node told of a write: then a smaller one is a renewal too.
const TOLD_RENEWAL_STEP_MS: i64 = 30;
/// Deadlines closer than this are shown as the same, so that a countdown does not wobble.
const SAME_DEADLINE_MS: i64 = 60;

/// What is remembered about a lock beyond what is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Memory {
    /// When the nodes were asked: an older answer that comes later is not believed.
    asked: Moment,
    /// The largest lease left that was seen since the owner came or renewed: taken for the whole lease.
    pub(super) whole_lease_ms: u64,
    pub(super) beat: Beat,
}

impl Memory {
    /// By how many milliseconds the wall clock was set since the nodes were asked.
    pub(super) fn stepped_ms(&self, now: Moment) -> i64 {
        now.step_ms_since(self.asked)
    }

    fn shift(&mut self, ms: i64) {
        self.beat.shift(ms);
    }
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

/// Folds what the nodes answered to what they were `asked` into what was shown `before`.
///
/// Which answer is the later one, and whether the wall clock was set in between, is read from the steady clock. Where it was set,
/// the moments that were shown before are put where the wall clock has them now: a deadline that moved with it was not renewed.
///
/// An owner that goes on renewing for longer than `longest_hold` is pointed out.
pub(super) fn fold(
    id: LockId,
    before: Option<&Lock>,
    memory: Option<&Memory>,
    asked: Moment,
    longest_hold: Duration,
    entry: Entry,
) -> Step {
    if memory.is_some_and(|memory| memory.asked.steady > asked.steady) {
        return Step::Nothing;
    }
    let asked_at = asked.wall;
    let shown = before;
    let stepped_ms = memory.map_or(0, |memory| memory.stepped_ms(asked));
    let shifted = before
        .filter(|_| stepped_ms != 0)
        .map(|before| shift(before, stepped_ms));
    let before = shifted.as_ref().or(before);
    let memory = memory.cloned().map(|mut memory| {
        memory.shift(stepped_ms);
        memory
    });
    let answers: Vec<&Answer> = entry.nodes.iter().map(|node| &node.answer).collect();
    let mode = entry.told.map_or(Mode::Exclusive, |told| told.mode);
    match (judge(&answers, mode), before) {
        (Judgement::NotObserved, Some(before)) => Step::Forget(Change::Gone {
            id,
            ending: told::ending(before, entry.watched, asked_at),
            at: asked_at,
        }),
        (Judgement::CannotTell, Some(before)) => {
            let lock = cannot_tell(before.clone(), entry.nodes);
            if same(before, &lock) {
                Step::Nothing
            } else {
                Step::Show(Change::Updated {
                    lock: Box::new(lock),
                })
            }
        }
        (Judgement::NotObserved | Judgement::CannotTell, None) => Step::Nothing,
        (Judgement::Seen(seen), before) => {
            let (memory, lock, kind) = show(id, before, memory, asked, longest_hold, seen, entry);
            let looks_the_same = shown.is_some_and(|shown| same(shown, &lock));
            let lock = Box::new(lock);
            match kind {
                Kind::Appeared => Step::Remember(memory, Change::Appeared { lock }),
                Kind::ChangedHands => Step::Remember(memory, Change::ChangedHands { lock }),
                Kind::Renewed => Step::Remember(memory, Change::Renewed { lock }),
                Kind::Stays if looks_the_same => Step::Refresh(memory, lock),
                Kind::Stays => Step::Remember(memory, Change::Updated { lock }),
            }
        }
    }
}

/// What happened to a lock that is seen.
enum Kind {
    Appeared,
    ChangedHands,
    Renewed,
    Stays,
}

/// A lock as it would have been shown by a clock that was set by so many milliseconds.
fn shift(lock: &Lock, ms: i64) -> Lock {
    let mut lock = lock.clone();
    lock.lease = lock.lease.shifted(ms);
    lock.observed_at = lock.observed_at.plus_millis(ms);
    lock.renewals.last_at = lock.renewals.last_at.map(|at| at.plus_millis(ms));
    // What an owner claims is by its own clock.
    if lock.acquired_at_is == AcquiredAt::FirstSeen {
        lock.acquired_at = lock.acquired_at.plus_millis(ms);
    }
    for node in &mut lock.nodes {
        if let Answer::Holds { lease, .. } = &mut node.answer {
            *lease = lease.shifted(ms);
        }
    }
    lock
}

fn show(
    id: LockId,
    before: Option<&Lock>,
    memory: Option<Memory>,
    asked: Moment,
    longest_hold: Duration,
    seen: Seen,
    entry: Entry,
) -> (Memory, Lock, Kind) {
    let asked_at = asked.wall;
    let told = entry.told;
    let left_ms = seen.lease.remaining_ms(asked_at).unwrap_or(0);
    let same_owner = before.filter(|before| is_same_owner(before, &seen.owners));
    let mut memory = same_owner.and(memory).unwrap_or(Memory {
        asked,
        whole_lease_ms: left_ms,
        beat: Beat::default(),
    });
    memory.asked = asked;

    let watched = entry.watched;
    let step = if watched.writes > 0 {
        TOLD_RENEWAL_STEP_MS
    } else {
        RENEWAL_STEP_MS
    };
    // Where somebody joins a shared lock, the key lives longer and nobody renewed.
    let renewed = same_owner.filter(|before| {
        moved_ms(before.lease, seen.lease) > step
            && (before.mode == Mode::Exclusive || are_same(&before.owners, &seen.owners))
    });
    let source = told::source(same_owner, watched, renewed.is_some());
    let mut renewals =
        same_owner.map_or_else(|| Renewals::none(source), |before| before.renewals.clone());
    renewals.source = source;
    // One who took it anew between two looks cannot be told from one who renewed it: hand-overs are only told where
    // somebody else has it now.
    renewals.hand_overs_per_minute = watched
        .hand_overs_per_minute
        .filter(|_| same_owner.is_none());
    if let Some(before) = renewed {
        let margin_ms = before.lease.remaining_ms(asked_at);
        memory
            .beat
            .renewed(&mut renewals, watched.writes.max(1), margin_ms, asked_at);
        memory.whole_lease_ms = left_ms;
    }
    let renewed = renewed.is_some();
    told::credit(&mut renewals, entry.renewed_here.as_ref(), &seen.owners);
    memory.beat.miss(&mut renewals, asked_at);
    memory.whole_lease_ms = memory.whole_lease_ms.max(left_ms);

    let (acquired_at, acquired_at_is) = match (same_owner, told.and_then(|told| told.claimed_at)) {
        (_, Some(claimed)) => (claimed.min(asked_at), AcquiredAt::Claimed),
        (Some(before), None) => (before.acquired_at, before.acquired_at_is),
        (None, None) => (asked_at, AcquiredAt::FirstSeen),
    };
    let format = told
        .map(|told| told.format)
        .or(before.map(|before| before.format))
        .unwrap_or(Format::Plain);
    let confidence = told
        .map(|told| told.confidence)
        .or(before.map(|before| before.confidence))
        .unwrap_or_default();
    let mut lock = Lock {
        id,
        format,
        confidence,
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
        unmeasured: entry.unmeasured,
    };
    if let Some(before) = same_owner.filter(|_| !renewed) {
        steady(&mut lock, before);
    }
    let marks = Marks {
        is_split: seen.is_split,
        is_fragment: seen.is_fragment,
        restart_hazard: entry.restart_hazard,
        expected: entry.expected,
    };
    lock.flags = flags(&lock, marks, &memory, longest_hold, asked_at);

    let kind = match before {
        None => Kind::Appeared,
        Some(before) if !is_same_owner(before, &lock.owners) => Kind::ChangedHands,
        Some(_) if renewed => Kind::Renewed,
        Some(_) => Kind::Stays,
    };
    (memory, lock, kind)
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

/// Whether the first of the owners is the one that led before; of a shared lock, whether any of them held it before.
fn is_same_owner(before: &Lock, owners: &[Owner]) -> bool {
    if before.mode == Mode::Shared {
        return before.owners.iter().any(|then| is_among(then, owners));
    }
    let (then, now) = (
        before.owner.as_ref().or(before.owners.first()),
        owners.first(),
    );
    then.map(|owner| &owner.fingerprint) == now.map(|owner| &owner.fingerprint)
}

fn is_among(owner: &Owner, owners: &[Owner]) -> bool {
    owners
        .iter()
        .any(|one| one.fingerprint == owner.fingerprint)
}

fn are_same(before: &[Owner], now: &[Owner]) -> bool {
    before.len() == now.len() && before.iter().all(|owner| is_among(owner, now))
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
pub(super) fn same(before: &Lock, now: &Lock) -> bool {
    let lease = |lease: Lease| lease.expires_at();
    before.verdict == now.verdict
        && before.flags == now.flags
        && before.evidence == now.evidence
        && before.unmeasured == now.unmeasured
        && before.renewals == now.renewals
        && before.owner == now.owner
        && before.owners == now.owners
        && before.format == now.format
        && before.confidence == now.confidence
        && before.mode == now.mode
        && lease(before.lease) == lease(now.lease)
        && before.nodes.len() == now.nodes.len()
        && before.nodes.iter().zip(&now.nodes).all(|(before, now)| {
            match (&before.answer, &now.answer) {
                (
                    Answer::Holds {
                        owner,
                        lease: then,
                        others,
                    },
                    Answer::Holds {
                        owner: another,
                        lease: at,
                        others: more,
                    },
                ) => owner == another && others == more && lease(*then) == lease(*at),
                (before, now) => before == now,
            }
        })
}

/// What a look tells beyond what the lock itself carries.
struct Marks {
    is_split: bool,
    is_fragment: bool,
    restart_hazard: bool,
    expected: Option<Expected>,
}

fn flags(
    lock: &Lock,
    marks: Marks,
    memory: &Memory,
    longest_hold: Duration,
    now: Timestamp,
) -> Vec<Flag> {
    let over = lock.format.outlives_its_lease() && lock.lease.remaining_ms(now) == Some(0);
    let at_risk = renewing::at_risk_from(lock, memory.whole_lease_ms, marks.expected)
        .is_some_and(|from| now >= from);
    let is_endless = lock.renewals.count > 0 && now.since(lock.acquired_at) > longest_hold;
    let held_ms = u64::try_from(now.millis_since(lock.acquired_at)).unwrap_or(0);
    let unusual = marks
        .expected
        .is_some_and(|expected| held_ms > expected.overdue_after_ms);
    Flag::ALL
        .into_iter()
        .filter(|flag| match flag {
            Flag::NoExpiry => lock.lease == Lease::Never,
            Flag::AtRisk => at_risk && !over && lock.verdict == Verdict::Held,
            Flag::Overdue => over || unusual,
            Flag::Split => marks.is_split,
            Flag::Fragment => marks.is_fragment,
            Flag::Contended => !lock.evidence.is_empty(),
            Flag::RestartHazard => marks.restart_hazard,
            Flag::Endless => is_endless,
        })
        .collect()
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
