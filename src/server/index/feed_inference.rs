//! Inferences that are possible only while the nodes report every change of a lock, and their
//! weaker substitutes for polled locks. No I/O.

use super::merge::FeedActivity;
use crate::domain::{Fingerprint, GoneReason, Lock, Owner, RenewalSource, RenewalStats, Timestamp};

/// After a longer gap between observations, the reason why a lock is gone is unknown.
const MAX_UNOBSERVED_MS: i64 = 5_000;
/// A lock that is gone this shortly before its deadline counts as expired: the difference is within
/// the jitter of polling and clocks.
const POLL_EXPIRY_JITTER_MS: u64 = 200;
/// The same with change notifications, which report a release without the delay of polling.
const FEED_EXPIRY_JITTER_MS: u64 = 50;

/// Whether all renewals of this owner were reported by notifications, or some may have been missed.
///
/// `previous` has the known renewals and the time of the last observation; `None` for a new owner.
pub(super) fn renewal_source(
    previous: Option<(&RenewalStats, Timestamp)>,
    feed: FeedActivity,
    is_renewed: bool,
) -> RenewalSource {
    match (previous, feed.complete_since) {
        (None, Some(_)) => RenewalSource::Feed,
        (Some((renewals, observed_at)), Some(since)) => {
            // The source `Api` counts as complete too: the console knows every renewal that it
            // made.
            let was_complete = renewals.source != RenewalSource::Poll && observed_at >= since;
            if was_complete || renewals.count == 0 && !is_renewed {
                RenewalSource::Feed
            } else {
                RenewalSource::Poll
            }
        }
        (_, None) => RenewalSource::Poll,
    }
}

/// Sets the source to `api` if this console made every renewal of the current owner.
pub(super) fn credit_local_renewals(
    renewals: &mut RenewalStats,
    local_renewals: Option<&(Fingerprint, u32)>,
    owners: &[Owner],
) {
    if let (Some((owner, times)), Some(leader)) = (local_renewals, owners.first())
        && leader.fingerprint == *owner
        && (1..=*times).contains(&renewals.count)
    {
        renewals.source = RenewalSource::Api;
    }
}

/// Why a lock ended that no node shows any longer.
pub(super) fn infer_end_reason(before: &Lock, feed: FeedActivity, now: Timestamp) -> GoneReason {
    let was_complete = feed
        .complete_since
        .is_some_and(|since| before.observed_at >= since);
    let jitter_ms = if was_complete {
        FEED_EXPIRY_JITTER_MS
    } else {
        POLL_EXPIRY_JITTER_MS
    };
    match before.lease.remaining_ms(now) {
        Some(left) if left <= jitter_ms && !before.format.outlives_lease() => GoneReason::Expired,
        _ if was_complete => GoneReason::Released,
        // Notifications were interrupted since the last observation: a flush, a restart or a lost
        // connection.
        _ if feed.complete_since.is_some() => GoneReason::Unknown,
        _ if now.millis_since(before.observed_at) > MAX_UNOBSERVED_MS => GoneReason::Unknown,
        Some(_) | None => GoneReason::Released,
    }
}
