//! Limits and margins of the console's own locking in a group.

use std::time::Duration;

use crate::domain::GroupKind;
use crate::domain::quorum::ClockDrift;

/// How this console acquires and renews locks in a group.
#[derive(Clone, Debug, PartialEq)]
pub struct LockingConfig {
    /// The longest lease that a request may ask for.
    pub max_lease: Duration,
    /// Subtracted from a lease to allow for clock drift.
    pub drift: ClockDrift,
    /// The timeout of one node in percent of the lease; at most `command_timeout`.
    pub node_timeout_percent: u32,
    /// Issue fencing tokens. Requires a counter next to each lock (`lockkeeper:fence:{…}`).
    pub fencing: bool,
    /// How long a fencing counter is kept after the last acquire.
    pub fence_counter_ttl: Duration,
    /// How long a node stores the marker of a Redisson release, which makes a repeated release
    /// idempotent.
    pub release_marker_ttl: Duration,
    /// Exclude a restarted node that may have lost locks from new acquires until the last of those
    /// locks has expired.
    pub delayed_restart: bool,
    /// The longest time for which a lock is renewed.
    pub max_hold: Duration,
    /// The largest number of renewals of one lock.
    pub max_renewals: u32,
}

impl LockingConfig {
    /// The defaults for a group of this kind.
    ///
    /// `delayed_restart` is off for a single node: excluding the only node would block all locking
    /// for the longest lease.
    pub fn new(kind: GroupKind) -> Self {
        Self {
            max_lease: Duration::from_hours(1),
            drift: ClockDrift::default(),
            node_timeout_percent: 5,
            fencing: true,
            fence_counter_ttl: Duration::from_hours(1),
            release_marker_ttl: Duration::from_mins(1),
            delayed_restart: kind == GroupKind::Redlock,
            max_hold: Duration::from_hours(24),
            max_renewals: 100_000,
        }
    }

    /// The timeout of one node for a lock of `ttl`, with a network latency of `round_trip`. A
    /// hanging node must not consume the lease (Redis documentation: "small compared to the total
    /// lock auto-release time"), and a distant node must have time to reply. At least 20 ms and
    /// three round trips, at most `command_timeout`.
    pub fn node_timeout(
        &self,
        command_timeout: Duration,
        ttl: Duration,
        round_trip: Duration,
    ) -> Duration {
        const MIN_TIMEOUT: Duration = Duration::from_millis(20);
        let share = ttl * self.node_timeout_percent / 100;
        command_timeout.min(share.max(MIN_TIMEOUT).max(round_trip * MIN_ROUND_TRIPS))
    }

    /// The shortest lease with remaining validity after a quorum has replied, in whole
    /// milliseconds. An acquire takes one round trip, and a second one if fencing counters differ;
    /// the third is left for the work.
    pub fn min_ttl(&self, round_trip: Duration) -> Duration {
        let spent = round_trip * MIN_ROUND_TRIPS;
        // Solves `ttl - spent - ratio * ttl - plus > 0` (Redlock's validity) for `ttl`.
        let share_left = (1.0 - self.drift.factor).max(0.01);
        let ttl = (spent + self.drift.constant).div_f64(share_left);
        Duration::from_millis(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX - 1) + 1)
    }
}

/// The least number of round trips for which a node timeout and a lease have room.
const MIN_ROUND_TRIPS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::quorum;

    #[test]
    fn the_node_timeout_is_a_small_share_of_the_lease() {
        let config = LockingConfig::new(GroupKind::Redlock);
        let limit = |ttl_ms| {
            let ttl = Duration::from_millis(ttl_ms);
            config
                .node_timeout(Duration::from_millis(500), ttl, Duration::ZERO)
                .as_millis()
        };
        assert_eq!([limit(100), limit(2_000), limit(30_000)], [20, 100, 500]);
    }

    #[test]
    fn a_distant_node_has_time_for_three_round_trips() {
        let config = LockingConfig::new(GroupKind::Redlock);
        for (ttl_ms, round_trip_ms, limit_ms) in [
            (1_500, 1, 75),
            (1_500, 120, 360),
            (3_000, 200, 500),
            (30_000, 120, 500),
        ] {
            let ms = Duration::from_millis;
            let limit = config.node_timeout(ms(500), ms(ttl_ms), ms(round_trip_ms));
            assert_eq!(limit, ms(limit_ms), "{ttl_ms} ms, {round_trip_ms} ms away");
        }
    }

    #[test]
    fn the_shortest_lease_has_validity_left_after_three_round_trips() {
        let config = LockingConfig::new(GroupKind::Redlock);
        for round_trip_ms in [0, 1, 30, 120, 200] {
            let spent = Duration::from_millis(3 * round_trip_ms);
            let left = |ttl| quorum::validity(ttl, spent, config.drift);
            let shortest = config.min_ttl(Duration::from_millis(round_trip_ms));
            assert!(left(shortest).is_some(), "{round_trip_ms} ms: {shortest:?}");
            let shorter = shortest - Duration::from_millis(3);
            assert_eq!(left(shorter), None, "{round_trip_ms} ms: {shortest:?}");
        }
    }
}
