//! The outcome of each lock as text, and the report as a CSV file.

use super::bulk_release::{BulkItem, ItemState};
use crate::domain::{AdviceLevel, Lock, NodeOutcome, NodeResult, OperationError, quorum, to_csv};
use crate::ui::format;
use crate::ui::i18n::bulk as t;
use crate::ui::i18n::errors::sentence;
use crate::ui::i18n::lock::name as owner_name;
use crate::ui::i18n::punctuation;
use crate::ui::kit::Tone;

/// Describes the state of an item. `lock` is its current entry in the lock index.
pub(super) fn outcome_text(item: &BulkItem, lock: Option<&Lock>) -> (String, Tone) {
    let shows = |lock: &&Lock| item.is_owner_of(lock);
    match &item.state {
        ItemState::Pending => (t::pending().to_owned(), Tone::Plain),
        ItemState::WouldRelease(_) if item.has_other_owner(lock) => {
            (t::owner_changed().to_owned(), Tone::Warn)
        }
        ItemState::WouldRelease(results) => match item.harm {
            Some(harm) => (t::side_effect(harm), Tone::Alarm),
            None if count_failed(results) >= quorum::majority(results.len()) => (
                t::would_partially_release(count_done(results), results.len()),
                Tone::Warn,
            ),
            None => (t::would(count_done(results), results.len()), Tone::Plain),
        },
        ItemState::Releasing => (t::releasing().to_owned(), Tone::Plain),
        ItemState::Released(released) => {
            let at = released.at;
            match lock
                .filter(|lock| lock.observed_at > at)
                .filter(shows)
                .map(Lock::node_count)
            {
                Some(nodes) => (t::still_held(nodes), Tone::Warn),
                None => {
                    let (done, of) = (count_done(&released.nodes), released.nodes.len());
                    (t::released(done, of), Tone::Good)
                }
            }
        }
        ItemState::NotReleased(
            error @ (OperationError::NoResponse { .. } | OperationError::Internal { .. }),
        ) => (t::unknown_outcome(&sentence(error)), Tone::Alarm),
        ItemState::NotReleased(OperationError::PartlyReleased { nodes, .. }) => (
            t::partially_released(count_done(nodes), nodes.len()),
            Tone::Warn,
        ),
        ItemState::NotReleased(error) => {
            let owner = match error {
                OperationError::OwnerChanged {
                    owner: Some(owner), ..
                } => punctuation::in_parentheses(&owner_name(owner)),
                _ => String::new(),
            };
            let why = format!("{}{owner}", sentence(error));
            (t::skipped(&why), Tone::Warn)
        }
        ItemState::NotAttempted => (t::untried().to_owned(), Tone::Unsure),
    }
}

/// Counts the nodes that did not reply, on which the owner may still hold the lock.
fn count_failed(results: &[NodeResult]) -> usize {
    let is_failed = |result: &&NodeResult| matches!(result.outcome, NodeOutcome::Failed { .. });
    results.iter().filter(is_failed).count()
}

fn count_done(results: &[NodeResult]) -> usize {
    let is_done = |result: &&NodeResult| match result.outcome {
        NodeOutcome::Released | NodeOutcome::Releasable | NodeOutcome::Holds { .. } => true,
        NodeOutcome::Acquired
        | NodeOutcome::Extended
        | NodeOutcome::NotHeld
        | NodeOutcome::OtherOwner { .. }
        | NodeOutcome::OtherHold
        | NodeOutcome::Pending
        | NodeOutcome::Failed { .. } => false,
    };
    results.iter().filter(is_done).count()
}

/// Formats the report as CSV, one lock per line.
pub(super) fn csv(items: &[BulkItem]) -> String {
    let head = [
        "group",
        "lock",
        "fingerprint",
        "owner",
        "owner_state",
        "outcome",
    ];
    let head = head.map(str::to_owned);
    // Anyone who can write to a node chooses lock names, so control characters are escaped.
    let cells = items.iter().map(|item| {
        [
            item.target.id.group.as_str(),
            &item.target.id.key.text(),
            item.target.fingerprint.as_str(),
            &item.owner,
            item.advice.map_or("", AdviceLevel::slug),
            &outcome_text(item, None).0,
        ]
        .map(format::escape_invisible)
    });
    to_csv([head].into_iter().chain(cells))
}

#[cfg(test)]
mod tests {
    use super::super::bulk_release::BulkTotals;
    use super::*;
    use crate::domain::reason::Reason;
    use crate::domain::release_advice::AdviceCounts;
    use crate::domain::testing::{NOW, lock, owner};
    use crate::domain::{ObservedHold, ReleaseResult, ReleaseTarget};

    fn item(state: ItemState) -> BulkItem {
        BulkItem {
            target: ReleaseTarget {
                label: None,
                format: crate::domain::Format::Plain,
                id: lock(&[1], NOW, NOW).id,
                fingerprint: owner(1).fingerprint,
                observed_hold: ObservedHold::default(),
            },
            owner: "api-1".into(),
            harm: None,
            needs_confirmation: false,
            advice: None,
            state,
        }
    }

    fn on_node(outcome: NodeOutcome) -> NodeResult {
        NodeResult {
            node: "a".into(),
            outcome,
        }
    }

    fn failed() -> NodeOutcome {
        NodeOutcome::Failed {
            reason: Reason::NoReply { timeout_ms: 500 },
        }
    }

    fn partly_released() -> OperationError {
        OperationError::PartlyReleased {
            released: 1,
            nodes_total: 3,
            remaining: 2,
            quorum: 2,
            nodes: vec![
                on_node(NodeOutcome::Released),
                on_node(failed()),
                on_node(failed()),
            ],
        }
    }

    #[test]
    fn the_totals_match_the_rows() {
        let releasable = || {
            item(ItemState::WouldRelease(vec![on_node(
                NodeOutcome::Releasable,
            )]))
        };
        let items = [
            releasable(),
            releasable(),
            item(ItemState::NotReleased(partly_released())),
            item(ItemState::NotReleased(OperationError::NotHeld {
                nodes: Vec::new(),
            })),
            item(ItemState::NotAttempted),
        ];
        let totals = |current: Option<&Lock>| BulkTotals::of(&items, |_| current);
        let counts = |totals: BulkTotals| {
            (
                totals.all,
                totals.releasable,
                totals.partly_released,
                totals.not_released,
                totals.not_attempted,
            )
        };
        assert_eq!(counts(totals(None)), (5, 2, 1, 1, 1));
        assert_eq!(counts(totals(Some(&lock(&[1], NOW, NOW)))), (5, 2, 1, 1, 1));
        // Both rows report that the owner changed.
        assert_eq!(counts(totals(Some(&lock(&[5], NOW, NOW)))), (5, 0, 1, 3, 1));
    }

    #[test]
    fn each_outcome_has_its_own_text() {
        let released = || ReleaseResult {
            nodes: vec![
                on_node(NodeOutcome::Released),
                on_node(NodeOutcome::NotHeld),
                on_node(NodeOutcome::Released),
            ],
            at: NOW,
            hold_count: None,
            observed_after: None,
        };
        let changed = OperationError::OwnerChanged {
            owner: Some(owner(5)),
            nodes: Vec::new(),
        };
        for (state, words) in [
            (
                ItemState::WouldRelease(vec![on_node(NodeOutcome::Releasable)]),
                "would be released",
            ),
            (
                ItemState::Released(Box::new(released())),
                "released on 2 of 3 nodes",
            ),
            (
                ItemState::NotReleased(changed),
                "skipped: The lock now has another owner; nothing was changed. (api-5)",
            ),
            (ItemState::NotAttempted, "not tried"),
            (
                ItemState::WouldRelease(vec![
                    on_node(NodeOutcome::Releasable),
                    on_node(failed()),
                    on_node(failed()),
                ]),
                "would be released on 1 of 3 nodes only; the owner may keep a quorum until the other nodes are back",
            ),
            (
                ItemState::NotReleased(partly_released()),
                "partially released: on 1 of 3 nodes; the owner may keep a quorum until the other nodes are back",
            ),
        ] {
            assert_eq!(outcome_text(&item(state), None).0, words);
        }
    }

    #[test]
    fn a_new_owner_and_a_returned_owner_are_shown_while_the_dialog_is_open() {
        let releasable = item(ItemState::WouldRelease(vec![on_node(
            NodeOutcome::Releasable,
        )]));
        let taken = lock(&[5], NOW, NOW);
        assert!(
            outcome_text(&releasable, Some(&taken))
                .0
                .starts_with("owner changed")
        );
        assert_eq!(
            outcome_text(&releasable, Some(&lock(&[1], NOW, NOW))).1,
            Tone::Plain
        );

        let released = item(ItemState::Released(Box::new(ReleaseResult {
            nodes: vec![on_node(NodeOutcome::Released)],
            at: NOW,
            hold_count: None,
            observed_after: None,
        })));
        let back = lock(&[1], NOW.plus_millis(5), NOW.plus_millis(5));
        assert_eq!(outcome_text(&released, Some(&back)).1, Tone::Warn);
        assert_eq!(
            outcome_text(&released, Some(&lock(&[1], NOW, NOW))).1,
            Tone::Good
        );
    }

    #[test]
    fn the_highest_risk_is_first_and_what_is_skipped_is_last() {
        use AdviceLevel::{OwnerAlive, OwnerSilent, Unknown};
        let advised = |advice: Option<AdviceLevel>| BulkItem {
            advice,
            ..item(ItemState::WouldRelease(vec![on_node(
                NodeOutcome::Releasable,
            )]))
        };
        let levels = [None, Some(OwnerSilent), Some(OwnerAlive), Some(Unknown)];
        let mut items = levels.map(advised);
        super::super::bulk_release::sort_by_risk(&mut items);
        let sorted = items.each_ref().map(|item| item.advice);
        assert_eq!(
            sorted,
            [Some(OwnerAlive), Some(Unknown), Some(OwnerSilent), None]
        );
        // An owner that changed in the meantime is not counted: its lock is skipped.
        let taken = lock(&[5], NOW, NOW);
        let count = |current: Option<&Lock>| BulkTotals::of(&items, |_| current).advice;
        assert_eq!((count(None).owner_alive, count(None).owner_silent), (1, 1));
        assert_eq!(count(Some(&taken)), AdviceCounts::default());
        assert!(csv(&items[..1]).contains("owner-alive"));
    }

    #[test]
    fn a_lock_name_is_never_a_formula_and_never_ends_its_cell() {
        let mut named = item(ItemState::NotAttempted);
        named.target.id.key = "=1+1\",\"\r\n".into();
        let text = csv(&[named]);
        let cells: Vec<&str> = text.lines().nth(1).unwrap().splitn(3, ',').collect();
        assert_eq!(cells[1], "\"'=1+1\"\"");
        assert!(text.contains("\"'=1+1\"\",\"\"\\r\\n\""), "{text}");
    }
}
