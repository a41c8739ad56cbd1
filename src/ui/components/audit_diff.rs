//! What an operation changed: the lock's state before and after on each node.

use leptos::prelude::*;

use crate::domain::{AuditEntry, NodeOutcome, NodeResult, Observation};
use crate::ui::format;
use crate::ui::i18n::audit as t;
use crate::ui::i18n::lock::name as owner_name;
use crate::ui::i18n::reasons;
use crate::ui::kit::Table;

/// A table with node, before and after.
#[component]
pub fn AuditDiff(
    /// The audit entry.
    entry: AuditEntry,
) -> impl IntoView {
    const HEAD: &str = "pe-3 text-start font-medium text-muted";
    let owner = short_owner(&entry);
    let rows: Vec<AnyView> = entry
        .nodes
        .iter()
        .map(|node| {
            let (before, after) = before_and_after(node, &owner);
            let observed = entry
                .observed_after
                .iter()
                .find(|observed| observed.node == node.node);
            let after = observed.map_or(after, |observed| {
                describe_observation(&observed.observation)
            });
            diff_row(&node.node, before, after)
        })
        .collect();
    let observed = entry
        .observed_after
        .iter()
        .filter(|observed| entry.nodes.iter().all(|node| node.node != observed.node));
    let observed: Vec<AnyView> = observed
        .map(|observed| {
            diff_row(
                &observed.node,
                t::unknown().to_owned(),
                describe_observation(&observed.observation),
            )
        })
        .collect();
    view! {
        <Table
            titles=vec![t::node(), t::before(), t::after()]
            title_class=HEAD
            class="w-full text-xs"
            label=t::result_per_node()
        >
            {rows}
            {observed}
        </Table>
    }
}

fn diff_row(node: &str, before: String, after: String) -> AnyView {
    let is_same = before == after;
    let class = if is_same {
        "pe-3 align-top text-muted"
    } else {
        "pe-3 align-top font-medium"
    };
    view! {
        <tr>
            <th scope="row" class="pe-3 text-start align-top font-medium">{format::escape_invisible(node)}</th>
            <td class="pe-3 align-top text-muted wrap-anywhere">{before}</td>
            <td class=format!("{class} wrap-anywhere")>{after}</td>
        </tr>
    }
    .into_any()
}

/// The owner's label or the start of its fingerprint.
fn short_owner(entry: &AuditEntry) -> String {
    let label = entry
        .label
        .as_deref()
        .map(|label| format::shorten(&format::escape_invisible(label), 32));
    let digits = entry
        .fingerprint
        .as_ref()
        .map(|fingerprint| fingerprint.short().to_owned());
    label
        .or(digits)
        .unwrap_or_else(|| t::unknown_owner().to_owned())
}

/// Derives the state before and after from the outcome.
fn before_and_after(node: &NodeResult, owner: &str) -> (String, String) {
    let present = || t::held_by(owner);
    let absent = || t::absent().to_owned();
    match &node.outcome {
        NodeOutcome::Acquired => (absent(), present()),
        NodeOutcome::Extended => (present(), t::renewed(owner)),
        NodeOutcome::Released => (present(), t::released().to_owned()),
        NodeOutcome::Releasable | NodeOutcome::Holds { .. } => (present(), t::still(owner)),
        NodeOutcome::NotHeld => (absent(), absent()),
        NodeOutcome::OtherHold => (present(), t::held_unchanged(owner)),
        NodeOutcome::OtherOwner { owner } => {
            let other = owner.as_ref().map(owner_name);
            let other = other.as_deref().unwrap_or(t::unknown_owner());
            (t::held_by(other), t::held_unchanged(other))
        }
        NodeOutcome::Pending => (t::unknown().to_owned(), t::no_reply().to_owned()),
        NodeOutcome::Failed { reason } => {
            let why = t::unknown_reason(&reasons::clause(reason));
            (t::unknown().to_owned(), why)
        }
    }
}

fn describe_observation(observation: &Observation) -> String {
    match observation {
        Observation::Holds { owner, .. } => t::held_by(&owner_name(owner)),
        Observation::Absent => t::absent().to_owned(),
        Observation::Unreachable { reason } => t::unknown_reason(&reasons::clause(reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::reason::Reason;

    #[test]
    fn an_operation_is_shown_as_before_and_after() {
        for (outcome, before, after) in [
            (NodeOutcome::Released, "held by api-1", "absent"),
            (NodeOutcome::Acquired, "absent", "held by api-1"),
            (NodeOutcome::NotHeld, "absent", "absent"),
            (
                NodeOutcome::OtherHold,
                "held by api-1",
                "held by api-1, unchanged",
            ),
            (
                NodeOutcome::Failed {
                    reason: Reason::ConnectionClosed,
                },
                "unknown",
                "unknown (the connection was closed)",
            ),
        ] {
            let node = NodeResult {
                node: "a".to_owned(),
                outcome,
            };
            let (actual_before, actual_after) = before_and_after(&node, "api-1");
            assert_eq!(
                (actual_before.as_str(), actual_after.as_str()),
                (before, after)
            );
        }
    }
}
