//! What became of a lock after it was released by force: watched for one renewal interval, on the page and in the log.

use super::{Fingerprint, Lock, Owner, Timestamp};

/// A renewal that is a little late still counts.
const GRACE_MS: u64 = 1_000;

/// What became of a lock after it was released.
#[derive(Clone, Debug, PartialEq)]
pub enum Aftermath {
    /// Not over yet; `absent` once no node shows it.
    Watching {
        /// Whether it was seen to be away since.
        absent: bool,
    },
    /// Not observed for one renewal interval.
    Gone,
    /// The old owner put it back.
    PutBack {
        /// When it was seen again.
        at: Timestamp,
    },
    /// Somebody else took it.
    Taken {
        /// Who.
        by: Owner,
        /// When that was seen.
        at: Timestamp,
    },
    /// It never went away: a node that was not reached still has it.
    StillThere,
}

impl Lock {
    /// How long it is watched after its release: one of its renewal intervals, or as long as its library may take.
    pub fn watch_ms(&self, now: Timestamp) -> u64 {
        let left_ms = self.lease.remaining_ms(now);
        self.format.watch_ms(self.renewals.every_ms, left_ms) + GRACE_MS
    }
}

impl Aftermath {
    /// What became of it at `now`, given what was known a moment `before`. The lock comes with the moment it was last seen.
    pub fn now(
        old: &Fingerprint,
        released_at: Timestamp,
        until: Timestamp,
        lock: Option<(&Lock, Timestamp)>,
        now: Timestamp,
        before: Option<&Self>,
    ) -> Self {
        let absent = match before {
            Some(over @ (Self::Gone | Self::PutBack { .. } | Self::Taken { .. })) => {
                return over.clone();
            }
            Some(Self::Watching { absent }) => *absent,
            Some(Self::StillThere) | None => false,
        };
        let is_over = now >= until;
        let Some((lock, seen_at)) = lock else {
            return if is_over {
                Self::Gone
            } else {
                Self::Watching { absent: true }
            };
        };
        if seen_at <= released_at {
            // The board has not looked again yet.
            return Self::Watching { absent };
        }
        let is_back = absent || lock.acquired_at > released_at;
        let at = if lock.acquired_at > released_at {
            lock.acquired_at
        } else {
            seen_at
        };
        match lock.owners.first() {
            Some(_) if lock.owners.iter().any(|owner| owner.fingerprint == *old) => {
                match (is_back, is_over) {
                    (true, _) => Self::PutBack { at },
                    (false, true) => Self::StillThere,
                    (false, false) => Self::Watching { absent },
                }
            }
            Some(by) => Self::Taken { by: by.clone(), at },
            None => Self::Watching { absent },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, lock, owner};
    use super::*;

    const UNTIL: Timestamp = NOW.plus_millis(10_000);

    fn step(before: Option<&Aftermath>, lock: Option<&Lock>, after_ms: i64) -> Aftermath {
        let lock = lock.map(|lock| (lock, lock.observed_at));
        Aftermath::now(
            &owner(1).fingerprint,
            NOW,
            UNTIL,
            lock,
            NOW.plus_millis(after_ms),
            before,
        )
    }

    #[test]
    fn a_lock_that_stays_away_is_gone_after_one_interval() {
        let away = step(None, None, 500);
        assert_eq!(away, Aftermath::Watching { absent: true });
        assert_eq!(step(Some(&away), None, 10_000), Aftermath::Gone);
    }

    #[test]
    fn an_old_view_of_the_board_is_not_taken_for_a_return() {
        let old = lock(&[1], NOW.plus_millis(-60_000), NOW.plus_millis(-200));
        assert_eq!(
            step(None, Some(&old), 100),
            Aftermath::Watching { absent: false }
        );
    }

    #[test]
    fn the_old_owner_is_caught_putting_it_back() {
        let away = step(None, None, 500);
        let back = lock(&[1], NOW.plus_millis(3_000), NOW.plus_millis(3_000));
        let caught = step(Some(&away), Some(&back), 3_100);
        assert_eq!(
            caught,
            Aftermath::PutBack {
                at: NOW.plus_millis(3_000)
            }
        );
        assert_eq!(step(Some(&caught), None, 4_000), caught);
    }

    #[test]
    fn a_time_stamp_of_the_owners_own_does_not_hide_its_return() {
        let claimed = lock(&[1], NOW.plus_millis(-60_000), NOW.plus_millis(3_000));
        let away = step(None, None, 500);
        assert_eq!(
            step(Some(&away), Some(&claimed), 3_100),
            Aftermath::PutBack {
                at: NOW.plus_millis(3_000)
            }
        );
    }

    #[test]
    fn the_next_owner_is_named() {
        let next = lock(&[5], NOW.plus_millis(900), NOW.plus_millis(1_000));
        assert_eq!(
            step(None, Some(&next), 1_000),
            Aftermath::Taken {
                by: owner(5),
                at: NOW.plus_millis(900)
            }
        );
    }

    #[test]
    fn what_never_went_away_is_not_called_gone() {
        let kept = lock(&[1], NOW.plus_millis(-60_000), NOW.plus_millis(9_900));
        assert_eq!(
            step(None, Some(&kept), 5_000),
            Aftermath::Watching { absent: false }
        );
        assert_eq!(step(None, Some(&kept), 10_000), Aftermath::StillThere);
    }
}
