//! Selects the owner whose figures represent the lock, and updates the tracking state of all
//! owners. No I/O.

use super::feed_inference;
use super::holders::{self, OwnerReading, OwnerTrack, TrackedHolder};
use super::merge::FeedActivity;
use crate::domain::quorum::ObservedLock;
use crate::domain::{
    AcquiredAtSource, Fingerprint, Format, Holder, Lease, Lock, Mode, Owner, RenewalSource,
    RenewalStats, Timestamp, Verdict,
};

/// Common inputs for updating the owners of one observed lock.
pub(super) struct FoldContext<'a> {
    before: Option<&'a Lock>,
    /// The previous lock, if it had the same leading owner.
    pub(super) same_owner: Option<&'a Lock>,
    feed: FeedActivity,
    pub(super) has_one_owner: bool,
    has_same_owners: bool,
    read_at: Timestamp,
}

/// The owner whose figures represent the lock.
pub(super) struct LeadingOwner {
    pub(super) start: (Timestamp, AcquiredAtSource),
    pub(super) renewals: RenewalStats,
    pub(super) track: OwnerTrack,
    pub(super) is_renewed: bool,
}

impl LeadingOwner {
    /// The leading owner as an entry of the list of holders.
    pub(super) fn holder(
        &self,
        leader: &Fingerprint,
        acquired_at: Timestamp,
        acquired_at_source: AcquiredAtSource,
        reading: &OwnerReading,
    ) -> Holder {
        Holder {
            fingerprint: *leader,
            acquired_at,
            acquired_at_source,
            expires_at: self.track.lease().expires_at(),
            renewals: if reading.has_own_lease {
                self.renewals.clone()
            } else {
                RenewalStats::empty(self.renewals.source)
            },
        }
    }
}

impl<'a> FoldContext<'a> {
    /// `owners` starts with the leading owner.
    pub(super) fn new(
        owners: &[Owner],
        before: Option<&'a Lock>,
        feed: FeedActivity,
        read_at: Timestamp,
    ) -> Self {
        let leads = |lock: &&Lock| {
            let first = lock.owners.first();
            first.map(|owner| &owner.fingerprint) == Some(&owners[0].fingerprint)
        };
        Self {
            before,
            same_owner: before.filter(leads),
            feed,
            has_one_owner: owners.len() == 1,
            has_same_owners: before.is_some_and(|before| have_same_owners(&before.owners, owners)),
            read_at,
        }
    }

    fn source(&self, previous: Option<&RenewalStats>, renewed: bool) -> RenewalSource {
        let previous = previous.zip(self.before.map(|before| before.observed_at));
        feed_inference::renewal_source(previous, self.feed, renewed)
    }

    /// Updates the tracking state of the leading owner, whether it led before or is one of the
    /// `others`. A former leader is moved to the `others`.
    pub(super) fn update_leader(
        &self,
        leader: &Fingerprint,
        reading: &OwnerReading,
        before: Option<OwnerTrack>,
        others: &mut Vec<TrackedHolder>,
    ) -> LeadingOwner {
        let previous = match self.same_owner.zip(before.clone()) {
            Some((before, track)) => Some((
                (before.acquired_at, before.acquired_at_source),
                before.renewals.clone(),
                track,
            )),
            None => holders::take(others, leader).map(|TrackedHolder { holder, track }| {
                let start = (holder.acquired_at, holder.acquired_at_source);
                (start, holder.renewals, track)
            }),
        };
        if self.same_owner.is_none() {
            let left = self.before.zip(before);
            others.extend(left.and_then(|(before, track)| former_leader(before, track)));
        }
        let Some((start, mut renewals, mut track)) = previous else {
            let mut renewals = RenewalStats::empty(self.source(None, false));
            // A release and a new acquire by the same owner between two polls look like a renewal.
            // Changes of ownership are therefore reported only when the owner differs.
            renewals.ownership_changes_per_minute = self.feed.ownership_changes_per_minute;
            return LeadingOwner {
                start: (self.read_at, AcquiredAtSource::FirstSeen),
                renewals,
                track: OwnerTrack::new(reading, self.feed.writes, self.read_at),
                is_renewed: false,
            };
        };
        let counted = renewals.clone();
        // With several owners, the writers are unknown.
        let max_writes = if self.has_one_owner { u32::MAX } else { 1 };
        let writes = self.feed.writes.min(max_writes);
        let is_renewed = track.update(
            &mut renewals,
            reading,
            writes,
            self.has_same_owners,
            self.read_at,
        );
        renewals.source = self.source(Some(&counted), is_renewed);
        renewals.ownership_changes_per_minute = None;
        LeadingOwner {
            start,
            renewals,
            track,
            is_renewed,
        }
    }

    /// Moves the current owners other than the leader out of `others`. Also returns whether one of
    /// them renewed.
    pub(super) fn update_others(
        &self,
        owners: &[Owner],
        readings: &[OwnerReading],
        others: &mut Vec<TrackedHolder>,
    ) -> (Vec<TrackedHolder>, bool) {
        let mut any_renewed = false;
        let updated = owners.iter().zip(readings).skip(1).map(|(owner, reading)| {
            let previous = holders::take(others, &owner.fingerprint);
            let source = |previous: Option<&RenewalStats>, renewed| self.source(previous, renewed);
            let (other, is_renewed) = holders::update_other(
                previous,
                owner,
                reading,
                source,
                self.has_same_owners,
                self.read_at,
            );
            any_renewed |= is_renewed;
            other
        });
        (updated.collect(), any_renewed)
    }

    /// The best known start of the hold. `start` is the start for the leading owner. `was_observed`:
    /// the lock was in the index before this observation.
    pub(super) fn acquired_at(
        &self,
        start: (Timestamp, AcquiredAtSource),
        claimed_at: Option<Timestamp>,
        format: Format,
        lease: Lease,
        was_observed: bool,
    ) -> (Timestamp, AcquiredAtSource) {
        // The owner requested the lock while another owner held it, and the change was observed.
        let has_waited =
            format.claims_request_time() && was_observed && start.1 == AcquiredAtSource::FirstSeen;
        let (at, source) = match claimed_at.filter(|_| !has_waited) {
            // A claimed time ahead of the console's clock would result in a negative age.
            Some(claimed) if self.has_one_owner => {
                (claimed.min(self.read_at), AcquiredAtSource::Claimed)
            }
            Some(_) | None => start,
        };
        // A lock that outlives its lease cannot be renewed after its deadline, so its owner
        // acquired it before that.
        let end = lease.expires_at().filter(|_| format.outlives_lease());
        (end.map_or(at, |end| at.min(end)), source)
    }
}

/// Moves the leading owner to the front.
pub(super) fn move_leader_first(
    observed: &mut ObservedLock,
    readings: &mut [OwnerReading],
    mode: Mode,
    before: Option<&Lock>,
    others: &[TrackedHolder],
) {
    let first_before = before.and_then(|before| before.owners.first());
    let first_before = first_before.map(|owner| &owner.fingerprint);
    let is_held = observed.verdict == Verdict::Held;
    let index = holders::leader_index(
        &observed.owners,
        readings,
        mode,
        is_held,
        first_before,
        others,
    );
    // A rotation keeps the order of the other owners.
    observed.owners[..=index].rotate_right(1);
    readings[..=index].rotate_right(1);
    // `owner` stays `None` if no owner has a quorum.
    observed.owner = observed.owner.take().and(observed.owners.first().cloned());
}

/// The former leader as one of the other owners.
fn former_leader(before: &Lock, track: OwnerTrack) -> Option<TrackedHolder> {
    let holder = Holder {
        fingerprint: before.owners.first()?.fingerprint,
        acquired_at: before.acquired_at,
        acquired_at_source: before.acquired_at_source,
        expires_at: track.lease().expires_at(),
        renewals: before.renewals.clone(),
    };
    Some(TrackedHolder { holder, track })
}

/// Whether the owner is one of these, by fingerprint.
pub(super) fn is_among(owner: &Owner, owners: &[Owner]) -> bool {
    owners
        .iter()
        .any(|one| one.fingerprint == owner.fingerprint)
}

fn have_same_owners(before: &[Owner], now: &[Owner]) -> bool {
    before.len() == now.len() && before.iter().all(|owner| is_among(owner, now))
}
