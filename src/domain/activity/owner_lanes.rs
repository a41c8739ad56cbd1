//! The holds of one lock as one lane per owner.

use super::super::{Fingerprint, Hold, Timestamp};

/// The holds of the owners with one label, or of all owners without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerLane<'a> {
    /// The label; `None` for owners without one.
    pub label: Option<&'a str>,
    /// The holds, the latest first.
    pub holds: Vec<&'a Hold>,
}

impl OwnerLane<'_> {
    /// The fingerprint of the owner, if all holds have the same one.
    pub fn only_fingerprint(&self) -> Option<&Fingerprint> {
        let first = &self.holds.first()?.fingerprint;
        let is_same = self.holds.iter().all(|hold| hold.fingerprint == *first);
        is_same.then_some(first)
    }

    /// The earliest start.
    pub fn started_at(&self) -> Option<Timestamp> {
        self.holds.iter().map(|hold| hold.started_at).min()
    }
}

/// One lane per label, the latest hold first, at most `max_lanes`. A client that uses a new token
/// for each hold has one lane, not one for each token.
pub fn owner_lanes(holds: &[Hold], max_lanes: usize) -> Vec<OwnerLane<'_>> {
    let mut lanes: Vec<OwnerLane<'_>> = Vec::new();
    for hold in holds {
        let label = hold.label.as_deref();
        let known = lanes.iter().position(|lane| lane.label == label);
        match known {
            Some(nth) => lanes[nth].holds.push(hold),
            None if lanes.len() < max_lanes => lanes.push(OwnerLane {
                label,
                holds: vec![hold],
            }),
            None => {}
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::super::testing::hold;
    use super::*;

    #[test]
    fn tokens_of_one_label_share_a_lane_and_so_do_owners_without_a_label() {
        let mut holds: Vec<Hold> = (0..6)
            .map(|n| hold("a", n, i64::from(n), None).hold)
            .collect();
        for (nth, hold) in holds.iter_mut().enumerate() {
            hold.label = ["web-1", "web-2"]
                .get(nth % 3)
                .map(|label| (*label).to_owned());
        }
        let lanes = owner_lanes(&holds, 8);
        let labels: Vec<_> = lanes
            .iter()
            .map(|lane| (lane.label, lane.holds.len()))
            .collect();
        assert_eq!(labels, [(Some("web-1"), 2), (Some("web-2"), 2), (None, 2)]);
        assert_eq!(lanes[2].only_fingerprint(), None);
        assert_eq!(lanes[2].started_at(), Some(holds[2].started_at));
        let first = owner_lanes(&holds[..1], 8);
        assert_eq!(first[0].only_fingerprint(), Some(&holds[0].fingerprint));
        assert_eq!(owner_lanes(&holds, 1).len(), 1);
    }
}
