//! The values by which a list of audit entries can be narrowed.

use super::{AuditEntry, AuditFilter, LockId, OperationKind, OperationResult};

/// The maximum number of values of each kind.
const MAX_VALUES: usize = 5;

/// The most frequent values of each kind. A value that the filter requires comes first, also if no
/// entry has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFacets {
    /// The kinds of operations.
    pub operations: Vec<OperationKind>,
    /// The results.
    pub results: Vec<OperationResult>,
    /// The users, tokens and programs.
    pub actors: Vec<String>,
    /// The locks.
    pub locks: Vec<LockId>,
}

impl AuditFacets {
    /// The values of these entries.
    pub fn of(entries: &[AuditEntry], filter: &AuditFilter) -> Self {
        let lock = || {
            let (group, key) = (filter.group.clone()?, filter.key.clone()?);
            Some(LockId { group, key })
        };
        Self {
            operations: most_frequent(filter.action, entries.iter().map(|entry| entry.action)),
            results: most_frequent(filter.result, entries.iter().map(|entry| entry.result)),
            actors: most_frequent(
                filter.actor.clone(),
                entries.iter().map(|entry| entry.actor.clone()),
            ),
            locks: most_frequent(lock(), entries.iter().filter_map(AuditEntry::lock)),
        }
    }
}

/// The value that comes first, and the most frequent others; values of equal frequency are in the
/// order of the entries.
fn most_frequent<T: PartialEq>(first: Option<T>, values: impl Iterator<Item = T>) -> Vec<T> {
    let mut counted: Vec<(T, usize)> = Vec::new();
    for value in values {
        match counted.iter_mut().find(|(known, _)| *known == value) {
            Some((_, count)) => *count += 1,
            None => counted.push((value, 1)),
        }
    }
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others = counted.into_iter().map(|(value, _)| value);
    let others = others.filter(|value| first.as_ref() != Some(value));
    let mut frequent: Vec<T> = others.take(MAX_VALUES).collect();
    if let Some(first) = first {
        frequent.insert(0, first);
        frequent.truncate(MAX_VALUES);
    }
    frequent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_values_are_first_after_the_selected_one() {
        let values = || ["a", "b", "c", "b", "d", "e", "f", "g", "d", "b"].into_iter();
        assert_eq!(most_frequent(None, values()), ["b", "d", "a", "c", "e"]);
        assert_eq!(
            most_frequent(Some("g"), values()),
            ["g", "b", "d", "a", "c"]
        );
        assert_eq!(
            most_frequent(Some("none"), values()),
            ["none", "b", "d", "a", "c"]
        );
        assert!(most_frequent(None::<u8>, std::iter::empty()).is_empty());
    }
}
