//! What an act changed on each node: what was there before, and what after.

use leptos::prelude::*;

use crate::domain::{ActOutcome, Answer, Audited, NodeAct};
use crate::ui::format;
use crate::ui::kit::Table;
use crate::ui::words::audit as words;
use crate::ui::words::lock::name as owner_name;
use crate::ui::words::{punctuation, told};

/// The table: node, before, after.
#[component]
pub fn AuditDiff(
    /// The act.
    act: Audited,
) -> impl IntoView {
    const HEAD: &str = "pe-3 text-start font-medium text-muted";
    let who = owner(&act);
    let rows: Vec<AnyView> = act
        .nodes
        .iter()
        .map(|node| {
            let (before, after) = sides(node, &who);
            let seen = act.seen.iter().find(|seen| seen.node == node.node);
            let after = seen.map_or(after, |seen| answer(&seen.answer));
            row(&node.node, before, after)
        })
        .collect();
    let seen = act
        .seen
        .iter()
        .filter(|seen| act.nodes.iter().all(|node| node.node != seen.node));
    let seen: Vec<AnyView> = seen
        .map(|seen| {
            row(
                &seen.node,
                words::not_known().to_owned(),
                answer(&seen.answer),
            )
        })
        .collect();
    view! {
        <Table
            titles=vec![words::node(), words::before(), words::after()]
            title_class=HEAD
            class="w-full text-xs"
            label=words::each_node()
        >
            {rows}
            {seen}
        </Table>
    }
}

fn row(node: &str, before: String, after: String) -> AnyView {
    let is_same = before == after;
    let class = if is_same {
        "pe-3 align-top text-muted"
    } else {
        "pe-3 align-top font-medium"
    };
    view! {
        <tr>
            <th scope="row" class="pe-3 text-start align-top font-medium">{format::visible(node)}</th>
            <td class="pe-3 align-top text-muted wrap-anywhere">{before}</td>
            <td class=format!("{class} wrap-anywhere")>{after}</td>
        </tr>
    }
    .into_any()
}

/// Whom the act was about, as short as people compare it.
fn owner(act: &Audited) -> String {
    let label = act
        .label
        .as_deref()
        .map(|label| format::shorten(&format::visible(label), 32));
    let digits = act
        .fingerprint
        .as_ref()
        .map(|fingerprint| fingerprint.as_str()[..8].to_owned());
    label
        .or(digits)
        .unwrap_or_else(|| words::no_label().to_owned())
}

/// What was there before and after, as the outcome tells.
fn sides(node: &NodeAct, who: &str) -> (String, String) {
    let there = || words::held_by(who);
    let absent = || words::not_there().to_owned();
    match &node.outcome {
        ActOutcome::Acquired => (absent(), there()),
        ActOutcome::Extended => (there(), words::renewed(who)),
        ActOutcome::Released => (there(), words::gone().to_owned()),
        ActOutcome::Releasable | ActOutcome::Holds { .. } => (there(), words::still(who)),
        ActOutcome::NotHeld => (absent(), absent()),
        ActOutcome::AnotherHold => (there(), there() + punctuation::comma() + words::untouched()),
        ActOutcome::OtherOwner { owner } => {
            let other = owner.as_ref().map(owner_name);
            let held = words::held_by(other.as_deref().unwrap_or(words::no_label()));
            let after = held.clone() + punctuation::comma() + words::untouched();
            (held, after)
        }
        ActOutcome::Pending => (
            words::not_known().to_owned(),
            words::no_answer_yet().to_owned(),
        ),
        ActOutcome::Failed { reason } => {
            let why = words::not_known_why(&told::said(reason));
            (words::not_known().to_owned(), why)
        }
    }
}

fn answer(answer: &Answer) -> String {
    match answer {
        Answer::Holds { owner, .. } => words::held_by(&owner_name(owner)),
        Answer::Absent => words::not_there().to_owned(),
        Answer::Unreachable { reason } => words::not_known_why(&told::said(reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_act_did_is_told_as_before_and_after() {
        for (outcome, before, after) in [
            (ActOutcome::Released, "held by api-1", "gone"),
            (ActOutcome::Acquired, "not there", "held by api-1"),
            (ActOutcome::NotHeld, "not there", "not there"),
            (
                ActOutcome::AnotherHold,
                "held by api-1",
                "held by api-1, not touched",
            ),
            (
                ActOutcome::Failed {
                    reason: "timeout".to_owned(),
                },
                "not known",
                "not known (timeout)",
            ),
        ] {
            let node = NodeAct {
                node: "a".to_owned(),
                outcome,
            };
            let (told_before, told_after) = sides(&node, "api-1");
            assert_eq!((told_before.as_str(), told_after.as_str()), (before, after));
        }
    }
}
