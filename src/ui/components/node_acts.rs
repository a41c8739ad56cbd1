//! What an act did on each node, a line each.

use leptos::prelude::*;

use crate::domain::{ActOutcome, NodeAct};

use crate::ui::kit::Tone;
use crate::ui::words::act::{self, node as word};
use crate::ui::words::lock::name as owner_name;
use crate::ui::words::told;

/// What an act did, node by node.
#[component]
pub fn NodeActs(
    /// What happened on each node.
    acts: Vec<NodeAct>,
) -> impl IntoView {
    view! {
        <ul class="flex flex-col gap-0.5" aria-label=act::on_each_node()>
            {acts
                .into_iter()
                .map(|act| {
                    view! {
                        <li class="flex gap-2">
                            <span class="min-w-8 font-medium">{act.node}</span>
                            <span class=tone(&act.outcome).text()>{words(&act.outcome)}</span>
                        </li>
                    }
                })
                .collect_view()}
        </ul>
    }
}

/// What happened on one node, in words.
pub fn words(outcome: &ActOutcome) -> String {
    match outcome {
        ActOutcome::Acquired => word::acquired().to_owned(),
        ActOutcome::Extended => word::extended().to_owned(),
        ActOutcome::Released => word::released().to_owned(),
        ActOutcome::Releasable => word::releasable().to_owned(),
        ActOutcome::Holds { holds } => act::holds(*holds),
        ActOutcome::NotHeld => word::not_held().to_owned(),
        ActOutcome::OtherOwner { owner: Some(owner) } => word::other(&owner_name(owner)),
        ActOutcome::OtherOwner { owner: None } => word::other_unknown().to_owned(),
        ActOutcome::AnotherHold => word::another_hold().to_owned(),
        ActOutcome::Pending => word::pending().to_owned(),
        ActOutcome::Failed { reason } => word::failed(&told::said(reason)),
    }
}

fn tone(outcome: &ActOutcome) -> Tone {
    match outcome {
        ActOutcome::Acquired | ActOutcome::Extended | ActOutcome::Released => Tone::Good,
        ActOutcome::NotHeld | ActOutcome::Releasable | ActOutcome::Holds { .. } => Tone::Plain,
        ActOutcome::OtherOwner { .. } | ActOutcome::AnotherHold => Tone::Warn,
        ActOutcome::Pending => Tone::Unsure,
        ActOutcome::Failed { .. } => Tone::Alarm,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_over_yet_is_told_apart_from_what_is() {
        for (outcome, told, how) in [
            (ActOutcome::Released, "released", Tone::Good),
            (
                ActOutcome::Holds { holds: 1 },
                "released once, held once more",
                Tone::Plain,
            ),
            (
                ActOutcome::Holds { holds: 3 },
                "released once, held 3 times more",
                Tone::Plain,
            ),
            (ActOutcome::Pending, "had not answered yet", Tone::Unsure),
        ] {
            assert_eq!((&*words(&outcome), tone(&outcome)), (told, how));
        }
    }
}
