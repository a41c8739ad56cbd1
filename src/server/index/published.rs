//! How many changes were published, by group and kind: for those who draw rates.

use std::collections::BTreeMap;

use crate::domain::{Change, Ending};

/// Kinds of changes of locks.
const KINDS: [&str; 8] = [
    "appeared",
    "renewed",
    "changed-hands",
    "updated",
    "released",
    "expired",
    "gone",
    "lost",
];

/// How many there were.
#[derive(Debug, Default)]
pub(super) struct Published(BTreeMap<String, [u64; KINDS.len()]>);

impl Published {
    /// A change is published.
    pub(super) fn add(&mut self, change: &Change) {
        let kind = match change {
            Change::Appeared { .. } => 0,
            Change::Renewed { .. } => 1,
            Change::ChangedHands { .. } => 2,
            Change::Updated { .. } => 3,
            Change::Gone { ending, .. } => match ending {
                Ending::Released => 4,
                Ending::Expired => 5,
                Ending::Unknown => 6,
            },
            Change::Lost { .. } => 7,
            // Its health is told every second, which is nothing to count.
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

    /// Those of a group, kind by kind.
    pub(super) fn of(&self, group: &str) -> impl Iterator<Item = (&'static str, u64)> + use<> {
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
            ending,
            at: Timestamp::from_millis(1),
        };
        let mut published = Published::default();
        for change in [
            gone("a", Ending::Released),
            gone("a", Ending::Released),
            gone("a", Ending::Unknown),
            gone("b", Ending::Expired),
        ] {
            published.add(&change);
        }
        let of = |group| -> Vec<_> { published.of(group).filter(|(_, n)| *n > 0).collect() };
        assert_eq!(of("a"), [("released", 2), ("gone", 1)]);
        assert_eq!(of("b"), [("expired", 1)]);
        assert_eq!(of("c"), []);
    }
}
