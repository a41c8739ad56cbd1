//! Pure: what can be said of a lock because its nodes tell of every change, and what cannot where they did not all the time.

use super::merge::Watched;
use crate::domain::{Ending, Fingerprint, Lock, Owner, Renewals, Source, Timestamp};

/// Longer than this without a sighting, and anything may have happened to a lock that is gone.
const UNSEEN_MS: i64 = 5_000;
/// The last moments before a deadline are within the jitter of look and clock: gone then is expired.
const EXPIRY_JITTER_MS: u64 = 200;
/// The same where nodes tell of every change: a release this long before the deadline is seen as one.
const TOLD_EXPIRY_JITTER_MS: u64 = 50;

/// How renewals of this owner are known: all of them were told, or some may have been missed.
///
/// `known` are those that were seen before and when the lock was last observed; nothing for an owner that is new.
pub(super) fn source(
    known: Option<(&Renewals, Timestamp)>,
    watched: Watched,
    renewed: bool,
) -> Source {
    match (known, watched.fed_since) {
        (None, Some(_)) => Source::Feed,
        (Some((renewals, observed_at)), Some(since)) => {
            // Those that went through this console are known whatever is told.
            let was_told = renewals.source != Source::Poll && observed_at >= since;
            if was_told || renewals.count == 0 && !renewed {
                Source::Feed
            } else {
                Source::Poll
            }
        }
        (_, None) => Source::Poll,
    }
}

/// Names this console as the source where every renewal of the owner that leads now was made through it.
pub(super) fn credit(renewals: &mut Renewals, here: Option<&(Fingerprint, u32)>, owners: &[Owner]) {
    if let (Some((owner, times)), Some(leads)) = (here, owners.first())
        && leads.fingerprint == *owner
        && (1..=*times).contains(&renewals.count)
    {
        renewals.source = Source::Api;
    }
}

/// How a lock went that nobody shows any more.
pub(super) fn ending(before: &Lock, watched: Watched, now: Timestamp) -> Ending {
    let was_told = watched
        .fed_since
        .is_some_and(|since| before.observed_at >= since);
    let jitter_ms = if was_told {
        TOLD_EXPIRY_JITTER_MS
    } else {
        EXPIRY_JITTER_MS
    };
    match before.lease.remaining_ms(now) {
        Some(left) if left <= jitter_ms && !before.format.outlives_its_lease() => Ending::Expired,
        _ if was_told => Ending::Released,
        // Told now, but not all the time since it was last seen: a flush, a restart, a lost connection.
        _ if watched.fed_since.is_some() => Ending::Unknown,
        _ if now.millis_since(before.observed_at) > UNSEEN_MS => Ending::Unknown,
        Some(_) | None => Ending::Released,
    }
}
