//! Pure: which owner's figures are a lock's, and what a look adds to what is known of each owner.

use super::holders::{self, Other, Shown, Track};
use super::merge::Watched;
use super::told;
use crate::domain::quorum::Seen;
use crate::domain::{
    AcquiredAt, Fingerprint, Format, Holder, Lease, Lock, Mode, Owner, Renewals, Source, Timestamp,
    Verdict,
};

/// What all owners of a lock that is seen are looked at with.
pub(super) struct FoldContext<'a> {
    before: Option<&'a Lock>,
    /// The same, if its first owner is the one that it has now.
    pub(super) same_owner: Option<&'a Lock>,
    watched: Watched,
    pub(super) is_one: bool,
    is_same_set: bool,
    asked_at: Timestamp,
}

/// The owner whose figures are the lock's.
pub(super) struct Lead {
    pub(super) since: (Timestamp, AcquiredAt),
    pub(super) renewals: Renewals,
    pub(super) track: Track,
    pub(super) is_renewed: bool,
}

impl Lead {
    /// What is shown of it beside the other owners.
    pub(super) fn holder(
        &self,
        leader: &Fingerprint,
        acquired_at: Timestamp,
        acquired_at_is: AcquiredAt,
        shown: &Shown,
    ) -> Holder {
        Holder {
            fingerprint: leader.clone(),
            acquired_at,
            acquired_at_is,
            expires_at: self.track.lease().expires_at(),
            renewals: if shown.is_own_lease {
                self.renewals.clone()
            } else {
                Renewals::none(self.renewals.source)
            },
        }
    }
}

impl<'a> FoldContext<'a> {
    /// Of owners of which the leading one comes first.
    pub(super) fn at(
        owners: &[Owner],
        before: Option<&'a Lock>,
        watched: Watched,
        asked_at: Timestamp,
    ) -> Self {
        let leads = |lock: &&Lock| {
            let first = lock.owners.first();
            first.map(|owner| &owner.fingerprint) == Some(&owners[0].fingerprint)
        };
        Self {
            before,
            same_owner: before.filter(leads),
            watched,
            is_one: owners.len() == 1,
            is_same_set: before.is_some_and(|before| are_same(&before.owners, owners)),
            asked_at,
        }
    }

    fn source(&self, known: Option<&Renewals>, renewed: bool) -> Source {
        let known = known.zip(self.before.map(|before| before.observed_at));
        told::source(known, self.watched, renewed)
    }

    /// Goes on with the track of the leading owner, be it the one that led before or one of the `others`. Whoever led before is
    /// put to the others.
    pub(super) fn lead(
        &self,
        leader: &Fingerprint,
        shown: &Shown,
        before: Option<Track>,
        others: &mut Vec<Other>,
    ) -> Lead {
        let known = match self.same_owner.zip(before.clone()) {
            Some((before, track)) => Some((
                (before.acquired_at, before.acquired_at_is),
                before.renewals.clone(),
                track,
            )),
            None => holders::take(others, leader).map(|Other { holder, track }| {
                let since = (holder.acquired_at, holder.acquired_at_is);
                (since, holder.renewals, track)
            }),
        };
        if self.same_owner.is_none() {
            let left = self.before.zip(before);
            others.extend(left.and_then(|(before, track)| left_behind(before, track)));
        }
        let Some((since, mut renewals, mut track)) = known else {
            let mut renewals = Renewals::none(self.source(None, false));
            // One who took it anew between two looks cannot be told from one who renewed it: hand-overs are only told where
            // somebody else has it now.
            renewals.hand_overs_per_minute = self.watched.hand_overs_per_minute;
            return Lead {
                since: (self.asked_at, AcquiredAt::FirstSeen),
                renewals,
                track: Track::begin(shown, self.watched.writes, self.asked_at),
                is_renewed: false,
            };
        };
        let counted = renewals.clone();
        // Of several, nobody knows whose they were.
        let most = if self.is_one { u32::MAX } else { 1 };
        let writes = self.watched.writes.min(most);
        let is_renewed = track.see(
            &mut renewals,
            shown,
            writes,
            self.is_same_set,
            self.asked_at,
        );
        renewals.source = self.source(Some(&counted), is_renewed);
        renewals.hand_overs_per_minute = None;
        Lead {
            since,
            renewals,
            track,
            is_renewed,
        }
    }

    /// Takes the owners beside the leading one out of the `others`, and tells whether one of them renewed.
    pub(super) fn beside(
        &self,
        owners: &[Owner],
        shown: &[Shown],
        others: &mut Vec<Other>,
    ) -> (Vec<Other>, bool) {
        let mut any_renewed = false;
        let seen = owners.iter().zip(shown).skip(1).map(|(owner, shown)| {
            let known = holders::take(others, &owner.fingerprint);
            let source = |known: Option<&Renewals>, renewed| self.source(known, renewed);
            let (other, is_renewed) =
                holders::see_other(known, owner, shown, source, self.is_same_set, self.asked_at);
            any_renewed |= is_renewed;
            other
        });
        (seen.collect(), any_renewed)
    }

    /// Since when the lock is held, as far as that can be known, of which the leading owner is known `since` then.
    pub(super) fn acquired_at(
        &self,
        since: (Timestamp, AcquiredAt),
        claimed_at: Option<Timestamp>,
        format: Format,
        lease: Lease,
    ) -> (Timestamp, AcquiredAt) {
        let (at, is) = match claimed_at {
            Some(claimed) if self.is_one => (claimed.min(self.asked_at), AcquiredAt::Claimed),
            Some(_) | None => since,
        };
        // Nobody renews it when its time is over: whoever has it then had it before.
        let end = lease.expires_at().filter(|_| format.outlives_its_lease());
        (end.map_or(at, |end| at.min(end)), is)
    }
}

/// Puts the owner first whose figures are the lock's.
pub(super) fn put_lead_first(
    seen: &mut Seen,
    shown: &mut [Shown],
    mode: Mode,
    before: Option<&Lock>,
    others: &[Other],
) {
    let first_before = before.and_then(|before| before.owners.first());
    let first_before = first_before.map(|owner| &owner.fingerprint);
    let is_held = seen.verdict == Verdict::Held;
    let place = holders::lead(&seen.owners, shown, mode, is_held, first_before, others);
    seen.owners[..=place].rotate_right(1);
    shown[..=place].rotate_right(1);
    seen.owner = seen.owner.take().and(seen.owners.first().cloned());
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

/// Whether the owner is one of these.
pub(super) fn is_among(owner: &Owner, owners: &[Owner]) -> bool {
    owners
        .iter()
        .any(|one| one.fingerprint == owner.fingerprint)
}

fn are_same(before: &[Owner], now: &[Owner]) -> bool {
    before.len() == now.len() && before.iter().all(|owner| is_among(owner, now))
}
