//! How locks are taken in a group: the limits and margins of its own locking.

use std::time::Duration;

use crate::domain::GroupKind;
use crate::domain::quorum::Drift;

/// How this console takes, keeps and counts locks of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct LockingConfig {
    /// The longest lease that may be asked for.
    pub longest_lease: Duration,
    /// What is subtracted from a lease for clocks that do not run alike.
    pub drift: Drift,
    /// The share of a lease that one node may take to answer, in percent; never more than the command time limit.
    pub node_share_percent: u32,
    /// Hand out fencing tokens, which takes a counter beside each lock (`lockkeeper:fence:{…}`).
    pub fencing: bool,
    /// How long such a counter stays after the last acquire.
    pub fence_counter_ttl: Duration,
    /// How long a node remembers a release of a Redisson lock, so that one that is sent twice counts once.
    pub release_marker_ttl: Duration,
    /// A node that restarted, and may have forgotten locks, takes no new ones until the last of those has ended.
    pub delayed_restart: bool,
    /// How long a lock is kept alive by renewing it.
    pub longest_hold: Duration,
    /// How often a lock is renewed at most.
    pub most_extensions: u32,
}

impl LockingConfig {
    /// The defaults for a group of this kind.
    ///
    /// Waiting after a restart is off for a single node: nobody else remembers its locks, so all locking would stop for
    /// as long as the longest lease.
    pub fn new(kind: GroupKind) -> Self {
        Self {
            longest_lease: Duration::from_hours(1),
            drift: Drift::default(),
            node_share_percent: 5,
            fencing: true,
            fence_counter_ttl: Duration::from_hours(1),
            release_marker_ttl: Duration::from_mins(1),
            delayed_restart: kind == GroupKind::Redlock,
            longest_hold: Duration::from_hours(24),
            most_extensions: 100_000,
        }
    }

    /// How long one node may take for a lock of `ttl`: a node that hangs must not eat up the lease (Redis documentation:
    /// "small compared to the total lock auto-release time"). At least 20 ms, at most `command_timeout`.
    pub fn limit_per_node(&self, command_timeout: Duration, ttl: Duration) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(20);
        let share = ttl * self.node_share_percent / 100;
        command_timeout.min(share.max(SHORTEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_may_take_a_small_share_of_the_lease() {
        let config = LockingConfig::new(GroupKind::Redlock);
        let limit = |ttl_ms| {
            let ttl = Duration::from_millis(ttl_ms);
            config
                .limit_per_node(Duration::from_millis(500), ttl)
                .as_millis()
        };
        assert_eq!([limit(100), limit(2_000), limit(30_000)], [20, 100, 500]);
    }
}
