//! Acts of the audit, one in a row: when, who, what, to which lock, why, and how it ended on each node.

use leptos::prelude::*;

use super::audit_diff::AuditDiff;
use super::lock_name::LockName;
use crate::domain::{ActEnd, AuditFilter, Audited, Timestamp};
use crate::ui::audit_query::AuditQuery;
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Badge, Link, Tone};
use crate::ui::live::Live;
use crate::ui::words::{audit as words, punctuation, told, verdicts};
use crate::ui::{format, paths};

/// The acts, the latest first.
#[component]
pub fn AuditTable(
    /// The acts.
    acts: Vec<Audited>,
) -> impl IntoView {
    const HEAD: &str = "px-3 py-2 text-start font-medium text-muted";
    let rows = acts.into_iter().map(|act| view! { <Row act /> });
    let heads = [
        words::time(),
        words::who(),
        words::act(),
        words::lock(),
        words::why(),
        words::end(),
    ];
    view! {
        <div class=format!("overflow-x-auto {CARD}")>
            <table class="card-table w-full text-sm" role="table">
                <caption class="sr-only">{words::caption()}</caption>
                <thead role="rowgroup" class="border-b border-line">
                    <tr role="row">
                        {heads
                            .map(|word| view! { <th scope="col" role="columnheader" class=HEAD>{word}</th> })
                            .into_iter()
                            .collect_view()}
                    </tr>
                </thead>
                <tbody role="rowgroup" class="divide-y divide-line">{rows.collect_view()}</tbody>
            </table>
        </div>
    }
}

#[component]
fn Row(act: Audited) -> impl IntoView {
    const CELL: &str = "px-3 py-2 align-top";
    let live = Live::expect();
    let lock = match act.lock() {
        Some(id) => {
            let href = paths::lock(&id);
            view! {
                <span class="min-w-0">
                    <Link href=href class="hover:underline">
                        <LockName key=id.key />
                    </Link>
                    <span class="block text-xs text-muted">{id.group}</span>
                </span>
            }
            .into_any()
        }
        None => view! { {act.group.clone()} }.into_any(),
    };
    let reason = act
        .reason
        .as_deref()
        .map_or_else(|| "–".to_owned(), format::visible);
    let (who, from) = (format::visible(&act.who), from(&act));
    let subject = act.subject.as_deref().map(format::visible);
    let (time, began_at) = (moment(act.began_at), act.began_at);
    let ago = move || format::ago(began_at, live.now.get());
    view! {
        <tr role="row">
            <td role="cell" class=format!("{CELL} whitespace-nowrap tabular-nums") data-label=words::time()>
                <span>
                    {time} <span class="block text-xs text-muted">{ago}</span>
                </span>
            </td>
            <td role="cell" class=CELL data-label=words::who()>
                <span>
                    <bdi>{who}</bdi>
                    {subject
                        .map(|subject| {
                            view! {
                                <span class="block text-xs text-muted wrap-anywhere">
                                    <bdi>{subject}</bdi>
                                </span>
                            }
                        })}
                    <span class="block text-xs text-muted">{from}</span>
                </span>
            </td>
            <td role="cell" class=format!("{CELL} whitespace-nowrap") data-label=words::act()>
                {verdicts::act(act.act)}
            </td>
            <td role="cell" class=CELL data-label=words::lock()>{lock}</td>
            <td role="cell" class=format!("{CELL} wrap-anywhere") data-label=words::why()>
                <bdi>{reason}</bdi>
            </td>
            <td role="cell" class=CELL data-label=words::end()>
                <div class="min-w-0 grow">
                    <HowItEnded act />
                </div>
            </td>
        </tr>
    }
}

/// How an act ended, and what it changed on each node.
#[component]
pub fn HowItEnded(
    /// The act.
    act: Audited,
) -> impl IntoView {
    let lasted = act
        .ended_at
        .map(|ended| format::span(ended.millis_since(act.began_at).max(0).unsigned_abs()));
    let detail = act.detail.as_deref().map(told::said);
    let owner = act
        .fingerprint
        .as_ref()
        .map(|fingerprint| words::owner(fingerprint.as_str()));
    let request = act.request.as_deref().map(|request| {
        let href = AuditQuery {
            filter: AuditFilter {
                text: Some(request.to_owned()),
                ..AuditFilter::default()
            },
            cursor: None,
        };
        let href = href.path();
        let request = format::visible(request);
        view! {
            <p>
                {words::request()}
                <Link href=href class="font-mono underline underline-offset-2">
                    {request}
                </Link>
            </p>
        }
    });
    let end = act.end;
    let has_nodes = !act.nodes.is_empty() || !act.seen.is_empty();
    view! {
        <Badge tone=tone(end)>{verdicts::act_end(end)}</Badge>
        <details class="mt-1 text-xs">
            <summary class="text-muted">{words::more()}</summary>
            <div class="mt-1 flex flex-col gap-1 wrap-anywhere">
                {detail.map(|detail| view! { <p>{detail}</p> })}
                {owner.map(|owner| view! { <p class="font-mono">{owner}</p> })}
                {lasted.map(|lasted| view! { <p>{words::it_took(lasted)}</p> })}
                {request}
                {has_nodes.then(|| view! { <AuditDiff act /> })}
            </div>
        </details>
    }
}

fn tone(end: ActEnd) -> Tone {
    match end {
        ActEnd::Done => Tone::Good,
        ActEnd::Refused => Tone::Plain,
        ActEnd::Partial | ActEnd::Failed => Tone::Warn,
        ActEnd::Unknown | ActEnd::InProgress => Tone::Unsure,
    }
}

/// `browser, 10.0.0.7`.
fn from(act: &Audited) -> String {
    let via = verdicts::via(&act.via);
    match &act.address {
        Some(address) => via + punctuation::comma() + address,
        None => via,
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
