//! The outcome of an operation on each node.

use leptos::prelude::*;

use crate::domain::{NodeOutcome, NodeResult};

use crate::ui::i18n::lock::name as owner_name;
use crate::ui::i18n::operations::{self, node as word};
use crate::ui::i18n::reasons;
use crate::ui::kit::Tone;

/// A list of the outcomes, one line per node.
#[component]
pub fn NodeOutcomes(
    /// The result of the operation on each node.
    outcomes: Vec<NodeResult>,
) -> impl IntoView {
    view! {
        <ul class="flex flex-col gap-0.5" aria-label=operations::result_per_node()>
            {outcomes
                .into_iter()
                .map(|node| {
                    view! {
                        <li class="flex gap-2">
                            <span class="min-w-8 font-medium">{node.node}</span>
                            <span class=outcome_tone(&node.outcome).text()>{describe_outcome(&node.outcome)}</span>
                        </li>
                    }
                })
                .collect_view()}
        </ul>
    }
}

/// Describes the outcome on one node.
pub fn describe_outcome(outcome: &NodeOutcome) -> String {
    match outcome {
        NodeOutcome::Acquired => word::acquired().to_owned(),
        NodeOutcome::Extended => word::extended().to_owned(),
        NodeOutcome::Released => word::released().to_owned(),
        NodeOutcome::Releasable => word::releasable().to_owned(),
        NodeOutcome::Holds { hold_count: holds } => operations::holds_left(*holds),
        NodeOutcome::NotHeld => word::not_held().to_owned(),
        NodeOutcome::OtherOwner { owner: Some(owner) } => word::other(&owner_name(owner)),
        NodeOutcome::OtherOwner { owner: None } => word::other_unknown().to_owned(),
        NodeOutcome::OtherHold => word::other_hold().to_owned(),
        NodeOutcome::Pending => word::pending().to_owned(),
        NodeOutcome::Failed { reason } => word::failed(&reasons::clause(reason)),
    }
}

fn outcome_tone(outcome: &NodeOutcome) -> Tone {
    match outcome {
        NodeOutcome::Acquired | NodeOutcome::Extended | NodeOutcome::Released => Tone::Good,
        NodeOutcome::NotHeld | NodeOutcome::Releasable | NodeOutcome::Holds { .. } => Tone::Plain,
        NodeOutcome::OtherOwner { .. } | NodeOutcome::OtherHold => Tone::Warn,
        NodeOutcome::Pending => Tone::Unsure,
        NodeOutcome::Failed { .. } => Tone::Alarm,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_outcomes_look_different_from_final_ones() {
        for (outcome, text, tone) in [
            (NodeOutcome::Released, "released", Tone::Good),
            (
                NodeOutcome::Holds { hold_count: 1 },
                "released once, 1 hold left",
                Tone::Plain,
            ),
            (
                NodeOutcome::Holds { hold_count: 3 },
                "released once, 3 holds left",
                Tone::Plain,
            ),
            (NodeOutcome::Pending, "no reply yet", Tone::Unsure),
        ] {
            assert_eq!(
                (&*describe_outcome(&outcome), outcome_tone(&outcome)),
                (text, tone)
            );
        }
    }
}
