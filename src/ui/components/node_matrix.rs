//! What each node answers about one lock, side by side with what is known of the node.

use leptos::prelude::*;

use super::node_dots::{Dot, Mark};
use super::owner_name::OwnerName;
use crate::domain::{Answer, GroupView, Lock, NodeAnswer, NodeView, Owner, Timestamp};
use crate::ui::format::{self, LeaseWords};
use crate::ui::kit::Table;
use crate::ui::kit::card::CARD;
use crate::ui::live::Live;
use crate::ui::words::lock as words;
use crate::ui::words::told;

/// The answers of all nodes.
#[component]
pub fn NodeMatrix(
    /// The lock.
    #[prop(into)]
    lock: Signal<Lock>,
    /// Its group, for what is known of the nodes.
    #[prop(into)]
    group: Signal<Option<GroupView>>,
) -> impl IntoView {
    let names = Memo::new(move |_| {
        lock.with(|lock| {
            lock.nodes
                .iter()
                .map(|node| node.node.clone())
                .collect::<Vec<_>>()
        })
    });
    let titles = [
        words::node(),
        words::answer(),
        words::owner(),
        words::lease(),
        words::clock(),
        words::restarted(),
        words::ping(),
    ];
    let head = "px-3 py-1.5 text-start font-medium text-muted whitespace-nowrap";
    view! {
        <div
            class=format!("overflow-x-auto {CARD}")
            role="region"
            aria-label=words::nodes()
            tabindex="0"
        >
            <Table titles=titles.to_vec() title_class=head class="card-table w-full border-collapse">
                {move || names.get().into_iter().map(|name| view! { <NodeLine name lock group /> }).collect_view()}
            </Table>
        </div>
    }
}

#[component]
fn NodeLine(name: String, lock: Signal<Lock>, group: Signal<Option<GroupView>>) -> impl IntoView {
    const CELL: &str = "px-3 py-1.5 md:whitespace-nowrap";
    let live = Live::expect();
    let name = StoredValue::new(name);
    let answer = move |lock: &Lock| {
        let find = |name: &String| lock.nodes.iter().find(|node| node.node == *name).cloned();
        name.with_value(find)
    };
    let said = move || {
        let lock = lock.read();
        let (mark, told) = said(&answer(&lock)?, lock.owner.as_ref().or(lock.owners.first()));
        Some(
            view! {
                <span class="inline-flex items-center gap-1.5">
                    <Dot mark />
                    {told}
                </span>
            }
            .into_any(),
        )
    };
    let owner = move || {
        let lock = lock.read();
        let node = answer(&lock);
        let owners: Vec<Owner> = node
            .iter()
            .flat_map(|node| node.answer.owners().cloned())
            .collect();
        if owners.is_empty() {
            return "–".into_any();
        }
        let each = owners.into_iter().map(|owner| {
            let since = lock.holder(&owner.fingerprint).map(|holder| holder.acquired_at);
            let held = since.map(|since| {
                view! { <span class="text-muted">{format::elapsed(since, live.now.get())}</span> }
            });
            view! { <span class="flex flex-wrap items-baseline gap-x-2"><OwnerName owner /> {held}</span> }
        });
        each.collect_view().into_any()
    };
    let lease = move || {
        let lock = lock.read();
        let outlives = lock.format.outlives_its_lease();
        lease_words(answer(&lock).as_ref(), outlives, live.now.get())
    };
    let figure = move |tell: fn(&NodeView, Timestamp) -> Option<String>| {
        let group = group.read();
        let nodes = group.iter().flat_map(|group| &group.nodes);
        let mut here = nodes.filter(|node| name.with_value(|name| node.name == *name));
        let told = here.next().and_then(|node| tell(node, live.now.get()));
        told.unwrap_or_else(|| "–".to_owned())
    };
    view! {
        <tr role="row" class="is-short border-t border-line">
            <td role="cell" class=format!("{CELL} font-medium wrap-anywhere")>{name.get_value()}</td>
            <td role="cell" class=CELL>
                {move || said()}
            </td>
            <td role="cell" class=format!("{CELL} basis-full") data-label=words::owner()>{move || owner()}</td>
            <td role="cell" class=CELL data-label=words::lease()>{move || lease()}</td>
            <td role="cell" class=CELL data-label=words::clock()>{move || figure(|node, _| node.clock_skew_ms.map(format::skew))}</td>
            <td role="cell" class=CELL data-label=words::restarted()>
                {move || figure(|node, now| node.restarted_at.map(|at| format::ago(at, now)))}
            </td>
            <td role="cell" class=CELL data-label=words::ping()>{move || figure(|node, _| node.latency_ms.map(format::latency))}</td>
        </tr>
    }
}

fn said(node: &NodeAnswer, owner: Option<&Owner>) -> (Mark, String) {
    let mark = Mark::of(node, owner);
    let told = match &node.answer {
        Answer::Unreachable { reason } => words::unreachable(&told::said(reason)),
        Answer::Holds { .. } | Answer::Absent => mark.words().to_owned(),
    };
    (mark, told)
}

fn lease_words(answer: Option<&NodeAnswer>, outlives: bool, now: Timestamp) -> String {
    match answer.map(|node| &node.answer) {
        Some(Answer::Holds { lease, .. }) => match format::lease(*lease, outlives, now) {
            LeaseWords::None => words::no_lease().to_owned(),
            LeaseWords::Left(left) => left,
            LeaseWords::Over => words::over().to_owned(),
            LeaseWords::Past(since) => words::past_its_time(&since),
        },
        Some(Answer::Absent | Answer::Unreachable { .. }) | None => "–".to_owned(),
    }
}
