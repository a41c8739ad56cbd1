//! The nodes of a group as a ring of dots: filled if the node is up, hollow otherwise.

use leptos::prelude::*;

use super::group_strips::state_tone;
use crate::domain::NodeState;
use crate::ui::i18n::{punctuation, terms};

/// The side of the picture and the distance of the dots from its edge, in SVG units.
const SIDE: usize = 320;
const MARGIN: usize = 52;
/// Larger groups are drawn without a dot for each node.
const MAX_DOTS: usize = 16;

/// The nodes as a ring, with a text for screen readers.
#[component]
pub fn QuorumRing(
    /// The names and states of the nodes.
    nodes: Vec<(String, NodeState)>,
) -> impl IntoView {
    let states = nodes
        .iter()
        .map(|(name, state)| format!("{name} {}", terms::node_state(*state)));
    let label = punctuation::list(states);
    let count = nodes.len().min(MAX_DOTS);
    let dots = nodes
        .iter()
        .take(MAX_DOTS)
        .enumerate()
        .map(|(nth, (_, state))| dot(nth, count, *state))
        .collect_view();
    view! {
        <svg class="size-6 shrink-0" viewBox=format!("0 0 {SIDE} {SIDE}") role="img" aria-label=label>
            <title>{label.clone()}</title>
            {dots}
        </svg>
    }
}

/// The first dot is at the top, the others follow clockwise. A single dot is in the middle.
///
/// The browser rotates the dots, because the functions for angles would be 5 kB of the first page.
fn dot(nth: usize, count: usize, state: NodeState) -> impl IntoView + use<> {
    let middle = SIDE / 2;
    let top = if count == 1 { middle } else { MARGIN };
    let degrees = 360 * nth / count;
    let radius = if count > 8 { "24" } else { "42" };
    let fill = match state {
        NodeState::Up => "currentColor",
        NodeState::Down | NodeState::Loading | NodeState::Refused => "none",
    };
    view! {
        <circle class=state_tone(state).text() cx=middle.to_string() cy=top.to_string() r=radius fill=fill stroke="currentColor" stroke-width="16" transform=format!("rotate({degrees} {middle} {middle})")></circle>
    }
}
