//! What each node answers about one lock, side by side with what is known of the node.

use leptos::prelude::*;

use super::node_dots::{Dot, Mark};
use super::owner_name::OwnerName;
use crate::domain::{Answer, GroupView, Lock, NodeAnswer, NodeView, Owner, Timestamp};
use crate::ui::format::{self, LeaseWords};
use crate::ui::live::Live;

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
    let head = "px-3 py-1.5 text-start font-medium text-muted whitespace-nowrap";
    view! {
        <div
            class="overflow-x-auto rounded-xl border border-line bg-surface shadow-lift"
            role="region"
            aria-label="What each node answers"
            tabindex="0"
        >
            <table class="w-full border-collapse [&_td]:border-t [&_td]:border-line [&_td]:px-3 [&_td]:py-1.5">
                <thead>
                    <tr>
                        {["Node", "Answer", "Owner", "Lease", "Clock", "Restarted", "Ping"]
                            .map(|title| view! { <th scope="col" class=head>{title}</th> })
                            .collect_view()}
                    </tr>
                </thead>
                <tbody>
                    {move || names.get().into_iter().map(|name| view! { <NodeLine name lock group /> }).collect_view()}
                </tbody>
            </table>
        </div>
    }
}

#[component]
fn NodeLine(name: String, lock: Signal<Lock>, group: Signal<Option<GroupView>>) -> impl IntoView {
    let live = Live::expect();
    let answer = Memo::new({
        let name = name.clone();
        move |_| lock.with(|lock| lock.nodes.iter().find(|node| node.node == name).cloned())
    });
    let main =
        Memo::new(move |_| lock.with(|lock| lock.owner.as_ref().or(lock.owners.first()).cloned()));
    let outlives =
        Memo::new(move |_| lock.with(|lock| lock.format == crate::domain::Format::LegacyTimestamp));
    let node = Memo::new({
        let name = name.clone();
        move |_| {
            group.with(|group| {
                group
                    .as_ref()?
                    .nodes
                    .iter()
                    .find(|node| node.name == name)
                    .cloned()
            })
        }
    });
    let owner = Memo::new(move |_| answer.with(|answer| answer.as_ref()?.answer.owner().cloned()));
    let said = Memo::new(move |_| {
        answer.with(|answer| main.with(|main| said(answer.as_ref(), main.as_ref())))
    });
    let lease =
        move || answer.with(|answer| lease_words(answer.as_ref(), outlives.get(), live.now.get()));
    let skew = move || of(node, |node| node.clock_skew_ms.map(format::skew));
    let restarted = move || {
        of(node, |node| {
            node.restarted_at.map(|at| format::ago(at, live.now.get()))
        })
    };
    let ping = move || of(node, |node| node.latency_ms.map(format::latency));
    view! {
        <tr class="[&_td]:whitespace-nowrap">
            <td class="font-medium">{name}</td>
            <td>
                {move || {
                    said.get()
                        .map(|(mark, words)| {
                            view! {
                                <span class="inline-flex items-center gap-1.5">
                                    <Dot mark />
                                    {words}
                                </span>
                            }
                        })
                }}
            </td>
            <td>{move || owner.get().map(|owner| view! { <OwnerName owner /> })}</td>
            <td>{move || lease()}</td>
            <td>{move || skew()}</td>
            <td>{move || restarted()}</td>
            <td>{move || ping()}</td>
        </tr>
    }
}

fn of(node: Memo<Option<NodeView>>, figure: impl Fn(&NodeView) -> Option<String>) -> String {
    node.with(|node| node.as_ref().and_then(figure))
        .unwrap_or_else(|| "–".to_owned())
}

fn said(answer: Option<&NodeAnswer>, owner: Option<&Owner>) -> Option<(Mark, String)> {
    let node = answer?;
    let mark = Mark::of(node, owner);
    let words = match &node.answer {
        Answer::Unreachable { reason } => format!("unreachable ({reason})"),
        Answer::Holds { .. } | Answer::Absent => mark.words().to_owned(),
    };
    Some((mark, words))
}

fn lease_words(answer: Option<&NodeAnswer>, outlives: bool, now: Timestamp) -> String {
    match answer.map(|node| &node.answer) {
        Some(Answer::Holds { lease, .. }) => match format::lease(*lease, outlives, now) {
            LeaseWords::None => "none".to_owned(),
            LeaseWords::Left(left) => left,
            LeaseWords::Over => "over".to_owned(),
            LeaseWords::Past(since) => format!("past its time {since}"),
        },
        Some(Answer::Absent | Answer::Unreachable { .. }) | None => "–".to_owned(),
    }
}
