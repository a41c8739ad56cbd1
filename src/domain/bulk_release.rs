//! Forced release of many locks: the selected holds and the results of a dry run.

use serde::{Deserialize, Serialize};

use super::{
    AdviceLevel, Confidence, Fingerprint, Format, Lease, Lock, LockId, NodeResult, Observation,
    ObservedHold, OperationError, Timestamp,
};

/// The maximum number of locks in one bulk release.
pub const MAX_BULK_RELEASE: usize = 500;

/// A hold that was selected for a forced release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseTarget {
    /// The group and name of the lock.
    pub id: LockId,
    /// The owner. The release does not affect other owners.
    pub fingerprint: Fingerprint,
    /// The label of the owner.
    pub label: Option<String>,
    /// The format, which determines the side effects of a release.
    pub format: Format,
    /// The state of the hold when it was selected.
    pub observed_hold: ObservedHold,
}

/// The predicted result of a release. The dry run only reads from the nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseDryRun {
    /// The group and name of the lock.
    pub id: LockId,
    /// The predicted result on each node, or the reason why the release would be rejected.
    pub result: Result<Vec<NodeResult>, OperationError>,
    /// Whether the owner shows signs of life; `None` if the release would be rejected.
    pub advice: Option<AdviceLevel>,
}

impl Lock {
    /// The current state of this owner's hold, which started at `since`.
    pub fn observed_hold(&self, owner: &Fingerprint, since: Timestamp) -> ObservedHold {
        let mut owners = self.owners.iter();
        let owner = owners.find(|other| other.fingerprint == *owner);
        let leases = self.nodes.iter().map(|node| &node.observation);
        ObservedHold {
            acquired_at: Some(since),
            expires_at: leases.filter_map(lease_end).max(),
            hold_count: owner.and_then(|owner| owner.hold_count),
        }
    }

    /// The hold to select for a bulk release; `None` if a release cannot end it.
    pub fn bulk_release_target(&self) -> Option<ReleaseTarget> {
        let is_unreleasable = self.confidence == Confidence::Possible
            || self.format.not_releasable_reason().is_some();
        self.sole_release_target().filter(|_| !is_unreleasable)
    }

    /// The hold that a release would end; `None` if the lock has no owner or several owners. With
    /// several owners the user must choose one.
    pub fn sole_release_target(&self) -> Option<ReleaseTarget> {
        let [owner] = self.owners.as_slice() else {
            return None;
        };
        Some(ReleaseTarget {
            id: self.id.clone(),
            fingerprint: owner.fingerprint,
            label: owner.label.clone(),
            format: self.format,
            observed_hold: self.observed_hold(&owner.fingerprint, self.acquired_at),
        })
    }
}

fn lease_end(observation: &Observation) -> Option<Timestamp> {
    match observation {
        Observation::Holds {
            lease: Lease::Expires { at, .. },
            ..
        } => Some(*at),
        Observation::Holds {
            lease: Lease::Session | Lease::Never,
            ..
        }
        | Observation::Absent
        | Observation::Unreachable { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, lock, owner};
    use super::*;

    #[test]
    fn a_lock_with_several_owners_has_no_sole_release_target() {
        assert_eq!(lock(&[1, 2], NOW, NOW).sole_release_target(), None);
        assert_eq!(lock(&[], NOW, NOW).sole_release_target(), None);
        let target = lock(&[1], NOW, NOW).sole_release_target().unwrap();
        assert_eq!(target.fingerprint, owner(1).fingerprint);
        assert_eq!(target.observed_hold.acquired_at, Some(NOW));
    }

    #[test]
    fn locks_that_cannot_be_released_are_excluded_from_bulk_releases() {
        let held = lock(&[1], NOW, NOW);
        assert_eq!(held.bulk_release_target(), held.sole_release_target());
        let possible = Lock {
            confidence: Confidence::Possible,
            ..held
        };
        assert_eq!(possible.bulk_release_target(), None);
        assert_eq!(lock(&[1, 2], NOW, NOW).bulk_release_target(), None);
    }

    #[test]
    fn the_observed_expiry_is_the_latest_one_on_any_node() {
        let mut held = lock(&[1], NOW, NOW);
        held.nodes = [10_000, 30_000, 20_000]
            .into_iter()
            .map(|ms| crate::domain::NodeObservation {
                node: ms.to_string(),
                observation: Observation::held_by(owner(1), Lease::until(NOW.plus_millis(ms), NOW)),
            })
            .collect();
        let observed = held.observed_hold(&owner(1).fingerprint, NOW);
        assert_eq!(observed.expires_at, Some(NOW.plus_millis(30_000)));
    }
}
