//! An edge of the wait-for graph: an arrow, and since when it is there.

use leptos::prelude::*;

use super::geometry::EdgePath;
use crate::domain::Timestamp;
use crate::domain::wait_graph_layout::{EdgeKind, GraphEdge};
use crate::ui::format;
use crate::ui::i18n::waits as t;
use crate::ui::live::Live;

/// An arrow. Waiting is dashed; a part of a deadlock cycle is thick.
#[component]
pub fn Edge(
    /// The edge.
    edge: GraphEdge,
    /// Its picture.
    path: EdgePath,
    /// The index of the node under the pointer or with the focus.
    active: ReadSignal<Option<usize>>,
) -> impl IntoView {
    let live = Live::expect();
    let since = edge.since;
    let duration = move || Some(format::elapsed(since?, live.now.get()));
    let started_at = since.map(format_start);
    let is_faded = move || {
        let active = active.get();
        active.is_some_and(|active| active != edge.from && active != edge.to)
    };
    let tone = if edge.is_deadlocked {
        "text-alarm"
    } else {
        "text-muted"
    };
    let width = if edge.is_deadlocked { "3" } else { "1.5" };
    let dashes = (edge.kind == EdgeKind::WaitsFor).then_some("6 4");
    let (x, y) = path.label;
    view! {
        <g class=tone class=("opacity-25", is_faded)>
            <path d=path.line fill="none" stroke="currentColor" stroke-width=width stroke-dasharray=dashes></path>
            <path d=path.head fill="currentColor"></path>
            <text x=x.to_string() y=y.to_string() class="text-[0.6875rem]" fill="currentColor" text-anchor="middle">
                {duration}
            </text>
            <title>{started_at}</title>
        </g>
    }
}

fn format_start(at: Timestamp) -> String {
    t::since(format::time_of_day(at))
}
