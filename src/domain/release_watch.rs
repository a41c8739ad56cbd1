//! Watches a lock for one renewal interval after a forced release, for the page and the audit log.

use super::{Fingerprint, Lock, Owner, Timestamp};

/// Tolerance for a renewal that arrives later than the measured interval.
const GRACE_MS: u64 = 1_000;

/// The state of a lock after its forced release.
#[derive(Clone, Debug, PartialEq)]
pub enum ReleaseWatch {
    /// The watch period has not ended.
    Watching {
        /// Whether the lock was absent on all nodes at some time since the release.
        absent: bool,
    },
    /// The lock was absent until the watch period ended.
    Gone,
    /// The previous owner acquired the lock again.
    Reacquired {
        /// When the lock was observed again.
        at: Timestamp,
    },
    /// Another owner acquired the lock.
    TakenOver {
        /// The new owner.
        owner: Owner,
        /// When the new owner was observed.
        at: Timestamp,
    },
    /// The lock was never absent. A node that the release did not reach still has it.
    StillHeld,
}

impl Lock {
    /// How long to watch the lock after a forced release: one observed renewal interval, or the
    /// longest time that its library takes to renew.
    pub fn release_watch_ms(&self, now: Timestamp) -> u64 {
        let left_ms = self.lease.remaining_ms(now);
        self.format
            .release_watch_ms(self.renewals.interval_ms, left_ms)
            + GRACE_MS
    }
}

impl ReleaseWatch {
    /// Returns the state at `now`. `lock` is the current lock, if any, with the time at which the
    /// index last read it. `previous` is the previous state; final states are returned unchanged.
    pub fn evaluate(
        previous_owner: &Fingerprint,
        released_at: Timestamp,
        until: Timestamp,
        lock: Option<(&Lock, Timestamp)>,
        now: Timestamp,
        previous: Option<&Self>,
    ) -> Self {
        let absent = match previous {
            Some(final_state @ (Self::Gone | Self::Reacquired { .. } | Self::TakenOver { .. })) => {
                return final_state.clone();
            }
            Some(Self::Watching { absent }) => *absent,
            Some(Self::StillHeld) | None => false,
        };
        let has_ended = now >= until;
        let Some((lock, read_at)) = lock else {
            return if has_ended {
                Self::Gone
            } else {
                Self::Watching { absent: true }
            };
        };
        if read_at <= released_at {
            // The index has not read the lock since the release.
            return Self::Watching { absent };
        }
        let is_reacquired = absent || lock.acquired_at > released_at;
        let at = if lock.acquired_at > released_at {
            lock.acquired_at
        } else {
            read_at
        };
        match lock.owners.first() {
            Some(_)
                if lock
                    .owners
                    .iter()
                    .any(|owner| owner.fingerprint == *previous_owner) =>
            {
                match (is_reacquired, has_ended) {
                    (true, _) => Self::Reacquired { at },
                    (false, true) => Self::StillHeld,
                    (false, false) => Self::Watching { absent },
                }
            }
            Some(owner) => Self::TakenOver {
                owner: owner.clone(),
                at,
            },
            None => Self::Watching { absent },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, lock, owner};
    use super::*;

    const UNTIL: Timestamp = NOW.plus_millis(10_000);

    fn step(previous: Option<&ReleaseWatch>, lock: Option<&Lock>, after_ms: i64) -> ReleaseWatch {
        let lock = lock.map(|lock| (lock, lock.observed_at));
        ReleaseWatch::evaluate(
            &owner(1).fingerprint,
            NOW,
            UNTIL,
            lock,
            NOW.plus_millis(after_ms),
            previous,
        )
    }

    #[test]
    fn a_lock_that_stays_absent_for_one_interval_is_gone() {
        let absent = step(None, None, 500);
        assert_eq!(absent, ReleaseWatch::Watching { absent: true });
        assert_eq!(step(Some(&absent), None, 10_000), ReleaseWatch::Gone);
    }

    #[test]
    fn an_observation_from_before_the_release_is_not_a_reacquire() {
        let previous_owner = lock(&[1], NOW.plus_millis(-60_000), NOW.plus_millis(-200));
        assert_eq!(
            step(None, Some(&previous_owner), 100),
            ReleaseWatch::Watching { absent: false }
        );
    }

    #[test]
    fn a_reacquire_by_the_previous_owner_is_reported() {
        let absent = step(None, None, 500);
        let back = lock(&[1], NOW.plus_millis(3_000), NOW.plus_millis(3_000));
        let reacquired = step(Some(&absent), Some(&back), 3_100);
        assert_eq!(
            reacquired,
            ReleaseWatch::Reacquired {
                at: NOW.plus_millis(3_000)
            }
        );
        assert_eq!(step(Some(&reacquired), None, 4_000), reacquired);
    }

    #[test]
    fn a_claimed_acquire_time_before_the_release_does_not_hide_a_reacquire() {
        let observed = lock(&[1], NOW.plus_millis(-60_000), NOW.plus_millis(3_000));
        let absent = step(None, None, 500);
        assert_eq!(
            step(Some(&absent), Some(&observed), 3_100),
            ReleaseWatch::Reacquired {
                at: NOW.plus_millis(3_000)
            }
        );
    }

    #[test]
    fn another_owner_is_reported_by_name() {
        let next = lock(&[5], NOW.plus_millis(900), NOW.plus_millis(1_000));
        assert_eq!(
            step(None, Some(&next), 1_000),
            ReleaseWatch::TakenOver {
                owner: owner(5),
                at: NOW.plus_millis(900)
            }
        );
    }

    #[test]
    fn a_lock_that_was_never_absent_is_still_held_at_the_end() {
        let held = lock(&[1], NOW.plus_millis(-60_000), NOW.plus_millis(9_900));
        assert_eq!(
            step(None, Some(&held), 5_000),
            ReleaseWatch::Watching { absent: false }
        );
        assert_eq!(step(None, Some(&held), 10_000), ReleaseWatch::StillHeld);
    }
}
