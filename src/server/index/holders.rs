//! Pure: what is known of each owner alone, where a lock shows several: readers, permits, the two sides of a split.
//!
//! An owner that is not seen any more is remembered as long as a node which showed it cannot be asked, so that its time with the
//! lock does not begin anew when that node is back.

use std::collections::BTreeMap;

use super::renewing::Beat;
use crate::domain::quorum::majority;
use crate::domain::{
    AcquiredAt, Answer, Fingerprint, Holder, Lease, Mode, NodeAnswer, Owner, Renewals, Source,
    Timestamp,
};

/// A deadline that is read twice differs by the jitter of two round trips; only a larger step is a renewal.
const RENEWAL_STEP_MS: i64 = 100;
/// The same where a node told of a write: then a smaller one is a renewal too.
const TOLD_RENEWAL_STEP_MS: i64 = 30;
/// A node's message of a write arrives at most this long after a look that already showed the write: two connections.
const LATE_MESSAGE_MS: i64 = 1_000;
/// Deadlines closer than this are shown as the same, so that a countdown does not wobble.
pub(super) const SAME_DEADLINE_MS: i64 = 60;

/// Deadlines that the value gives to each owner, one for each node, where the format has them.
pub(super) type Deadlines = BTreeMap<Fingerprint, Vec<Lease>>;

/// What the nodes show of one owner.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shown {
    /// The nodes, by place, one bit for each of the first 64.
    nodes: u64,
    /// How many they are.
    many: usize,
    /// Until when a quorum shows it; where none does, until the last of them does not.
    lease: Lease,
    /// The lease is nobody else's: when its end moves, this owner renewed.
    pub(super) is_own_lease: bool,
}

/// What is remembered of one owner.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Track {
    /// The nodes that showed it when they last answered.
    nodes: u64,
    lease: Lease,
    is_own_lease: bool,
    /// When a look showed a write of which no node had told yet. Its message is still to come and must not be counted again.
    untold_at: Option<Timestamp>,
    /// By how many milliseconds the wall clock was set since it was seen.
    stepped_ms: i64,
    /// The largest lease left that was seen since it came or renewed: taken for the whole lease.
    pub(super) whole_lease_ms: u64,
    beat: Beat,
}

/// What is remembered of an owner beside the one that leads.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Other {
    pub(super) holder: Holder,
    pub(super) track: Track,
}

fn bit(place: usize) -> u64 {
    u32::try_from(place)
        .ok()
        .and_then(|place| 1_u64.checked_shl(place))
        .unwrap_or(0)
}

/// The nodes that answered, by place.
pub(super) fn answered(nodes: &[NodeAnswer]) -> u64 {
    let answering = nodes.iter().enumerate();
    answering
        .filter(|(_, node)| node.answer.is_answer())
        .fold(0, |mask, (place, _)| mask | bit(place))
}

/// What the nodes show of each of these owners, in the same order.
pub(super) fn shown(owners: &[Owner], nodes: &[NodeAnswer], deadlines: &Deadlines) -> Vec<Shown> {
    let quorum = majority(nodes.len());
    let of = |owner: &Owner| {
        let own = deadlines.get(&owner.fingerprint);
        let mut leases = Vec::new();
        let (mut mask, mut is_alone) = (0, true);
        for (place, node) in nodes.iter().enumerate() {
            if let Answer::Holds { lease, .. } = &node.answer
                && node.answer.shows(owner)
            {
                mask |= bit(place);
                leases.push(*lease);
                is_alone &= node.answer.owners().count() == 1;
            }
        }
        let many = leases.len();
        let mut ends = own.cloned().unwrap_or(leases);
        ends.sort_by(|a, b| b.later(a));
        let lease = ends.get(quorum - 1).or(ends.first());
        Shown {
            nodes: mask,
            many,
            lease: lease.copied().unwrap_or(Lease::Never),
            is_own_lease: own.is_some() || is_alone,
        }
    };
    owners.iter().map(of).collect()
}

/// The place of the owner whose figures are the lock's. Of an exclusive lock with an owner that has the quorum, that one. Else,
/// among those on most nodes, the one that led before, or that is known for longest.
pub(super) fn lead(
    owners: &[Owner],
    shown: &[Shown],
    mode: Mode,
    is_held: bool,
    before: Option<&Fingerprint>,
    others: &[Other],
) -> usize {
    if is_held && mode == Mode::Exclusive {
        return 0;
    }
    let most = shown.first().map_or(0, |shown| shown.many);
    let rank = |place: &usize| {
        let fingerprint = &owners[*place].fingerprint;
        let known = find(others, fingerprint).map(|other| other.holder.acquired_at);
        let is_new = known.is_none();
        (before != Some(fingerprint), is_new, known)
    };
    let places = (0..owners.len().min(shown.len())).filter(|place| shown[*place].many == most);
    places.min_by_key(rank).unwrap_or(0)
}

fn find<'a>(others: &'a [Other], fingerprint: &Fingerprint) -> Option<&'a Other> {
    let mut others = others.iter();
    others.find(|other| other.holder.fingerprint == *fingerprint)
}

/// Takes what is remembered of this owner out of what is remembered of all.
pub(super) fn take(others: &mut Vec<Other>, fingerprint: &Fingerprint) -> Option<Other> {
    let place = others
        .iter()
        .position(|other| other.holder.fingerprint == *fingerprint)?;
    Some(others.swap_remove(place))
}

impl Track {
    /// An owner that was not seen before, and how many writes were told until then.
    pub(super) fn begin(shown: &Shown, writes: u32, now: Timestamp) -> Self {
        Self {
            untold_at: (writes == 0).then_some(now),
            nodes: shown.nodes,
            lease: shown.lease,
            is_own_lease: shown.is_own_lease,
            stepped_ms: 0,
            whole_lease_ms: shown.lease.remaining_ms(now).unwrap_or(0),
            beat: Beat::default(),
        }
    }

    /// Until when it has the lock.
    pub(super) fn lease(&self) -> Lease {
        self.lease
    }

    /// The wall clock was set by so many milliseconds.
    pub(super) fn shift(&mut self, ms: i64) {
        self.beat.shift(ms);
        self.lease = self.lease.shifted(ms);
        self.untold_at = self.untold_at.map(|at| at.plus_millis(ms));
        self.stepped_ms = ms;
    }

    /// Milliseconds by which the deadline moved. Where the wall clock was set, a deadline that a client wrote into the value stayed
    /// where it was, and one that a node counts down moved along.
    fn moved_ms(&mut self, now: Lease) -> i64 {
        let moved = moved_ms(self.lease, now);
        let stayed = moved.saturating_add(std::mem::take(&mut self.stepped_ms));
        if stayed.abs() < moved.abs() {
            stayed
        } else {
            moved
        }
    }

    /// How many of the writes that were told since the last look are new: one is not where an earlier look showed it.
    fn new_writes(&mut self, writes: u32, now: Timestamp) -> u32 {
        let Some(untold_at) = self.untold_at else {
            return writes;
        };
        let is_late = now.millis_since(untold_at) > LATE_MESSAGE_MS;
        if writes > 0 || is_late {
            self.untold_at = None;
        }
        writes.saturating_sub(u32::from(!is_late))
    }

    /// It is seen again. `is_same_set` says whether the same owners were seen before: where somebody joins a shared lock, the key
    /// lives longer and nobody renewed. Whether a renewal was seen.
    ///
    /// Where several share one lease, somebody renewed and nobody knows who: that has no beat and tells of no missed one.
    pub(super) fn see(
        &mut self,
        renewals: &mut Renewals,
        shown: &Shown,
        writes: u32,
        is_same_set: bool,
        now: Timestamp,
    ) -> bool {
        if shown.is_own_lease && !self.is_own_lease {
            // What was counted so far may have been renewed by others.
            *renewals = Renewals::none(renewals.source);
            self.beat = Beat::default();
        }
        let step_ms = if writes > 0 {
            TOLD_RENEWAL_STEP_MS
        } else {
            RENEWAL_STEP_MS
        };
        let new_writes = self.new_writes(writes, now);
        let was_set = self.stepped_ms != 0;
        let moved_ms = self.moved_ms(shown.lease);
        let both_end = self.lease.expires_at().is_some() && shown.lease.expires_at().is_some();
        let is_renewed = moved_ms > step_ms && (shown.is_own_lease || is_same_set);
        let left_ms = shown.lease.remaining_ms(now).unwrap_or(0);
        if is_renewed && shown.is_own_lease {
            let margin_ms = self.lease.remaining_ms(now);
            self.beat
                .renewed(renewals, new_writes.max(1), margin_ms, now);
        } else if is_renewed {
            renewals.count = renewals.count.saturating_add(new_writes.max(1));
            renewals.last_at = Some(now);
        }
        if is_renewed {
            self.whole_lease_ms = left_ms;
            if new_writes == 0 {
                self.untold_at = Some(now);
            }
        }
        self.beat.miss(renewals, now);
        self.whole_lease_ms = self.whole_lease_ms.max(left_ms);
        self.is_own_lease = shown.is_own_lease;
        self.nodes = shown.nodes;
        // A deadline that only jittered is the same one; steps too small for a renewal must not add up unseen.
        if is_renewed || moved_ms.abs() > SAME_DEADLINE_MS || !both_end || was_set {
            self.lease = shown.lease;
        }
        is_renewed
    }
}

impl Other {
    /// The wall clock was set by so many milliseconds.
    pub(super) fn shift(&mut self, ms: i64) {
        self.holder.shift(ms);
        self.track.shift(ms);
    }

    /// It is not seen by those who answered. True while a node that cannot be asked may show it still.
    pub(super) fn forget_seen_by(&mut self, answered: u64) -> bool {
        self.track.nodes &= !answered;
        self.track.nodes != 0
    }
}

/// An owner that is seen beside the one that leads.
pub(super) fn see_other(
    known: Option<Other>,
    owner: &Owner,
    shown: &Shown,
    source: impl Fn(Option<&Renewals>, bool) -> Source,
    is_same_set: bool,
    now: Timestamp,
) -> (Other, bool) {
    let Some(mut other) = known else {
        let track = Track::begin(shown, 0, now);
        let holder = Holder {
            fingerprint: owner.fingerprint.clone(),
            acquired_at: now,
            acquired_at_is: AcquiredAt::FirstSeen,
            expires_at: track.lease.expires_at(),
            renewals: Renewals::none(source(None, false)),
        };
        return (Other { holder, track }, false);
    };
    // Of a lease that is shared, the one that leads has the figures.
    let is_renewed = shown.is_own_lease && {
        let renewals = &mut other.holder.renewals;
        other.track.see(renewals, shown, 0, is_same_set, now)
    };
    if !shown.is_own_lease {
        other.track.nodes = shown.nodes;
        other.track.lease = shown.lease;
        other.track.is_own_lease = false;
    }
    let source = source(Some(&other.holder.renewals), is_renewed);
    other.holder.renewals.source = source;
    other.holder.expires_at = other.track.lease.expires_at();
    (other, is_renewed)
}

/// Milliseconds by which the deadline moved. A lock that gained or lost its expiry counts as not moved.
fn moved_ms(before: Lease, now: Lease) -> i64 {
    match (before.expires_at(), now.expires_at()) {
        (Some(before), Some(now)) => now.millis_since(before),
        (None | Some(_), None) | (None, Some(_)) => 0,
    }
}
