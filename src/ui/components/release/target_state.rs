//! Whether the displayed hold still exists while the user decides.

use crate::domain::{Fingerprint, GoneReason, Lock, Owner, Timestamp};
use crate::ui::format;
use crate::ui::i18n::lock::name as owner_name;
use crate::ui::i18n::operations as t;
use crate::ui::live::LockEnding;

/// The state of the displayed hold.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetState {
    /// The displayed owner still holds the lock.
    Unchanged,
    /// Another owner holds the lock.
    OwnerChanged {
        to: Owner,
        /// When the change was first observed.
        at: Timestamp,
    },
    /// The same owner released the lock and acquired it again.
    Reacquired,
    /// The lock is no longer in the index.
    Gone(LockEnding),
}

impl TargetState {
    /// Returns the state of the hold of the `displayed` owner, which started at `since`. `before`
    /// is the previous state.
    pub fn next(
        (displayed, since): (&Fingerprint, Timestamp),
        lock: Option<&Lock>,
        gone: Option<LockEnding>,
        now: Timestamp,
        before: Option<&Self>,
    ) -> Self {
        let Some(lock) = lock else {
            // A lock that was never in the index cannot leave it. The nodes check its owner on
            // release.
            return gone.map_or(Self::Unchanged, Self::Gone);
        };
        if lock.was_reacquired_since(displayed, since) {
            return Self::Reacquired;
        }
        if lock
            .owners
            .iter()
            .any(|owner| owner.fingerprint == *displayed)
        {
            return Self::Unchanged;
        }
        let Some(to) = lock.owners.first().cloned() else {
            return Self::Unchanged;
        };
        let at = match before {
            Some(Self::OwnerChanged { to: previous, at })
                if previous.fingerprint == to.fingerprint =>
            {
                *at
            }
            Some(_) | None => now,
        };
        Self::OwnerChanged { to, at }
    }

    /// Returns why the hold can no longer be released.
    pub fn blocked_reason(&self, now: Timestamp) -> Option<String> {
        match self {
            Self::Unchanged => None,
            Self::OwnerChanged { to, at } => {
                Some(t::owner_changed_to(&format::ago(*at, now), &owner_name(to)))
            }
            Self::Reacquired => Some(t::same_owner_reacquired().to_owned()),
            Self::Gone(gone) => Some(match gone.ending {
                GoneReason::Expired => t::has_expired(&format::ago(gone.at, now)),
                GoneReason::Released => t::was_released(&format::ago(gone.at, now)),
                GoneReason::Unknown => t::gone_since(&format::ago(gone.at, now)),
            }),
        }
    }
}

/// Returns the lock to display for this owner's hold: the current state while the hold exists, and
/// its last state afterwards. The next owner's facts must not replace the facts that the user has
/// read.
pub fn last_confirmed<'a>(
    (displayed, since): (&Fingerprint, Timestamp),
    now: Option<&'a Lock>,
    before: &'a Lock,
) -> &'a Lock {
    let is_same_hold = |lock: &&Lock| {
        let mut owners = lock.owners.iter();
        owners.any(|owner| owner.fingerprint == *displayed)
            && !lock.was_reacquired_since(displayed, since)
    };
    now.filter(is_same_hold).unwrap_or(before)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::domain::testing::{NOW, lock, owner};

    #[test]
    fn a_new_owner_is_named_with_the_time_of_the_change() {
        let changed = TargetState::next(
            (&owner(1).fingerprint, NOW),
            Some(&lock(&[5], NOW, NOW)),
            None,
            NOW,
            None,
        );
        let later = NOW.plus_millis(2_000);
        let still = TargetState::next(
            (&owner(1).fingerprint, NOW),
            Some(&lock(&[5], NOW, later)),
            None,
            later,
            Some(&changed),
        );
        assert_eq!(
            still.blocked_reason(later).unwrap(),
            "The owner changed 2.0 s ago to api-5."
        );
    }

    #[test]
    fn the_displayed_hold_is_kept_when_the_owner_changes() {
        let later = NOW.plus_millis(2_000);
        let (displayed, renewed) = (lock(&[1], NOW, NOW), lock(&[1], NOW, later));
        let (next, reacquired) = (lock(&[5], later, later), lock(&[1], later, later));
        let fingerprint = owner(1).fingerprint;
        for (now, expected) in [
            (Some(&renewed), &renewed),
            (Some(&next), &displayed),
            (Some(&reacquired), &displayed),
            (None, &displayed),
        ] {
            assert_eq!(
                last_confirmed((&fingerprint, NOW), now, &displayed),
                expected
            );
        }
    }

    #[test]
    fn one_of_two_owners_may_still_be_released() {
        let split = lock(&[2, 1], NOW, NOW);
        assert_eq!(
            TargetState::next((&owner(1).fingerprint, NOW), Some(&split), None, NOW, None),
            TargetState::Unchanged
        );
    }

    #[test]
    fn a_reacquired_lock_is_a_different_hold() {
        let reacquired = lock(&[1], NOW.plus_millis(1), NOW.plus_millis(1));
        let displayed = owner(1).fingerprint;
        assert_eq!(
            TargetState::next((&displayed, NOW), Some(&reacquired), None, NOW, None),
            TargetState::Reacquired
        );
        let renewed = lock(&[1], NOW, NOW.plus_millis(1));
        assert_eq!(
            TargetState::next((&displayed, NOW), Some(&renewed), None, NOW, None),
            TargetState::Unchanged
        );
    }

    #[test]
    fn an_expired_lock_is_reported_as_expired() {
        let gone = LockEnding {
            ending: GoneReason::Expired,
            at: NOW,
        };
        let state = TargetState::next((&owner(1).fingerprint, NOW), None, Some(gone), NOW, None);
        assert_eq!(
            state.blocked_reason(NOW).unwrap(),
            "The lock expired 0.0 s ago."
        );
        assert_eq!(
            TargetState::next((&owner(1).fingerprint, NOW), None, None, NOW, None),
            TargetState::Unchanged
        );
    }
}
