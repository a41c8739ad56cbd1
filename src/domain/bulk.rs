//! Releasing many locks by force: which were picked, and what would come of each.

use serde::{Deserialize, Serialize};

use super::{
    Answer, Confidence, Fault, Fingerprint, Format, Lease, Lock, LockId, NodeAct, SeenHold,
    Timestamp,
};

/// So many may be released in one go.
pub const MOST_AT_ONCE: usize = 500;

/// A hold that somebody picked to be ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picked {
    /// Which lock.
    pub id: LockId,
    /// Whose hold: anybody else's is left alone.
    pub fingerprint: Fingerprint,
    /// What that owner calls itself.
    pub label: Option<String>,
    /// Its layout, which tells what harm its release does.
    pub format: Format,
    /// The hold as it was seen.
    pub seen: SeenHold,
}

/// What would come of a release, as the nodes say without being touched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rehearsed {
    /// Which lock.
    pub id: LockId,
    /// What would happen on each node, or why the lock would be left alone.
    pub end: Result<Vec<NodeAct>, Fault>,
}

impl Lock {
    /// The hold of this owner as it is seen now, which it is known to have `since` then.
    pub fn seen_hold(&self, owner: &Fingerprint, since: Timestamp) -> SeenHold {
        let mut owners = self.owners.iter();
        let owner = owners.find(|known| known.fingerprint == *owner);
        let leases = self.nodes.iter().map(|node| &node.answer);
        SeenHold {
            acquired_at: Some(since),
            expires_at: leases.filter_map(ends_at).max(),
            holds: owner.and_then(|owner| owner.holds),
        }
    }

    /// The hold to pick together with others, where a release could end it at all.
    pub fn hold_to_pick(&self) -> Option<Picked> {
        let never =
            self.confidence == Confidence::Possible || self.format.why_not_releasable().is_some();
        self.only_hold().filter(|_| !never)
    }

    /// The one hold that a release would end; nothing where nobody or several are seen with it: then somebody has to choose.
    pub fn only_hold(&self) -> Option<Picked> {
        let [owner] = self.owners.as_slice() else {
            return None;
        };
        Some(Picked {
            id: self.id.clone(),
            fingerprint: owner.fingerprint.clone(),
            label: owner.label.clone(),
            format: self.format,
            seen: self.seen_hold(&owner.fingerprint, self.acquired_at),
        })
    }
}

fn ends_at(answer: &Answer) -> Option<Timestamp> {
    match answer {
        Answer::Holds {
            lease: Lease::Expires { at, .. },
            ..
        } => Some(*at),
        Answer::Holds {
            lease: Lease::Never,
            ..
        }
        | Answer::Absent
        | Answer::Unreachable { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, lock, owner};
    use super::*;

    #[test]
    fn a_lock_of_several_owners_is_not_picked_without_a_choice() {
        assert_eq!(lock(&[1, 2], NOW, NOW).only_hold(), None);
        assert_eq!(lock(&[], NOW, NOW).only_hold(), None);
        let picked = lock(&[1], NOW, NOW).only_hold().unwrap();
        assert_eq!(picked.fingerprint, owner(1).fingerprint);
        assert_eq!(picked.seen.acquired_at, Some(NOW));
    }

    #[test]
    fn what_nobody_can_release_is_not_picked_with_others() {
        let held = lock(&[1], NOW, NOW);
        assert_eq!(held.hold_to_pick(), held.only_hold());
        let possible = Lock {
            confidence: Confidence::Possible,
            ..held
        };
        assert_eq!(possible.hold_to_pick(), None);
        assert_eq!(lock(&[1, 2], NOW, NOW).hold_to_pick(), None);
    }

    #[test]
    fn the_latest_end_on_any_node_is_the_one_that_was_seen() {
        let mut held = lock(&[1], NOW, NOW);
        held.nodes = [10_000, 30_000, 20_000]
            .into_iter()
            .map(|ms| crate::domain::NodeAnswer {
                node: ms.to_string(),
                answer: Answer::held_by(owner(1), Lease::until(NOW.plus_millis(ms), NOW)),
            })
            .collect();
        let seen = held.seen_hold(&owner(1).fingerprint, NOW);
        assert_eq!(seen.expires_at, Some(NOW.plus_millis(30_000)));
    }
}
