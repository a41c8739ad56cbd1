//! Pure: one key's answers folded into what the board showed of it before.

use std::sync::Arc;
use std::time::Duration;

use strum::VariantArray as _;

use super::history::Expected;
use super::holders::{self, Other, SAME_DEADLINE_MS, Track};
use super::merge::Entry;
use super::renewing;
use super::told;
use crate::domain::quorum::{Judgement, Seen, judge};
use crate::domain::{
    AcquiredAt, Answer, Change, Flag, Format, Holder, Lease, Lock, LockId, Mode, NodeAnswer, Owner,
    Renewals, Timestamp, Verdict,
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
    let (told, watched) = (entry.told, entry.watched);
    let mode = told.map_or(Mode::Exclusive, |told| told.mode);
    let mut shown = holders::shown(&seen.owners, &entry.nodes, &entry.deadlines);
    let (lead_before, mut others) = memory.map_or((None, Vec::new()), |memory| {
        (Some(memory.lead), memory.others)
    });
    let first_before = before.and_then(|before| before.owners.first());
    let first_before = first_before.map(|owner| &owner.fingerprint);
    let is_held = seen.verdict == Verdict::Held;
    let place = holders::lead(&seen.owners, &shown, mode, is_held, first_before, &others);
    let owner = seen.owners.remove(place);
    seen.owners.insert(0, owner);
    let of_lead = shown.remove(place);
    shown.insert(0, of_lead);
    seen.owner = seen.owner.and(seen.owners.first().cloned());
    let leader = &seen.owners[0].fingerprint;

    let is_same_set = before.is_some_and(|before| are_same(&before.owners, &seen.owners));
    let source = |known: Option<&Renewals>, renewed: bool| {
        let known = known.zip(before.map(|before| before.observed_at));
        told::source(known, watched, renewed)
    };
    let same_owner = before.filter(|_| first_before == Some(leader));
    let known = match same_owner.zip(lead_before.clone()) {
        Some((before, track)) => Some((
            (before.acquired_at, before.acquired_at_is),
            before.renewals.clone(),
            track,
        )),
        None => holders::take(&mut others, leader).map(|other| {
            let since = (other.holder.acquired_at, other.holder.acquired_at_is);
            (since, other.holder.renewals, other.track)
        }),
    };
    if same_owner.is_none() {
        others.extend(
            before
                .zip(lead_before)
                .and_then(|(before, track)| left_behind(before, track)),
        );
    }
    let is_new = known.is_none();
    let first_seen = (asked_at, AcquiredAt::FirstSeen);
    let is_one = seen.owners.len() == 1;
    let (since, mut renewals, lead, mut renewed) = match known {
        Some((since, mut renewals, mut track)) => {
            let counted = renewals.clone();
            // Of several, nobody knows whose they were.
            let writes = if is_one {
                watched.writes
            } else {
                watched.writes.min(1)
            };
            let renewed = track.see(&mut renewals, &shown[0], writes, is_same_set, asked_at);
            renewals.source = source(Some(&counted), renewed);
            (since, renewals, track, renewed)
        }
        None => {
            let track = Track::begin(&shown[0], watched.writes, asked_at);
            (
                first_seen,
                Renewals::none(source(None, false)),
                track,
                false,
            )
        }
    };
    // One who took it anew between two looks cannot be told from one who renewed it: hand-overs are only told where
    // somebody else has it now.
    renewals.hand_overs_per_minute = watched.hand_overs_per_minute.filter(|_| is_new);
    told::credit(&mut renewals, entry.renewed_here.as_ref(), &seen.owners);

    let mut beside = Vec::new();
    for (owner, shown) in seen.owners.iter().zip(&shown).skip(1) {
        let known = holders::take(&mut others, &owner.fingerprint);
        let (other, was_renewed) =
            holders::see_other(known, owner, shown, source, is_same_set, asked_at);
        renewed |= was_renewed;
        beside.push(other);
    }
    // Who has the quorum took it from whoever had it before.
    let is_taken = is_held && mode == Mode::Exclusive;
    let answered = holders::answered(&entry.nodes);
    others.retain_mut(|other| !is_taken && other.forget_seen_by(answered));
    others.truncate(MOST_AWAY);

    let (mut acquired_at, acquired_at_is) = match told.and_then(|told| told.claimed_at) {
        Some(claimed) if is_one => (claimed.min(asked_at), AcquiredAt::Claimed),
        Some(_) | None => since,
    };
    let format = told
        .map(|told| told.format)
        .or(before.map(|before| before.format))
        .unwrap_or(Format::Plain);
    if format.outlives_its_lease()
        && let Some(end) = seen.lease.expires_at()
    {
        // Nobody renews it when its time is over: whoever has it then had it before.
        acquired_at = acquired_at.min(end);
    }
    let confidence = told
        .map(|told| told.confidence)
        .or(before.map(|before| before.confidence))
        .unwrap_or_default();
    let leading = Holder {
        fingerprint: leader.clone(),
        acquired_at,
        acquired_at_is,
        expires_at: lead.lease().expires_at(),
        renewals: if shown[0].is_own_lease {
            renewals.clone()
        } else {
            Renewals::none(renewals.source)
        },
    };
    let all = std::iter::once(leading).chain(beside.iter().map(|other| other.holder.clone()));
    let holders: Vec<Holder> = if is_one { Vec::new() } else { all.collect() };
    others.append(&mut beside);
    let mut lock = Lock {
        id,
        format,
        confidence,
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
        renewals,
        holders,
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
    let memory = Memory {
        asked,
        lead,
        others,
    };
    lock.flags = flags(&lock, marks, &memory, longest_hold, asked_at);

    let kind = match before {
        None => Kind::Appeared,
        Some(before) if is_handed_over(before, &lock, &memory) => Kind::ChangedHands,
        Some(_) if renewed => Kind::Renewed,
        Some(_) => Kind::Stays,
    };
    (memory, lock, kind)
}

/// The owner whose figures were the lock's, and are no more.
fn left_behind(before: &Lock, track: Track) -> Option<Other> {
    let holder = Holder {
        fingerprint: before.owners.first()?.fingerprint.clone(),
        acquired_at: before.acquired_at,
        acquired_at_is: before.acquired_at_is,
        expires_at: track.lease().expires_at(),
        renewals: before.renewals.clone(),
    };
    Some(Other { holder, track })
}

/// Whether somebody else has it now. Of an exclusive lock without an owner that has the quorum, those who were there before, and
/// may be there still, go on having what they had. A shared lock is handed over when nobody is left of those who had it.
fn is_handed_over(before: &Lock, now: &Lock, memory: &Memory) -> bool {
    if before.mode == Mode::Shared {
        return !before.owners.iter().any(|then| is_among(then, &now.owners));
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

fn is_among(owner: &Owner, owners: &[Owner]) -> bool {
    owners
        .iter()
        .any(|one| one.fingerprint == owner.fingerprint)
}

fn are_same(before: &[Owner], now: &[Owner]) -> bool {
    before.len() == now.len() && before.iter().all(|owner| is_among(owner, now))
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
