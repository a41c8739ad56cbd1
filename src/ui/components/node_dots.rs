//! The reply of each node about a lock as a shape: ● held by the owner, ◐ held by another owner, ○
//! unreachable, · absent.

use leptos::prelude::*;

use crate::domain::{Lock, NodeObservation, Observation, Owner};
use crate::ui::i18n::{coverage as t, punctuation};

/// The reply of one node, compared with the lock's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeMark {
    /// The node shows the owner.
    Holds,
    /// The node shows another owner.
    OtherOwner,
    /// The node did not reply.
    Unreachable,
    /// The node does not have the key.
    Absent,
}

impl NodeMark {
    /// Compares a node's reply with the owner.
    pub fn of(node: &NodeObservation, owner: Option<&Owner>) -> Self {
        match &node.observation {
            Observation::Holds { .. } => match owner {
                Some(owner) if !node.observation.has_owner(owner) => Self::OtherOwner,
                Some(_) | None => Self::Holds,
            },
            Observation::Unreachable { .. } => Self::Unreachable,
            Observation::Absent => Self::Absent,
        }
    }

    /// The text of the shape.
    pub fn label(self) -> &'static str {
        match self {
            Self::Holds => t::holds(),
            Self::OtherOwner => t::other_owner(),
            Self::Unreachable => t::unreachable(),
            Self::Absent => t::absent(),
        }
    }
}

/// The node names with their marks.
pub fn node_marks(lock: &Lock) -> Vec<(String, NodeMark)> {
    let owner = lock.owner.as_ref().or(lock.owners.first());
    lock.nodes
        .iter()
        .map(|node| (node.node.clone(), NodeMark::of(node, owner)))
        .collect()
}

/// A row of shapes, one per node, with a text for screen readers.
#[component]
pub fn NodeDots(
    /// The node names with their marks.
    node_marks: Vec<(String, NodeMark)>,
) -> impl IntoView {
    let label: Vec<String> = node_marks
        .iter()
        .map(|(node, mark)| format!("{node} {}", mark.label()))
        .collect();
    let label = label.join(punctuation::comma());
    view! {
        <span class="inline-flex items-center gap-1 align-middle" role="img" aria-label=label.clone() title=label>
            {node_marks.into_iter().map(|(_, mark)| view! { <Dot mark /> }).collect_view()}
        </span>
    }
}

/// The shape of one mark.
#[component]
pub fn Dot(
    /// The mark to draw.
    mark: NodeMark,
) -> impl IntoView {
    let inside = match mark {
        NodeMark::Holds => view! { <circle class="fill-held" cx="6" cy="6" r="4.5"></circle> }.into_any(),
        NodeMark::OtherOwner => view! {
            <circle class="stroke-alarm" cx="6" cy="6" r="4.25" fill="none" stroke-width="1.5"></circle>
            <path class="fill-alarm" d="M6 1.75a4.25 4.25 0 0 0 0 8.5z"></path>
        }
        .into_any(),
        NodeMark::Unreachable => {
            view! { <circle class="stroke-unsure" cx="6" cy="6" r="4.25" fill="none" stroke-width="1.5" stroke-dasharray="2.2 1.6"></circle> }
                .into_any()
        }
        NodeMark::Absent => view! { <circle class="fill-faint" cx="6" cy="6" r="1.5"></circle> }.into_any(),
    };
    view! {
        <svg class="size-3 shrink-0" viewBox="0 0 12 12" aria-hidden="true">
            {inside}
        </svg>
    }
}
