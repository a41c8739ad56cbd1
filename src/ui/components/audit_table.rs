//! The table of audit entries: time, actor, operation, lock, reason, and the result on each node.

use leptos::prelude::*;

use super::audit_diff::AuditDiff;
use super::lock_name::{CommonPrefixes, LockName};
use crate::domain::{AuditEntry, AuditFilter, OperationResult};
use crate::ui::audit_query::AuditQuery;
use crate::ui::i18n::{audit as t, audit_details, punctuation, terms};
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Badge, Link, Tone};
use crate::ui::live::Live;
use crate::ui::{format, paths};

/// The audit entries, the latest first.
#[component]
pub fn AuditTable(
    /// The entries in display order.
    entries: Vec<AuditEntry>,
) -> impl IntoView {
    const HEAD: &str = "px-3 py-2 text-start font-medium text-muted";
    let keys = entries.iter().filter_map(|entry| entry.key.as_ref());
    let prefixes = CommonPrefixes::of(keys);
    let rows = entries.into_iter().map(|entry| {
        let key = entry.key.as_ref();
        let shared_bytes = key.map_or(0, |key| prefixes.shared_bytes(key));
        view! { <AuditRow entry shared_bytes /> }
    });
    let titles = [
        t::time(),
        t::principal(),
        t::operation(),
        t::lock(),
        t::reason(),
        t::result(),
    ];
    view! {
        <div class=format!("overflow-x-auto {CARD}")>
            <table class="card-table w-full text-sm" role="table">
                <caption class="sr-only">{t::caption()}</caption>
                <thead role="rowgroup" class="border-b border-line">
                    <tr role="row">
                        {titles
                            .map(|title| view! { <th scope="col" role="columnheader" class=HEAD>{title}</th> })
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
fn AuditRow(entry: AuditEntry, shared_bytes: usize) -> impl IntoView {
    const CELL: &str = "px-3 py-2 align-top";
    let live = Live::expect();
    let lock = match entry.lock() {
        Some(id) => {
            let href = paths::lock(&id);
            view! {
                <span class="min-w-0">
                    <Link href=href class="hover:underline">
                        <LockName key=id.key shared=Signal::stored(shared_bytes) />
                    </Link>
                    <span class="block text-xs text-muted">{id.group}</span>
                </span>
            }
            .into_any()
        }
        None => view! { {entry.group.clone()} }.into_any(),
    };
    let reason = entry
        .reason
        .as_deref()
        .map_or_else(|| "–".to_owned(), format::escape_invisible);
    let (actor, origin_text) = (format::escape_invisible(&entry.actor), origin(&entry));
    let subject = entry.subject.as_deref().map(format::escape_invisible);
    let started_at = entry.started_at;
    let time = move || format::date_time(started_at);
    let ago = move || format::ago(started_at, live.now.get());
    view! {
        <tr role="row">
            <td role="cell" class=format!("{CELL} whitespace-nowrap tabular-nums") data-label=t::time()>
                <span>
                    {time} <span class="block text-xs text-muted">{ago}</span>
                </span>
            </td>
            <td role="cell" class=CELL data-label=t::principal()>
                <span>
                    <bdi>{actor}</bdi>
                    {subject
                        .map(|subject| {
                            view! {
                                <span class="block text-xs text-muted wrap-anywhere">
                                    <bdi>{subject}</bdi>
                                </span>
                            }
                        })}
                    <span class="block text-xs text-muted">{origin_text}</span>
                </span>
            </td>
            <td role="cell" class=format!("{CELL} whitespace-nowrap") data-label=t::operation()>
                {terms::operation(entry.action)}
            </td>
            <td role="cell" class=CELL data-label=t::lock()>{lock}</td>
            <td role="cell" class=format!("{CELL} wrap-anywhere") data-label=t::reason()>
                <bdi>{reason}</bdi>
            </td>
            <td role="cell" class=CELL data-label=t::result()>
                <div class="min-w-0 grow">
                    <AuditEntryResult entry />
                </div>
            </td>
        </tr>
    }
}

/// The result of an operation, and what it changed on each node.
#[component]
pub fn AuditEntryResult(
    /// The audit entry.
    entry: AuditEntry,
) -> impl IntoView {
    let duration = entry
        .ended_at
        .map(|ended| format::span(ended.millis_since(entry.started_at).max(0).unsigned_abs()));
    let detail = entry.detail.as_ref().map(audit_details::text);
    let owner = entry
        .fingerprint
        .as_ref()
        .map(|fingerprint| t::owner(fingerprint.as_str()));
    let request = entry.request_id.as_deref().map(|request| {
        let href = AuditQuery {
            filter: AuditFilter {
                text: Some(request.to_owned()),
                ..AuditFilter::default()
            },
            cursor: None,
        };
        let href = href.path();
        let request = format::escape_invisible(request);
        view! {
            <p>
                {t::request()}
                <Link href=href class="font-mono underline underline-offset-2">
                    {request}
                </Link>
            </p>
        }
    });
    let result = entry.result;
    let has_nodes = !entry.nodes.is_empty() || !entry.observed_after.is_empty();
    view! {
        <Badge tone=result_tone(result)>{terms::operation_result(result)}</Badge>
        <details class="mt-1 text-xs">
            <summary class="text-muted">{t::details()}</summary>
            <div class="mt-1 flex flex-col gap-1 wrap-anywhere">
                {detail.map(|detail| view! { <p>{detail}</p> })}
                {owner.map(|owner| view! { <p class="font-mono">{owner}</p> })}
                {duration.map(|duration| view! { <p>{t::duration(duration)}</p> })}
                {request}
                {has_nodes.then(|| view! { <AuditDiff entry /> })}
            </div>
        </details>
    }
}

fn result_tone(result: OperationResult) -> Tone {
    match result {
        OperationResult::Done => Tone::Good,
        OperationResult::Refused => Tone::Plain,
        OperationResult::Partial | OperationResult::Failed => Tone::Warn,
        OperationResult::Unknown | OperationResult::InProgress => Tone::Unsure,
    }
}

/// Formats the authentication method and the address: `browser, 10.0.0.7`.
fn origin(entry: &AuditEntry) -> String {
    let via = terms::auth_method(&entry.auth_method);
    match &entry.address {
        Some(address) => via + punctuation::comma() + address,
        None => via,
    }
}
