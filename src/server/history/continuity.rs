//! Whether a hold that is observed after a gap in the recording is the one from before the gap.

use super::open_hold::OpenHold;
use crate::domain::{Format, StartSource, Timestamp};
use crate::server::index::OpenHoldRecord;

/// The difference between two readings of the same deadline.
const DEADLINE_JITTER_MS: i64 = 1_000;

/// Whether the owner of `before` has held the lock without interruption until it was observed
/// again. Owner and lock are the same; nothing was recorded from `gap_from` on.
///
/// Without proof the hold before the gap ends there and another one begins after it.
pub(super) fn is_same_hold(before: &OpenHold, after: &OpenHoldRecord, gap_from: Timestamp) -> bool {
    let hold = &after.hold.hold;
    // The owner's own time of the acquire, or an observation of this process.
    let has_same_start = hold.started_at.millis() == before.started_at;
    let was_watched = match hold.started_at_source {
        StartSource::Claimed => false,
        // This console has observed the owner since then.
        StartSource::FirstSeen | StartSource::Appeared => hold.started_at <= gap_from,
    };
    // A lease that was neither renewed nor given out again.
    let has_same_deadline = match (before.expires_at, after.expires_at) {
        (Some(before), Some(after)) => (after.millis() - before).abs() <= DEADLINE_JITTER_MS,
        _ => false,
    };
    has_same_start || was_watched || has_same_deadline || has_new_owner_per_hold(after.hold.format)
}

/// Whether the library writes another random owner with each acquire, so that the same owner means
/// the same hold.
fn has_new_owner_per_hold(format: Format) -> bool {
    matches!(
        format,
        Format::RedisPy
            | Format::DjangoRedis
            | Format::Redbeat
            | Format::RedlockPy
            | Format::NodeRedlock
            | Format::Redsync
            | Format::Redislock
            | Format::Rslock
            | Format::EtcdMutex
            | Format::Curator
            | Format::Kazoo
            | Format::GoZk
    )
}
