//! Acts of the audit, one in a row: when, who, what, to which lock, why, and how it ended on each node.

use leptos::prelude::*;

use super::audit_filter::words;
use super::lock_name::LockName;
use super::node_acts::NodeActs;
use crate::domain::{ActEnd, Answer, Audited, NodeAnswer, Timestamp};
use crate::ui::kit::{Badge, Link, Tone};
use crate::ui::{format, paths};

/// The acts, the latest first.
#[component]
pub fn AuditTable(
    /// The acts.
    acts: Vec<Audited>,
) -> impl IntoView {
    const HEAD: &str = "px-3 py-2 text-start font-medium text-muted";
    let rows = acts.into_iter().map(|act| view! { <Row act /> }.into_any());
    view! {
        <div class="overflow-x-auto rounded-xl border border-line bg-surface shadow-lift">
            <table class="w-full text-sm">
                <caption class="sr-only">"Acts, the latest first"</caption>
                <thead class="border-b border-line">
                    <tr>
                        {["Time (UTC)", "Who", "Act", "Lock", "Why", "End"]
                            .map(|word| view! { <th scope="col" class=HEAD>{word}</th> }.into_any())
                            .into_iter()
                            .collect_view()}
                    </tr>
                </thead>
                <tbody class="divide-y divide-line">{rows.collect_view()}</tbody>
            </table>
        </div>
    }
}

#[component]
fn Row(act: Audited) -> impl IntoView {
    const CELL: &str = "px-3 py-2 align-top";
    let lock = match act.lock() {
        Some(id) => {
            let href = paths::lock(&id);
            view! {
                <Link href=href class="hover:underline">
                    <LockName key=id.key />
                </Link>
                <div class="text-xs text-muted">{id.group}</div>
            }
            .into_any()
        }
        None => view! { {act.group.clone()} }.into_any(),
    };
    let reason = act.reason.as_deref().map(format::visible);
    let (who, from) = (format::visible(&act.who), from(&act));
    let time = moment(act.began_at);
    view! {
        <tr>
            <td class=format!("{CELL} whitespace-nowrap tabular-nums")>{time}</td>
            <td class=CELL>
                <bdi>{who}</bdi>
                <div class="text-xs text-muted">{from}</div>
            </td>
            <td class=format!("{CELL} whitespace-nowrap")>{words(act.act.slug())}</td>
            <td class=CELL>{lock}</td>
            <td class=format!("{CELL} wrap-anywhere")>
                <bdi>{reason}</bdi>
            </td>
            <td class=CELL>
                <HowItEnded act />
            </td>
        </tr>
    }
}

/// How an act ended, and what happened on each node.
#[component]
pub fn HowItEnded(
    /// The act.
    act: Audited,
) -> impl IntoView {
    let lasted = act
        .ended_at
        .map(|ended| format::span(ended.millis_since(act.began_at).max(0).unsigned_abs()));
    let detail = act.detail.as_deref().map(format::visible);
    let owner = act
        .fingerprint
        .map(|fingerprint| format!("owner {fingerprint}"));
    let request = act
        .request
        .map(|request| format!("request {}", format::visible(&request)));
    let seen = act
        .seen
        .into_iter()
        .map(|node| view! { <li>{seen(&node)}</li> }.into_any());
    let seen: Vec<AnyView> = seen.collect();
    view! {
        <Badge tone=tone(act.end)>{words(act.end.slug())}</Badge>
        <details class="mt-1 text-xs">
            <summary class="text-muted">"More"</summary>
            <div class="mt-1 flex flex-col gap-1 wrap-anywhere">
                {detail.map(|detail| view! { <p>{detail}</p> }.into_any())}
                {owner.map(|owner| view! { <p class="font-mono">{owner}</p> }.into_any())}
                {lasted.map(|lasted| view! { <p>{format!("It took {lasted}.")}</p> }.into_any())}
                {request.map(|request| view! { <p class="font-mono">{request}</p> }.into_any())}
                {(!act.nodes.is_empty()).then(|| view! { <NodeActs acts=act.nodes /> }.into_any())}
                {(!seen.is_empty())
                    .then(|| view! { <ul aria-label="What was found afterwards">{seen}</ul> }.into_any())}
            </div>
        </details>
    }
}

fn tone(end: ActEnd) -> Tone {
    match end {
        ActEnd::Done => Tone::Good,
        ActEnd::Refused => Tone::Plain,
        ActEnd::Failed => Tone::Warn,
        ActEnd::Unknown | ActEnd::InProgress => Tone::Unsure,
    }
}

/// `browser, 10.0.0.7`.
fn from(act: &Audited) -> String {
    match &act.address {
        Some(address) => format!("{}, {address}", words(&act.via)),
        None => words(&act.via),
    }
}

fn seen(node: &NodeAnswer) -> String {
    match &node.answer {
        Answer::Holds { owner, .. } => format!("{}: held by {}", node.node, owner.name()),
        Answer::Absent => format!("{}: not there", node.node),
        Answer::Unreachable { reason } => format!("{}: not known ({reason})", node.node),
    }
}

/// `2026-11-20 18:48:05`.
pub fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    text.get(..19).unwrap_or(&text).replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_with_its_day() {
        let at = Timestamp::from_millis(1_795_200_485_556);
        assert_eq!(moment(at), "2026-11-20 18:48:05");
    }
}
