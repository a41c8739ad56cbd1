//! A node of the wait-for graph: locks are rectangles, clients have round ends.

use leptos::prelude::*;

use super::geometry::{NODE_HEIGHT, NODE_WIDTH, corner};
use crate::domain::wait_graph_layout::{GraphNode, NodeSubject};
use crate::ui::components::lock_name::LockName;
use crate::ui::i18n::waits as t;
use crate::ui::kit::Link;
use crate::ui::waits_query::WaitsQuery;
use crate::ui::{format, paths};

/// The classes of the shapes, and of the members of a deadlock cycle.
const LOCK: &str = "flex h-full flex-col justify-center overflow-hidden rounded-none border bg-surface px-2 text-start leading-tight hover:bg-sunken border-line-strong";
const LOCK_IN_CYCLE: &str = "flex h-full flex-col justify-center overflow-hidden rounded-none border-4 border-double bg-alarm-soft px-1.5 text-start leading-tight hover:bg-sunken border-alarm";
const CLIENT: &str = "flex h-full flex-col justify-center overflow-hidden rounded-full border bg-surface px-3 text-center leading-tight hover:bg-sunken border-line-strong";
const CLIENT_IN_CYCLE: &str = "flex h-full flex-col justify-center overflow-hidden rounded-full border-4 border-double bg-alarm-soft px-2 text-center leading-tight hover:bg-sunken border-alarm";
const OTHERS: &str = "flex h-full flex-col justify-center overflow-hidden rounded-full border border-dashed bg-sunken px-4 text-center leading-tight border-line-strong";
/// The number of characters of a name and of a label that a node has room for.
const MAX_CHARS: usize = 22;
const MAX_LABEL_CHARS: usize = 26;

/// A node.
#[component]
pub fn Node(
    /// The node.
    node: GraphNode,
    /// The index of the node.
    index: usize,
    /// Whether the release of this lock is suggested.
    is_suggested: bool,
    /// The index of the node under the pointer or with the focus.
    active: WriteSignal<Option<usize>>,
) -> impl IntoView {
    let (x, y) = corner(&node);
    let is_deadlocked = node.is_deadlocked;
    let content = match node.subject {
        NodeSubject::Lock {
            id,
            blocked_waiter_count,
        } => {
            let class = if is_deadlocked { LOCK_IN_CYCLE } else { LOCK };
            let href = paths::lock(&id);
            let note = match is_suggested {
                true => view! { <span class="truncate text-xs font-semibold text-alarm">{t::release_this()}</span> }.into_any(),
                false => view! { <span class="truncate text-xs text-muted">{id.group} " · " {t::blocks(blocked_waiter_count)}</span> }.into_any(),
            };
            view! {
                <Link href class>
                    <span class="truncate font-semibold">
                        <LockName key=id.key max_chars=MAX_CHARS />
                    </span>
                    {note}
                </Link>
            }
            .into_any()
        }
        NodeSubject::Client { fingerprint, label } => {
            let class = if is_deadlocked {
                CLIENT_IN_CYCLE
            } else {
                CLIENT
            };
            let text = fingerprint.as_str();
            let title = match &label {
                Some(label) => format!(
                    "{} · {}",
                    format::escape_invisible(label),
                    t::fingerprint(text)
                ),
                None => t::fingerprint(text),
            };
            let digits = text[..8].to_owned();
            let href = WaitsQuery {
                text: text.to_owned(),
                ..WaitsQuery::default()
            };
            let label = label.map(|label| {
                let label = format::shorten(&format::escape_invisible(&label), MAX_LABEL_CHARS);
                view! { <bdi class="truncate text-xs">{label}</bdi> }
            });
            view! {
                <Link href=href.path() class title no_scroll=true>
                    {label}
                    <span class="truncate font-mono text-xs text-muted">{digits}"…"</span>
                </Link>
            }
            .into_any()
        }
        NodeSubject::OtherClients { count } => view! {
            <p class=OTHERS>
                <span class="truncate text-muted">{t::other_clients(count)}</span>
            </p>
        }
        .into_any(),
    };
    let activate = move || active.set(Some(index));
    let deactivate = move || active.set(None);
    view! {
        <foreignObject
            x=x.to_string()
            y=y.to_string()
            width=NODE_WIDTH.to_string()
            height=NODE_HEIGHT.to_string()
            on:pointerenter=move |_| activate()
            on:pointerleave=move |_| deactivate()
            on:focusin=move |_| activate()
            on:focusout=move |_| deactivate()
        >
            {content}
        </foreignObject>
    }
}
