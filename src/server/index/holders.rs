//! Tracks each owner separately where a lock shows several: readers, permits, or both sides of a
//! split. No I/O.
//!
//! An owner that is no longer shown is remembered while a node that showed it is unreachable. Its
//! hold does not start anew when that node returns.

use std::collections::BTreeMap;
use std::time::Duration;

use super::renewal_tracker::RenewalTracker;
use crate::domain::quorum::majority;
use crate::domain::{
    AcquiredAtSource, Fingerprint, Holder, Lease, Mode, NodeObservation, Observation, Owner,
    RenewalSource, RenewalStats, Timestamp,
};

/// Two readings of one deadline differ by their uncertainties, half of each round trip, and by the
/// jitter of clocks and schedulers. Only a larger step is a renewal.
const POLL_RENEWAL_STEP_MS: i64 = 100;
/// The same if a node reported a write: then a smaller step is a renewal too.
const FEED_RENEWAL_STEP_MS: i64 = 30;
/// The longest delay of a notification after a poll that already showed the write. Notifications
/// and commands use different connections.
const MAX_NOTIFICATION_DELAY_MS: i64 = 1_000;
/// Deadlines closer than this are shown as equal, so that a countdown does not jitter.
pub(super) const DEADLINE_JITTER_MS: i64 = 60;

/// The leases that the value gives to each owner, one per node, for formats that store them.
pub(super) type LeasesByOwner = BTreeMap<Fingerprint, Vec<Lease>>;

/// What the nodes show of one owner in one poll.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OwnerReading {
    /// The nodes that show the owner, one bit for each of the first 64.
    node_mask: u64,
    /// The number of nodes that show the owner.
    node_count: usize,
    /// The lease until which a quorum shows the owner; without a quorum, the longest lease.
    lease: Lease,
    /// How far its deadline may be wrong, in milliseconds.
    uncertainty_ms: i64,
    /// No other owner shares the lease, so a changed deadline is a renewal by this owner.
    pub(super) has_own_lease: bool,
}

/// Tracking state of one owner.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OwnerTrack {
    /// The nodes that showed the owner in their last reply.
    node_mask: u64,
    lease: Lease,
    /// How far its deadline may be wrong, in milliseconds.
    uncertainty_ms: i64,
    has_own_lease: bool,
    /// When a poll showed a write before its notification arrived. That notification must not be
    /// counted again.
    unreported_write_at: Option<Timestamp>,
    /// Milliseconds by which the wall clock was stepped since the last observation.
    clock_step_ms: i64,
    /// The largest remaining lease since acquisition or the last renewal, used as the full lease.
    pub(super) full_lease_ms: u64,
    renewal_tracker: RenewalTracker,
}

/// Tracking state of an owner other than the leading one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TrackedHolder {
    pub(super) holder: Holder,
    pub(super) track: OwnerTrack,
}

fn bit(index: usize) -> u64 {
    // Nodes beyond the 64th have no bit: an owner shown only there is not remembered.
    u32::try_from(index)
        .ok()
        .and_then(|index| 1_u64.checked_shl(index))
        .unwrap_or(0)
}

/// The nodes that replied, as a bit mask.
pub(super) fn reachable_nodes(nodes: &[NodeObservation]) -> u64 {
    let indexed = nodes.iter().enumerate();
    indexed
        .filter(|(_, node)| node.observation.is_reachable())
        .fold(0, |mask, (index, _)| mask | bit(index))
}

/// What the nodes show of each owner, in the order of `owners`. `read_uncertainty` is how far from the time
/// of the poll a node may have been read.
pub(super) fn read_owners(
    owners: &[Owner],
    nodes: &[NodeObservation],
    leases_by_owner: &LeasesByOwner,
    read_uncertainty: Duration,
) -> Vec<OwnerReading> {
    let quorum = majority(nodes.len());
    let reading_of = |owner: &Owner| {
        let own_leases = leases_by_owner.get(&owner.fingerprint);
        let mut leases = Vec::new();
        let (mut mask, mut is_alone) = (0, true);
        for (index, node) in nodes.iter().enumerate() {
            if let Observation::Holds { lease, .. } = &node.observation
                && node.observation.has_owner(owner)
            {
                mask |= bit(index);
                leases.push(*lease);
                // A node that shows several owners has a single lease for all of them.
                is_alone &= node.observation.owners().count() == 1;
            }
        }
        let node_count = leases.len();
        let mut sorted_leases = own_leases.cloned().unwrap_or(leases);
        sorted_leases.sort_by(|a, b| b.cmp_expiry(a));
        // Sorted from longest to shortest: up to the lease at this index, a quorum shows the owner.
        let lease = sorted_leases.get(quorum - 1).or(sorted_leases.first());
        OwnerReading {
            node_mask: mask,
            node_count,
            lease: lease.copied().unwrap_or(Lease::Never),
            // A deadline in the value does not depend on when it was read.
            uncertainty_ms: match own_leases {
                Some(_) => 0,
                None => i64::try_from(read_uncertainty.as_millis()).unwrap_or(i64::MAX),
            },
            has_own_lease: own_leases.is_some() || is_alone,
        }
    };
    owners.iter().map(reading_of).collect()
}

/// The index of the owner whose figures represent the lock. For an exclusive lock with a quorum,
/// that is the owner with the quorum. Otherwise it is, among the owners on most nodes, the previous
/// leader or the one known for longest.
pub(super) fn leader_index(
    owners: &[Owner],
    readings: &[OwnerReading],
    mode: Mode,
    is_held: bool,
    before: Option<&Fingerprint>,
    others: &[TrackedHolder],
) -> usize {
    if is_held && mode == Mode::Exclusive {
        return 0;
    }
    let max_nodes = readings.first().map_or(0, |reading| reading.node_count);
    let rank = |index: &usize| {
        let fingerprint = &owners[*index].fingerprint;
        let known = find(others, fingerprint).map(|other| other.holder.acquired_at);
        let is_new = known.is_none();
        // `false` sorts first: the previous leader, then known owners by their start.
        (before != Some(fingerprint), is_new, known)
    };
    let indexes = (0..owners.len().min(readings.len()))
        .filter(|index| readings[*index].node_count == max_nodes);
    indexes.min_by_key(rank).unwrap_or(0)
}

fn find<'a>(others: &'a [TrackedHolder], fingerprint: &Fingerprint) -> Option<&'a TrackedHolder> {
    let mut others = others.iter();
    others.find(|other| other.holder.fingerprint == *fingerprint)
}

/// Removes and returns the state of an owner.
pub(super) fn take(
    others: &mut Vec<TrackedHolder>,
    fingerprint: &Fingerprint,
) -> Option<TrackedHolder> {
    let index = others
        .iter()
        .position(|other| other.holder.fingerprint == *fingerprint)?;
    Some(others.swap_remove(index))
}

impl OwnerTrack {
    /// Starts tracking a new owner. `writes` is the number of writes reported so far.
    pub(super) fn new(reading: &OwnerReading, writes: u32, now: Timestamp) -> Self {
        Self {
            // The acquire itself was a write. If it was not notified yet, its notification is still
            // to come.
            unreported_write_at: (writes == 0).then_some(now),
            node_mask: reading.node_mask,
            lease: reading.lease,
            uncertainty_ms: reading.uncertainty_ms,
            has_own_lease: reading.has_own_lease,
            clock_step_ms: 0,
            full_lease_ms: reading.lease.remaining_ms(now).unwrap_or(0),
            renewal_tracker: RenewalTracker::default(),
        }
    }

    /// The lease as last accepted.
    pub(super) fn lease(&self) -> Lease {
        self.lease
    }

    /// Shifts all wall-clock times after a clock step.
    pub(super) fn apply_clock_step(&mut self, ms: i64) {
        self.renewal_tracker.apply_clock_step(ms);
        self.lease = self.lease.shifted(ms);
        self.unreported_write_at = self.unreported_write_at.map(|at| at.plus_millis(ms));
        self.clock_step_ms = ms;
    }

    /// Milliseconds by which the deadline moved. After a clock step, a deadline stored in the value
    /// stayed where it was, and one counted down by a node moved with the clock; the smaller
    /// difference is the real one.
    fn moved_ms(&mut self, now: Lease) -> i64 {
        let moved = moved_ms(self.lease, now);
        let stayed = moved.saturating_add(std::mem::take(&mut self.clock_step_ms));
        if stayed.abs() < moved.abs() {
            stayed
        } else {
            moved
        }
    }

    /// The number of reported writes that are new. A write is not new if an earlier poll already
    /// showed it.
    fn new_writes(&mut self, writes: u32, now: Timestamp) -> u32 {
        let Some(unreported_write_at) = self.unreported_write_at else {
            return writes;
        };
        let is_late = now.millis_since(unreported_write_at) > MAX_NOTIFICATION_DELAY_MS;
        if writes > 0 || is_late {
            self.unreported_write_at = None;
        }
        writes.saturating_sub(u32::from(!is_late))
    }

    /// Updates the state with a new reading and returns whether a renewal was observed.
    /// `has_same_owners` says whether the same owners were shown before: when an owner joins a
    /// shared lock, the key's lease grows without a renewal.
    ///
    /// If several owners share one lease, the renewing owner is unknown. Such renewals have no
    /// interval and cannot be missed.
    pub(super) fn update(
        &mut self,
        renewals: &mut RenewalStats,
        reading: &OwnerReading,
        writes: u32,
        has_same_owners: bool,
        now: Timestamp,
    ) -> bool {
        if reading.has_own_lease && !self.has_own_lease {
            // Earlier renewals of the shared lease may have been made by other owners.
            *renewals = RenewalStats::empty(renewals.source);
            self.renewal_tracker = RenewalTracker::default();
        }
        let uncertainty_ms = self.uncertainty_ms.saturating_add(reading.uncertainty_ms);
        let step_ms = uncertainty_ms.max(match writes {
            0 => POLL_RENEWAL_STEP_MS,
            _ => FEED_RENEWAL_STEP_MS,
        });
        let new_writes = self.new_writes(writes, now);
        let was_clock_stepped = self.clock_step_ms != 0;
        let moved_ms = self.moved_ms(reading.lease);
        let both_expire = self.lease.expires_at().is_some() && reading.lease.expires_at().is_some();
        let is_renewed = moved_ms > step_ms && (reading.has_own_lease || has_same_owners);
        let left_ms = reading.lease.remaining_ms(now).unwrap_or(0);
        if is_renewed && reading.has_own_lease {
            let margin_ms = self.lease.remaining_ms(now);
            self.renewal_tracker
                .record(renewals, new_writes.max(1), margin_ms, now);
        } else if is_renewed {
            renewals.count = renewals.count.saturating_add(new_writes.max(1));
            renewals.last_at = Some(now);
        }
        if is_renewed {
            // A renewal may set a lease of another length.
            self.full_lease_ms = left_ms;
            if new_writes == 0 {
                self.unreported_write_at = Some(now);
            }
        }
        self.renewal_tracker.count_missed(renewals, now);
        self.full_lease_ms = self.full_lease_ms.max(left_ms);
        self.has_own_lease = reading.has_own_lease;
        self.node_mask = reading.node_mask;
        // A step within the jitter keeps the old deadline, unless the new one is more exact. Several
        // small steps then add up until they are large enough to be noticed.
        let is_within_jitter = moved_ms.abs() <= DEADLINE_JITTER_MS.max(uncertainty_ms);
        let is_more_exact = reading.uncertainty_ms < self.uncertainty_ms;
        if is_renewed || !is_within_jitter || is_more_exact || !both_expire || was_clock_stepped {
            self.lease = reading.lease;
            self.uncertainty_ms = reading.uncertainty_ms;
        }
        is_renewed
    }
}

impl TrackedHolder {
    /// Shifts all wall-clock times after a clock step.
    pub(super) fn apply_clock_step(&mut self, ms: i64) {
        self.holder.shift(ms);
        self.track.apply_clock_step(ms);
    }

    /// Clears the nodes that replied without showing the owner. Returns whether an unreachable node
    /// may still show it.
    pub(super) fn clear_nodes(&mut self, reachable: u64) -> bool {
        self.track.node_mask &= !reachable;
        self.track.node_mask != 0
    }
}

/// Updates or starts tracking an owner other than the leading one. Returns whether it renewed.
pub(super) fn update_other(
    known: Option<TrackedHolder>,
    owner: &Owner,
    reading: &OwnerReading,
    source: impl Fn(Option<&RenewalStats>, bool) -> RenewalSource,
    has_same_owners: bool,
    now: Timestamp,
) -> (TrackedHolder, bool) {
    let Some(mut other) = known else {
        let track = OwnerTrack::new(reading, 0, now);
        let holder = Holder {
            fingerprint: owner.fingerprint,
            acquired_at: now,
            acquired_at_source: AcquiredAtSource::FirstSeen,
            expires_at: track.lease.expires_at(),
            renewals: RenewalStats::empty(source(None, false)),
        };
        return (TrackedHolder { holder, track }, false);
    };
    // The renewals of a shared lease are counted for the leading owner.
    let is_renewed = reading.has_own_lease && {
        let renewals = &mut other.holder.renewals;
        other
            .track
            .update(renewals, reading, 0, has_same_owners, now)
    };
    if !reading.has_own_lease {
        other.track.node_mask = reading.node_mask;
        other.track.lease = reading.lease;
        other.track.uncertainty_ms = reading.uncertainty_ms;
        other.track.has_own_lease = false;
    }
    let source = source(Some(&other.holder.renewals), is_renewed);
    other.holder.renewals.source = source;
    other.holder.expires_at = other.track.lease.expires_at();
    (other, is_renewed)
}

/// Milliseconds by which the deadline moved; 0 if the lock gained or lost its expiry.
fn moved_ms(before: Lease, now: Lease) -> i64 {
    match (before.expires_at(), now.expires_at()) {
        (Some(before), Some(now)) => now.millis_since(before),
        (None | Some(_), None) | (None, Some(_)) => 0,
    }
}
