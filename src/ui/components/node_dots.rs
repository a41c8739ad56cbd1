//! What each node says about a lock, as small shapes: ● holds, ◐ other owner, ○ cannot be asked, · absent.

use leptos::prelude::*;

use crate::domain::{Answer, Lock, NodeAnswer, Owner};
use crate::ui::words::{punctuation, seen as words};

/// What one node says, compared with the lock's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Shows the owner.
    Holds,
    /// Shows somebody else.
    Other,
    /// Cannot be asked.
    Silent,
    /// Does not have it.
    Absent,
}

impl Mark {
    /// What this node says, seen from the owner.
    pub fn of(node: &NodeAnswer, owner: Option<&Owner>) -> Self {
        match &node.answer {
            Answer::Holds { .. } => match owner {
                Some(owner) if !node.answer.shows(owner) => Self::Other,
                Some(_) | None => Self::Holds,
            },
            Answer::Unreachable { .. } => Self::Silent,
            Answer::Absent => Self::Absent,
        }
    }

    /// The word beside or behind the shape.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => words::holds(),
            Self::Other => words::other_owner(),
            Self::Silent => words::unreachable(),
            Self::Absent => words::absent(),
        }
    }
}

/// The marks of all nodes with their names.
pub fn marks(lock: &Lock) -> Vec<(String, Mark)> {
    let owner = lock.owner.as_ref().or(lock.owners.first());
    lock.nodes
        .iter()
        .map(|node| (node.node.clone(), Mark::of(node, owner)))
        .collect()
}

/// A row of shapes, one per node, that says all of it in words too.
#[component]
pub fn NodeDots(
    /// Node names and what they say.
    marks: Vec<(String, Mark)>,
) -> impl IntoView {
    let said: Vec<String> = marks
        .iter()
        .map(|(node, mark)| format!("{node} {}", mark.words()))
        .collect();
    let said = said.join(punctuation::comma());
    view! {
        <span class="inline-flex items-center gap-1 align-middle" role="img" aria-label=said.clone() title=said>
            {marks.into_iter().map(|(_, mark)| view! { <Dot mark /> }).collect_view()}
        </span>
    }
}

/// One shape.
#[component]
pub fn Dot(
    /// What the node says.
    mark: Mark,
) -> impl IntoView {
    let inside = match mark {
        Mark::Holds => view! { <circle class="fill-held" cx="6" cy="6" r="4.5"></circle> }.into_any(),
        Mark::Other => view! {
            <circle class="stroke-alarm" cx="6" cy="6" r="4.25" fill="none" stroke-width="1.5"></circle>
            <path class="fill-alarm" d="M6 1.75a4.25 4.25 0 0 0 0 8.5z"></path>
        }
        .into_any(),
        Mark::Silent => {
            view! { <circle class="stroke-unsure" cx="6" cy="6" r="4.25" fill="none" stroke-width="1.5" stroke-dasharray="2.2 1.6"></circle> }
                .into_any()
        }
        Mark::Absent => view! { <circle class="fill-faint" cx="6" cy="6" r="1.5"></circle> }.into_any(),
    };
    view! {
        <svg class="size-3 shrink-0" viewBox="0 0 12 12" aria-hidden="true">
            {inside}
        </svg>
    }
}
