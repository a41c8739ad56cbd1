//! Counts published changes by group and kind, for metrics.

use std::collections::BTreeMap;

use crate::domain::{Change, GoneReason};

/// Label values of the metric, in the order of the counters.
const KINDS: [&str; 8] = [
    "appeared",
    "renewed",
    "owner-changed",
    "updated",
    "released",
    "expired",
    "gone",
    "lost",
];

/// Number of published changes for each group.
#[derive(Debug, Default)]
pub(super) struct ChangeCounters(BTreeMap<String, [u64; KINDS.len()]>);

impl ChangeCounters {
    /// Counts a change.
    pub(super) fn record(&mut self, change: &Change) {
        let kind = match change {
            Change::Appeared { .. } => 0,
            Change::Renewed { .. } => 1,
            Change::OwnerChanged { .. } => 2,
            Change::Updated { .. } => 3,
            Change::Gone {
                end_reason: ending, ..
            } => match ending {
                GoneReason::Released => 4,
                GoneReason::Expired => 5,
                GoneReason::Unknown => 6,
            },
            Change::Lost { .. } => 7,
            // Group status is published every second and carries no information as a rate.
            Change::Group { .. } => return,
        };
        let group = change.group();
        if let Some(counts) = self.0.get_mut(group) {
            counts[kind] += 1;
        } else {
            let mut counts = [0; KINDS.len()];
            counts[kind] = 1;
            self.0.insert(group.to_owned(), counts);
        }
    }

    /// The counts of one group, by kind.
    pub(super) fn by_kind(&self, group: &str) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let counts = self.0.get(group).copied().unwrap_or_default();
        KINDS.into_iter().zip(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{LockId, Timestamp};

    #[test]
    fn changes_are_counted_by_group_and_kind() {
        let gone = |group: &str, ending| Change::Gone {
            id: LockId {
                group: group.to_owned(),
                key: "k".into(),
            },
            end_reason: ending,
            at: Timestamp::from_millis(1),
        };
        let mut counters = ChangeCounters::default();
        for change in [
            gone("a", GoneReason::Released),
            gone("a", GoneReason::Released),
            gone("a", GoneReason::Unknown),
            gone("b", GoneReason::Expired),
        ] {
            counters.record(&change);
        }
        let of = |group| -> Vec<_> { counters.by_kind(group).filter(|(_, n)| *n > 0).collect() };
        assert_eq!(of("a"), [("released", 2), ("gone", 1)]);
        assert_eq!(of("b"), [("expired", 1)]);
        assert_eq!(of("c"), []);
    }
}
