//! The replies of all nodes about one lock, with the state of each node.

use leptos::prelude::*;

use super::node_dots::{Dot, NodeMark};
use super::owner_name::OwnerName;
use crate::domain::{GroupView, Lock, NodeObservation, NodeView, Observation, Owner, Timestamp};
use crate::ui::format::{self, LeaseWords};
use crate::ui::i18n::lock as t;
use crate::ui::i18n::reasons;
use crate::ui::kit::Table;
use crate::ui::kit::card::CARD;
use crate::ui::live::Live;

/// A table of the replies of all nodes.
#[component]
pub fn NodeMatrix(
    /// The lock, updated live.
    #[prop(into)]
    lock: Signal<Lock>,
    /// The lock's group, for the state of the nodes.
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
    let has_clock = Memo::new(move |_| {
        let group = group.read();
        let kind = group.as_ref().map(|group| group.kind);
        kind.is_none_or(|kind| kind.capabilities().reports_server_clock)
    });
    let titles = move || {
        let clock = [t::clock(), t::restarted()].into_iter();
        [t::node(), t::state(), t::owner(), t::lease()]
            .into_iter()
            .chain(clock.filter(|_| has_clock.get()))
            .chain([t::ping()])
            .collect::<Vec<_>>()
    };
    let head = "px-3 py-1.5 text-start font-medium text-muted whitespace-nowrap";
    view! {
        <div
            class=format!("overflow-x-auto {CARD}")
            role="region"
            aria-label=t::nodes()
            tabindex="0"
        >
            {move || view! {
                <Table titles=titles() title_class=head class="card-table w-full border-collapse">
                    {move || names.get().into_iter().map(|name| view! { <NodeRow name lock group has_clock=has_clock.get() /> }).collect_view()}
                </Table>
            }}
        </div>
    }
}

#[component]
fn NodeRow(
    name: String,
    lock: Signal<Lock>,
    group: Signal<Option<GroupView>>,
    has_clock: bool,
) -> impl IntoView {
    const CELL: &str = "px-3 py-1.5 md:whitespace-nowrap";
    let live = Live::expect();
    let name = StoredValue::new(name);
    let observation = move |lock: &Lock| {
        let find = |name: &String| lock.nodes.iter().find(|node| node.node == *name).cloned();
        name.with_value(find)
    };
    let reply = move || {
        let lock = lock.read();
        let (mark, text) = describe_observation(
            &observation(&lock)?,
            lock.owner.as_ref().or(lock.owners.first()),
        );
        Some(
            view! {
                <span class="inline-flex items-center gap-1.5">
                    <Dot mark />
                    {text}
                </span>
            }
            .into_any(),
        )
    };
    let owner = move || {
        let lock = lock.read();
        let node = observation(&lock);
        let owners: Vec<Owner> = node
            .iter()
            .flat_map(|node| node.observation.owners().cloned())
            .collect();
        if owners.is_empty() {
            return "–".into_any();
        }
        let each = owners.into_iter().map(|owner| {
            let since = lock.holder(&owner.fingerprint).map(|holder| holder.acquired_at);
            let held = since.map(|since| {
                view! { <span class="text-muted">{format::elapsed(since, live.now.get())}</span> }
            });
            view! { <span class="flex flex-wrap items-baseline gap-x-2"><OwnerName owner is_linked=true /> {held}</span> }
        });
        each.collect_view().into_any()
    };
    let lease = move || {
        let lock = lock.read();
        let outlives = lock.format.outlives_lease();
        lease_text(observation(&lock).as_ref(), outlives, live.now.get())
    };
    let node_fact = move |value_of: fn(&NodeView, Timestamp) -> Option<String>| {
        let group = group.read();
        let nodes = group.iter().flat_map(|group| &group.nodes);
        let mut node = nodes.filter(|node| name.with_value(|name| node.name == *name));
        let text = node.next().and_then(|node| value_of(node, live.now.get()));
        text.unwrap_or_else(|| "–".to_owned())
    };
    view! {
        <tr role="row" class="is-short border-t border-line">
            <td role="cell" class=format!("{CELL} font-medium wrap-anywhere")>{name.get_value()}</td>
            <td role="cell" class=CELL>
                {move || reply()}
            </td>
            <td role="cell" class=format!("{CELL} basis-full") data-label=t::owner()>{move || owner()}</td>
            <td role="cell" class=CELL data-label=t::lease()>{move || lease()}</td>
            {has_clock.then(|| view! {
                <td role="cell" class=CELL data-label=t::clock()>{move || node_fact(|node, _| node.clock_skew_ms.map(format::skew))}</td>
                <td role="cell" class=CELL data-label=t::restarted()>
                    {move || node_fact(|node, now| node.restarted_at.map(|at| format::ago(at, now)))}
                </td>
            })}
            <td role="cell" class=CELL data-label=t::ping()>{move || node_fact(|node, _| node.latency_ms.map(format::latency))}</td>
        </tr>
    }
}

fn describe_observation(node: &NodeObservation, owner: Option<&Owner>) -> (NodeMark, String) {
    let mark = NodeMark::of(node, owner);
    let text = match &node.observation {
        Observation::Unreachable { reason } => t::unreachable(&reasons::clause(reason)),
        Observation::Holds { .. } | Observation::Absent => mark.label().to_owned(),
    };
    (mark, text)
}

fn lease_text(observation: Option<&NodeObservation>, outlives: bool, now: Timestamp) -> String {
    match observation.map(|node| &node.observation) {
        Some(Observation::Holds { lease, .. }) => match format::lease(*lease, outlives, now) {
            LeaseWords::None => t::no_lease().to_owned(),
            LeaseWords::Session => t::session_lease().to_owned(),
            LeaseWords::Left(left) => left,
            LeaseWords::Over => t::expired().to_owned(),
            LeaseWords::Past(since) => t::expired_since(&since),
        },
        Some(Observation::Absent | Observation::Unreachable { .. }) | None => "–".to_owned(),
    }
}
