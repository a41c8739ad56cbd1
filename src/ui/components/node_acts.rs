//! What an act did on each node, a line each.

use leptos::prelude::*;

use crate::domain::{ActOutcome, NodeAct};
use crate::ui::kit::Tone;

/// What an act did, node by node.
#[component]
pub fn NodeActs(
    /// What happened on each node.
    acts: Vec<NodeAct>,
) -> impl IntoView {
    view! {
        <ul class="flex flex-col gap-0.5" aria-label="What happened on each node">
            {acts
                .into_iter()
                .map(|act| {
                    view! {
                        <li class="flex gap-2">
                            <span class="min-w-8 font-medium">{act.node}</span>
                            <span class=tone(&act.outcome).text()>{words(&act.outcome)}</span>
                        </li>
                    }.into_any()
                })
                .collect_view()}
        </ul>
    }
}

/// What happened on one node, in words.
pub fn words(outcome: &ActOutcome) -> String {
    match outcome {
        ActOutcome::Acquired => "acquired".to_owned(),
        ActOutcome::Extended => "extended".to_owned(),
        ActOutcome::Released => "released".to_owned(),
        ActOutcome::Holds { holds: 1 } => "released once, held once more".to_owned(),
        ActOutcome::Holds { holds } => format!("released once, held {holds} times more"),
        ActOutcome::NotHeld => "was not there".to_owned(),
        ActOutcome::OtherOwner { owner: Some(owner) } => {
            format!("another owner, not touched: {}", owner.name())
        }
        ActOutcome::OtherOwner { owner: None } => "another owner, not touched".to_owned(),
        ActOutcome::Pending => "had not answered yet".to_owned(),
        ActOutcome::Failed { reason } => format!("not known: {reason}"),
    }
}

fn tone(outcome: &ActOutcome) -> Tone {
    match outcome {
        ActOutcome::Acquired | ActOutcome::Extended | ActOutcome::Released => Tone::Good,
        ActOutcome::NotHeld | ActOutcome::Holds { .. } => Tone::Plain,
        ActOutcome::OtherOwner { .. } => Tone::Warn,
        ActOutcome::Pending => Tone::Unsure,
        ActOutcome::Failed { .. } => Tone::Alarm,
    }
}
