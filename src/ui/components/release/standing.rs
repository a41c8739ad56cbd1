//! What became of the lock while somebody was deciding. Pure rules.

use crate::domain::{Ending, Fingerprint, Lock, Owner, Timestamp};
use crate::ui::format;
use crate::ui::live::Gone;
use crate::ui::words::act as words;
use crate::ui::words::lock::name as owner_name;

/// What became of the lock since it was seen.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// The owner that was seen still holds it.
    AsSeen,
    /// Somebody else holds it, noticed at that moment.
    Changed {
        /// Who.
        to: Owner,
        /// When this was noticed.
        at: Timestamp,
    },
    /// The same owner let it go and acquired it again.
    Again,
    /// It is not observed any more.
    Gone(Gone),
}

impl Standing {
    /// What became of it, given what was known a moment `before`: of this owner's hold, which it had `since` then.
    pub fn now(
        (seen, since): (&Fingerprint, Timestamp),
        lock: Option<&Lock>,
        gone: Option<Gone>,
        now: Timestamp,
        before: Option<&Self>,
    ) -> Self {
        let Some(lock) = lock else {
            // A lock that was never on the board cannot leave it: the nodes will tell when it is released.
            return gone.map_or(Self::AsSeen, Self::Gone);
        };
        if lock.was_acquired_again(seen, since) {
            return Self::Again;
        }
        if lock.owners.iter().any(|owner| owner.fingerprint == *seen) {
            return Self::AsSeen;
        }
        let Some(to) = lock.owners.first().cloned() else {
            return Self::AsSeen;
        };
        let at = match before {
            Some(Self::Changed { to: known, at }) if known.fingerprint == to.fingerprint => *at,
            Some(_) | None => now,
        };
        Self::Changed { to, at }
    }

    /// Why releasing is not possible any more, in words.
    pub fn why_not(&self, now: Timestamp) -> Option<String> {
        match self {
            Self::AsSeen => None,
            Self::Changed { to, at } => Some(words::owner_changed_to(
                &format::ago(*at, now),
                &owner_name(to),
            )),
            Self::Again => Some(words::let_go_and_again().to_owned()),
            Self::Gone(gone) => Some(match gone.ending {
                Ending::Expired => words::has_expired(&format::ago(gone.at, now)),
                Ending::Released => words::was_released(&format::ago(gone.at, now)),
                Ending::Unknown => words::noticed_gone(&format::ago(gone.at, now)),
            }),
        }
    }
}

/// The lock as it is for somebody who decides about this owner's hold: up to date as long as it is that hold, and from then on as
/// it was last. The next owner's facts are not the ones that were seen.
pub fn confirmed<'a>(
    (seen, since): (&Fingerprint, Timestamp),
    now: Option<&'a Lock>,
    before: &'a Lock,
) -> &'a Lock {
    let is_it = |lock: &&Lock| {
        let mut owners = lock.owners.iter();
        owners.any(|owner| owner.fingerprint == *seen) && !lock.was_acquired_again(seen, since)
    };
    now.filter(is_it).unwrap_or(before)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::domain::testing::{NOW, lock, owner};

    #[test]
    fn a_new_owner_is_named_with_the_moment_it_was_noticed() {
        let changed = Standing::now(
            (&owner(1).fingerprint, NOW),
            Some(&lock(&[5], NOW, NOW)),
            None,
            NOW,
            None,
        );
        let later = NOW.plus_millis(2_000);
        let still = Standing::now(
            (&owner(1).fingerprint, NOW),
            Some(&lock(&[5], NOW, later)),
            None,
            later,
            Some(&changed),
        );
        assert_eq!(
            still.why_not(later).unwrap(),
            "The owner changed 2.0 s ago: api-5."
        );
    }

    #[test]
    fn what_was_seen_is_kept_when_the_owner_changes() {
        let later = NOW.plus_millis(2_000);
        let (seen, renewed) = (lock(&[1], NOW, NOW), lock(&[1], NOW, later));
        let (next, again) = (lock(&[5], later, later), lock(&[1], later, later));
        let fingerprint = owner(1).fingerprint;
        for (now, kept) in [
            (Some(&renewed), &renewed),
            (Some(&next), &seen),
            (Some(&again), &seen),
            (None, &seen),
        ] {
            assert_eq!(confirmed((&fingerprint, NOW), now, &seen), kept);
        }
    }

    #[test]
    fn one_of_two_owners_may_still_be_released() {
        let split = lock(&[2, 1], NOW, NOW);
        assert_eq!(
            Standing::now((&owner(1).fingerprint, NOW), Some(&split), None, NOW, None),
            Standing::AsSeen
        );
    }

    #[test]
    fn a_hold_that_began_anew_is_not_the_one_that_was_seen() {
        let again = lock(&[1], NOW.plus_millis(1), NOW.plus_millis(1));
        let seen = owner(1).fingerprint;
        assert_eq!(
            Standing::now((&seen, NOW), Some(&again), None, NOW, None),
            Standing::Again
        );
        let renewed = lock(&[1], NOW, NOW.plus_millis(1));
        assert_eq!(
            Standing::now((&seen, NOW), Some(&renewed), None, NOW, None),
            Standing::AsSeen
        );
    }

    #[test]
    fn an_expired_lock_is_said_to_have_expired() {
        let gone = Gone {
            ending: Ending::Expired,
            at: NOW,
        };
        let standing = Standing::now((&owner(1).fingerprint, NOW), None, Some(gone), NOW, None);
        assert_eq!(
            standing.why_not(NOW).unwrap(),
            "It has expired by itself, 0.0 s ago."
        );
        assert_eq!(
            Standing::now((&owner(1).fingerprint, NOW), None, None, NOW, None),
            Standing::AsSeen
        );
    }
}
