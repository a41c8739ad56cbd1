//! Pure: one key's answers folded into what the board showed of it before.

use std::sync::Arc;
use std::time::Duration;

use strum::VariantArray as _;

use super::history::Expected;
use super::holders::{self, Other, SAME_DEADLINE_MS, Track};
use super::lead::{self, FoldContext};
use super::merge::Entry;
use super::renewing;
use super::told;
use crate::domain::quorum::{Judgement, Seen, judge};
use crate::domain::{
    AcquiredAt, Answer, Change, Flag, Format, Holder, Lease, Lock, LockId, Mode, NodeAnswer, Owner,
    Timestamp, Verdict,
};
use crate::server::clock::Moment;

/// So many owners are remembered that may be there still, on nodes that cannot be asked.
const MOST_AWAY: usize = 16;

/// What is remembered about a lock beyond what is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Memory {
    /// When the nodes were asked: an older answer that comes later is not believed.
    asked: Moment,
    /// The owner whose figures are the lock's.
    pub(super) lead: Track,
    /// The others that are seen, or may be there still.
    others: Vec<Other>,
}

impl Memory {
    /// By how many milliseconds the wall clock was set since the nodes were asked.
    pub(super) fn stepped_ms(&self, now: Moment) -> i64 {
        now.step_ms_since(self.asked)
    }

    fn shift(&mut self, ms: i64) {
        self.lead.shift(ms);
        for other in &mut self.others {
            other.shift(ms);
        }
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
    Refresh(Memory, Arc<Lock>),
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
                    lock: Arc::new(lock),
                })
            }
        }
        (Judgement::NotObserved | Judgement::CannotTell, None) => Step::Nothing,
        (Judgement::Seen(seen), before) => {
            let (memory, lock, kind) = show(id, before, memory, asked, longest_hold, seen, entry);
            let looks_the_same = shown.is_some_and(|shown| same(shown, &lock));
            let lock = Arc::new(lock);
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

impl Kind {
    fn of(before: Option<&Lock>, now: &Lock, memory: &Memory, renewed: bool) -> Self {
        match before {
            None => Self::Appeared,
            Some(before) if is_handed_over(before, now, memory) => Self::ChangedHands,
            Some(_) if renewed => Self::Renewed,
            Some(_) => Self::Stays,
        }
    }
}

/// A lock as it would have been shown by a clock that was set by so many milliseconds.
fn shift(lock: &Lock, ms: i64) -> Lock {
    let mut lock = lock.clone();
    lock.lease = lock.lease.shifted(ms);
    lock.observed_at = lock.observed_at.plus_millis(ms);
    lock.renewals.last_at = lock.renewals.last_at.map(|at| at.plus_millis(ms));
    for holder in &mut lock.holders {
        holder.shift(ms);
    }
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
    mut seen: Seen,
    entry: Entry,
) -> (Memory, Lock, Kind) {
    let asked_at = asked.wall;
    let told = entry.told;
    let mode = told.map_or(Mode::Exclusive, |told| told.mode);
    let mut shown = holders::shown(&seen.owners, &entry.nodes, &entry.deadlines);
    let (lead_before, mut others) = memory.map_or((None, Vec::new()), |memory| {
        (Some(memory.lead), memory.others)
    });
    lead::put_lead_first(&mut seen, &mut shown, mode, before, &others);
    let context = FoldContext::at(&seen.owners, before, entry.watched, asked_at);
    let leader = &seen.owners[0].fingerprint;
    let mut lead = context.lead(leader, &shown[0], lead_before, &mut others);
    told::credit(
        &mut lead.renewals,
        entry.renewed_here.as_ref(),
        &seen.owners,
    );
    let (mut beside, other_renewed) = context.beside(&seen.owners, &shown, &mut others);
    let renewed = lead.is_renewed || other_renewed;
    // Who has the quorum took it from whoever had it before.
    let is_taken = seen.verdict == Verdict::Held && mode == Mode::Exclusive;
    let answered = holders::answered(&entry.nodes);
    others.retain_mut(|other| !is_taken && other.forget_seen_by(answered));
    others.truncate(MOST_AWAY);

    let format = told
        .map(|told| told.format)
        .or(before.map(|before| before.format))
        .unwrap_or(Format::Plain);
    let claimed_at = told.and_then(|told| told.claimed_at);
    let (acquired_at, acquired_at_is) =
        context.acquired_at(lead.since, claimed_at, format, seen.lease);
    let leading = lead.holder(leader, acquired_at, acquired_at_is, &shown[0]);
    let all = std::iter::once(leading).chain(beside.iter().map(|other| other.holder.clone()));
    let holders: Vec<Holder> = if context.is_one {
        Vec::new()
    } else {
        all.collect()
    };
    others.append(&mut beside);
    let mut lock = Lock {
        id,
        format,
        confidence: told
            .map(|told| told.confidence)
            .or(before.map(|before| before.confidence))
            .unwrap_or_default(),
        mode,
        verdict: seen.verdict,
        flags: Vec::new(),
        owner: seen.owner,
        owners: seen.owners,
        lease: seen.lease,
        acquired_at,
        acquired_at_is,
        observed_at: asked_at,
        nodes: entry.nodes,
        renewals: lead.renewals,
        holders,
        evidence: entry.evidence,
        unmeasured: entry.unmeasured,
    };
    if let Some(before) = context.same_owner.filter(|_| !renewed) {
        steady(&mut lock, before);
    }
    let marks = Marks {
        is_split: seen.is_split,
        is_fragment: seen.is_fragment,
        restart_hazard: entry.restart_hazard,
        expected: entry.expected,
    };
    let memory = Memory {
        asked,
        lead: lead.track,
        others,
    };
    lock.flags = flags(&lock, marks, &memory, longest_hold, asked_at);
    let kind = Kind::of(before, &lock, &memory, renewed);
    (memory, lock, kind)
}

/// Whether somebody else has it now. Of an exclusive lock without an owner that has the quorum, those who were there before, and
/// may be there still, go on having what they had. A shared lock is handed over when nobody is left of those who had it.
fn is_handed_over(before: &Lock, now: &Lock, memory: &Memory) -> bool {
    if before.mode == Mode::Shared {
        return !before
            .owners
            .iter()
            .any(|then| lead::is_among(then, &now.owners));
    }
    let first = |lock: &Lock| lock.owners.first().map(|owner| owner.fingerprint.clone());
    let is_remembered = |then: &Owner| {
        let mut others = memory.others.iter();
        others.any(|other| other.holder.fingerprint == then.fingerprint)
    };
    let stays = |then: &Owner| now.owner.is_none() && is_remembered(then);
    first(before) != first(now) && !before.owners.first().is_some_and(stays)
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
        && before.holders == now.holders
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
    let at_risk = renewing::at_risk_from(lock, memory.lead.whole_lease_ms, marks.expected)
        .is_some_and(|from| now >= from);
    let is_endless = lock.renewals.count > 0 && now.since(lock.acquired_at) > longest_hold;
    let held_ms = u64::try_from(now.millis_since(lock.acquired_at)).unwrap_or(0);
    let unusual = marks
        .expected
        .is_some_and(|expected| held_ms > expected.overdue_after_ms);
    Flag::VARIANTS
        .iter()
        .copied()
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
