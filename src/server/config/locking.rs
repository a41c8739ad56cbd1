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

    /// How long one node may take for a lock of `ttl`, over a network that takes `round_trip` by itself: a node that hangs
    /// must not eat up the lease (Redis documentation: "small compared to the total lock auto-release time"), and one that is
    /// far away must be able to reply at all. At least 20 ms and three round trips, at most `command_timeout`.
    pub fn limit_per_node(
        &self,
        command_timeout: Duration,
        ttl: Duration,
        round_trip: Duration,
    ) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(20);
        let share = ttl * self.node_share_percent / 100;
        command_timeout.min(share.max(SHORTEST).max(round_trip * MIN_ROUND_TRIPS))
    }

    /// The shortest lease of which something is left once a quorum has replied, in whole milliseconds: an acquire takes one
    /// round trip, a second one where fencing counters differ, and the third is what the work has.
    pub fn shortest_ttl(&self, round_trip: Duration) -> Duration {
        let spent = round_trip * MIN_ROUND_TRIPS;
        // What is left of a lease is `ttl - spent - ratio * ttl - plus`.
        let share_left = (1.0 - self.drift.ratio).max(0.01);
        let ttl = (spent + self.drift.plus).div_f64(share_left);
        Duration::from_millis(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX - 1) + 1)
    }
}

/// How many round trips there have to be room for in a node's limit and in a lease.
const MIN_ROUND_TRIPS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::quorum;

    #[test]
    fn a_node_may_take_a_small_share_of_the_lease() {
        let config = LockingConfig::new(GroupKind::Redlock);
        let limit = |ttl_ms| {
            let ttl = Duration::from_millis(ttl_ms);
            config
                .limit_per_node(Duration::from_millis(500), ttl, Duration::ZERO)
                .as_millis()
        };
        assert_eq!([limit(100), limit(2_000), limit(30_000)], [20, 100, 500]);
    }

    #[test]
    fn a_node_far_away_has_time_for_three_round_trips() {
        let config = LockingConfig::new(GroupKind::Redlock);
        for (ttl_ms, round_trip_ms, limit_ms) in [
            (1_500, 1, 75),
            (1_500, 120, 360),
            (3_000, 200, 500),
            (30_000, 120, 500),
        ] {
            let ms = Duration::from_millis;
            let limit = config.limit_per_node(ms(500), ms(ttl_ms), ms(round_trip_ms));
            assert_eq!(limit, ms(limit_ms), "{ttl_ms} ms, {round_trip_ms} ms away");
        }
    }

    #[test]
    fn the_shortest_lease_that_works_leaves_something_after_three_round_trips() {
        let config = LockingConfig::new(GroupKind::Redlock);
        for round_trip_ms in [0, 1, 30, 120, 200] {
            let spent = Duration::from_millis(3 * round_trip_ms);
            let left = |ttl| quorum::validity(ttl, spent, config.drift);
            let shortest = config.shortest_ttl(Duration::from_millis(round_trip_ms));
            assert!(left(shortest).is_some(), "{round_trip_ms} ms: {shortest:?}");
            let shorter = shortest - Duration::from_millis(3);
            assert_eq!(left(shorter), None, "{round_trip_ms} ms: {shortest:?}");
        }
    }
}
