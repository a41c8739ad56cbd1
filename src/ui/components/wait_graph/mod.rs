//! The wait-for graph as a picture. The list of [`super::wait_tree`] is its text alternative.

mod edge;
mod geometry;
mod node;

use leptos::prelude::*;

use self::edge::Edge;
use self::node::Node;
use super::deadlock_banner::DeadlockBanner;
use super::lock_name::LockName;
use crate::domain::wait_graph_layout::GraphDrawing;
use crate::domain::{LockId, WaitForGraph, WaitGraphLayout};
use crate::ui::i18n::waits as t;
use crate::ui::kit::Link;
use crate::ui::kit::card::CARD;
use crate::ui::{format, paths};

/// The number of names of locks that are not drawn.
const MAX_OMITTED_NAMES: usize = 20;

/// The pictures of the connected parts, each with the resolution of its deadlock.
#[component]
pub fn WaitGraph(
    /// The wait-for graph.
    graph: WaitForGraph,
    /// Its layout.
    layout: WaitGraphLayout,
) -> impl IntoView {
    let parts = layout.drawings.into_iter().map(|drawing| {
        let deadlocked = drawing.deadlocked_lock();
        let resolution = deadlocked.and_then(|id| graph.resolve_deadlock(id));
        let suggested = resolution.as_ref().map(|found| found.release.clone());
        view! {
            <li class=format!("min-w-0 p-3 {CARD}")>
                {resolution.map(|resolution| view! { <DeadlockBanner resolution /> })}
                <Drawing drawing suggested />
            </li>
        }
    });
    let parts = parts.collect_view();
    let omitted = (!layout.omitted_locks.is_empty())
        .then(|| view! { <OmittedLocks ids=layout.omitted_locks /> });
    view! {
        <section aria-labelledby="wait-graph" class="mb-6">
            <h2 id="wait-graph" class="mb-2 text-base font-semibold">{t::graph()}</h2>
            <ul class="flex flex-col gap-3">{parts}</ul>
            {omitted}
            <Legend />
        </section>
    }
}

/// One connected part. It scrolls sideways where it is wider than the page.
#[component]
fn Drawing(drawing: GraphDrawing, suggested: Option<LockId>) -> impl IntoView {
    let (active, set_active) = signal(None);
    let (width, height) = geometry::size(&drawing);
    let paths = geometry::edge_paths(&drawing);
    let edges = drawing
        .edges
        .into_iter()
        .zip(paths)
        .map(|(edge, path)| view! { <Edge edge path active /> })
        .collect_view();
    let nodes = drawing
        .nodes
        .into_iter()
        .enumerate()
        .map(|(index, node)| {
            let is_suggested = node.lock().is_some() && node.lock() == suggested.as_ref();
            view! { <Node node index is_suggested active=set_active /> }
        })
        .collect_view();
    view! {
        <div class="overflow-x-auto">
            <svg class="block" width=width.to_string() height=height.to_string() viewBox=format!("0 0 {width} {height}") role="group" aria-label=t::graph()>
                <g aria-hidden="true">{edges}</g>
                {nodes}
            </svg>
        </div>
    }
}

/// The names of the locks for which there is no room.
#[component]
fn OmittedLocks(ids: Vec<LockId>) -> impl IntoView {
    let count = format::count(ids.len() as u64);
    let more = ids.len().saturating_sub(MAX_OMITTED_NAMES);
    let names = ids.into_iter().take(MAX_OMITTED_NAMES).map(|id| {
        view! {
            <li>
                <Link href=paths::lock(&id) class="rounded underline underline-offset-2">
                    <LockName key=id.key />
                </Link>
            </li>
        }
    });
    let names = names.collect_view();
    let more = (more > 0).then(|| view! { <li>{t::and_more(format::count(more as u64))}</li> });
    view! {
        <div class="mt-3 text-muted">
            <p>{t::not_drawn(count)}</p>
            <ul class="mt-1 flex flex-wrap gap-x-4 gap-y-1">{names}{more}</ul>
        </div>
    }
}

/// The meaning of shapes and lines.
#[component]
fn Legend() -> impl IntoView {
    let line = |dashes: Option<&'static str>| {
        view! {
            <svg class="inline-block" width="28" height="10" aria-hidden="true">
                <path d="M8 5H28" stroke="currentColor" stroke-width="1.5" stroke-dasharray=dashes></path>
                <path d="M0 5L8 1V9Z" fill="currentColor"></path>
            </svg>
        }
    };
    view! {
        <ul class="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
            <li class="inline-flex items-center gap-1.5">
                <span class="inline-block h-3 w-5 border border-line-strong" aria-hidden="true"></span>
                {t::legend_lock()}
            </li>
            <li class="inline-flex items-center gap-1.5">
                <span class="inline-block h-3 w-5 rounded-full border border-line-strong" aria-hidden="true"></span>
                {t::legend_client()}
            </li>
            <li class="inline-flex items-center gap-1.5">{line(None)} {t::held_by()}</li>
            <li class="inline-flex items-center gap-1.5">{line(Some("5 3"))} {t::waits_for()}</li>
            <li class="inline-flex items-center gap-1.5">
                <span class="inline-block h-3 w-5 border-4 border-double border-alarm bg-alarm-soft" aria-hidden="true"></span>
                {t::deadlock()}
            </li>
        </ul>
    }
}
