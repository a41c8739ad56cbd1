//! The table of hosts or processes and the locks that they hold.

use leptos::prelude::*;

use super::lock_name::LockName;
use crate::domain::owners::host;
use crate::domain::{LockId, OwnerGrouping, OwnerIdentity, OwnerQuery, OwnerRow, OwnerSort};
use crate::ui::i18n::owners as t;
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Badge, Icon, IconName, Link, Tone};
use crate::ui::live::Live;
use crate::ui::{format, owners_query, paths};

/// The number of locks shown before the list is expanded.
const MAX_INLINE_LOCKS: usize = 3;

/// Search results with at most this many rows are expanded from the start.
const MAX_EXPANDED_ROWS: usize = 3;

/// The table.
#[component]
pub fn OwnerTable(
    /// The rows in display order.
    rows: Vec<OwnerRow>,
    /// The locks of owners without a label, if there are any.
    unlabeled: Option<OwnerRow>,
    /// The query of the page.
    query: OwnerQuery,
) -> impl IntoView {
    const HEAD: &str = "px-3 py-2 text-start font-medium whitespace-nowrap text-muted";
    let is_open = !query.text.is_empty() && rows.len() <= MAX_EXPANDED_ROWS;
    let rows: Vec<_> = rows
        .into_iter()
        .map(|row| view! { <OwnerTableRow row is_open by=query.group_by /> })
        .collect();
    let unlabeled = unlabeled.map(|row| view! { <UnlabeledRow row /> });
    let columns = [
        (t::owner(), Some(OwnerSort::Name)),
        (t::locks(), Some(OwnerSort::Locks)),
        (t::oldest(), Some(OwnerSort::Oldest)),
        (t::at_risk_column(), Some(OwnerSort::AtRisk)),
        (t::groups(), None),
        (t::holds(), None),
    ];
    let headings = columns.map(|(title, sort)| {
        let is_sorted = sort == Some(query.sort);
        let content = match sort {
            Some(sort) => view! { <SortLink title sort query=query.clone() /> }.into_any(),
            None => title.into_any(),
        };
        view! {
            <th scope="col" role="columnheader" class=HEAD aria-sort=is_sorted.then_some(aria_sort(sort))>
                {content}
            </th>
        }
    });
    view! {
        <div class=CARD>
            <table class="card-table w-full" role="table" aria-label=t::title()>
                <thead role="rowgroup" class="border-b border-line">
                    <tr role="row">{headings.into_iter().collect_view()}</tr>
                </thead>
                <tbody role="rowgroup">{rows} {unlabeled}</tbody>
            </table>
        </div>
    }
}

fn aria_sort(sort: Option<OwnerSort>) -> &'static str {
    match sort {
        Some(OwnerSort::Name | OwnerSort::Oldest) => "ascending",
        Some(OwnerSort::Attention | OwnerSort::Locks | OwnerSort::AtRisk) | None => "descending",
    }
}

/// A column heading that sorts the rows. A second click restores the default order.
#[component]
fn SortLink(title: &'static str, sort: OwnerSort, query: OwnerQuery) -> impl IntoView {
    let is_sorted = query.sort == sort;
    let next = if is_sorted {
        OwnerSort::default()
    } else {
        sort
    };
    let href = owners_query::path(&OwnerQuery {
        sort: next,
        ..query
    });
    let sign = match (is_sorted, aria_sort(Some(sort))) {
        (false, _) => IconName::Sortable,
        (true, "ascending") => IconName::ArrowUp,
        (true, _) => IconName::ArrowDown,
    };
    view! {
        <Link href=href no_scroll=true title=t::sort_by(title) class="inline-flex items-center gap-1 rounded hover:text-ink">
            {title}
            <Icon name=sign />
        </Link>
    }
}

/// The class of a cell. A row with one line has the height of a row of the lock list.
const CELL: &str = "px-3 py-[0.4375rem] align-top";

/// The locks of all owners without a label, as the last row.
#[component]
fn UnlabeledRow(row: OwnerRow) -> impl IntoView {
    let live = Live::expect();
    let oldest = row.oldest_acquired_at;
    let held = move || format::elapsed(oldest, live.now.get());
    let attention = (row.attention > 0).then(|| {
        view! { <Badge tone=Tone::Alarm>{t::need_attention(row.attention)}</Badge> }
    });
    let at_risk = match row.at_risk {
        0 => view! { <span class="text-muted">"–"</span> }.into_any(),
        count => {
            let text = t::at_risk(format::count(count.into()));
            view! { <Badge tone=Tone::Warn title=t::at_risk_description()>{text}</Badge> }
                .into_any()
        }
    };
    view! {
        <tr role="row" class="is-short border-line not-first:border-t">
            <td role="cell" class=format!("{CELL} max-md:basis-full")>
                <div class="flex flex-wrap items-baseline gap-x-2">
                    <Link href=paths::locks_of_host("") title=t::unlabelled_description() class="rounded text-muted underline-offset-2 hover:underline">
                        {t::unlabelled_owners()}
                    </Link>
                    {attention}
                </div>
            </td>
            <td role="cell" class=CELL data-label=t::locks()>{t::lock_count(row.lock_count)}</td>
            <td role="cell" class=format!("{CELL} whitespace-nowrap tabular-nums") data-label=t::oldest()>{held}</td>
            <td role="cell" class=CELL data-label=t::at_risk_column()>{at_risk}</td>
            <td role="cell" class=format!("{CELL} wrap-anywhere") data-label=t::groups()>{row.groups.join(", ")}</td>
            <td role="cell" class=format!("{CELL} max-md:basis-full")>
                <Link href=paths::locks_of_host("") class="rounded text-accent underline underline-offset-2">{t::show_unlabelled()}</Link>
            </td>
        </tr>
    }
}

#[component]
fn OwnerTableRow(row: OwnerRow, is_open: bool, by: OwnerGrouping) -> impl IntoView {
    let live = Live::expect();
    let oldest = row.oldest_acquired_at;
    let held = move || format::elapsed(oldest, live.now.get());
    let title = format::escape_invisible(&row.name);
    let shortened = format::shorten(&title, 48);
    let list = paths::search_locks(&row.name);
    let processes = (row.label_count > 1).then(|| t::processes(row.label_count));
    let attention = (row.attention > 0).then(|| {
        view! { <Badge tone=Tone::Alarm>{t::need_attention(row.attention)}</Badge> }
    });
    let at_risk = (row.at_risk > 0).then(|| {
        let text = t::at_risk(format::count(row.at_risk.into()));
        view! { <Badge tone=Tone::Warn title=t::at_risk_description()>{text}</Badge> }
    });
    let none_at_risk = (row.at_risk == 0).then(|| view! { <span class="text-muted">"–"</span> });
    let groups = row.groups.join(", ");
    let named_count = row.top_locks.len();
    let mut named = row.top_locks;
    let more_locks = named.split_off(named.len().min(MAX_INLINE_LOCKS));
    let unnamed_count = (row.lock_count as usize).saturating_sub(named_count);
    let more = more_locks.len() + unnamed_count;
    let more_locks = (more > 0).then(|| {
        let summary = t::more(format::count(more as u64));
        let unnamed_count = (unnamed_count > 0).then(|| {
            let text = t::and_more(format::count(unnamed_count as u64));
            view! {
                <li>
                    <Link href=list class="text-accent underline underline-offset-2">
                        {text}
                    </Link>
                </li>
            }
        });
        view! {
            <details open=is_open>
                <summary class="text-xs text-muted">{summary}</summary>
                <ul class="mt-1 flex flex-col gap-0.5">{lock_links(more_locks)} {unnamed_count}</ul>
            </details>
        }
    });
    // A process has the page of its host.
    let page = paths::owner(&OwnerIdentity::Host(host(&row.name).to_owned()));
    let open_page = t::open_page(&shortened);
    // Only hosts have a bulk release: a process matches by a part of its name, which other
    // processes may share.
    let release = (by == OwnerGrouping::Host).then(|| {
        let (hint, of) = (t::release_all_description(&shortened), t::release_all_suffix(&shortened));
        view! {
            <Link
                href=paths::select_all_of_host(&row.name)
                title=hint
                class="needs-script inline-block rounded text-xs whitespace-nowrap md:ms-auto text-muted underline underline-offset-2 hover:text-ink"
            >
                {t::release_all(row.lock_count)}
                <span class="sr-only">{of}</span>
            </Link>
        }
    });
    view! {
        <tr role="row" class="is-short border-line not-first:border-t">
            <td role="cell" class=format!("{CELL} max-md:basis-full")>
                <div class="flex flex-wrap items-baseline gap-x-2">
                    <Link href=page title=open_page class="rounded font-semibold underline-offset-2 hover:underline">
                        <bdi class="wrap-anywhere" title=title>{shortened}</bdi>
                    </Link>
                    {processes.map(|processes| view! { <span class="text-xs text-muted">{processes}</span> })}
                    {attention}
                </div>
            </td>
            <td role="cell" class=CELL data-label=t::locks()>
                {t::lock_count(row.lock_count)}
            </td>
            <td role="cell" class=format!("{CELL} whitespace-nowrap tabular-nums") data-label=t::oldest()>
                {held}
            </td>
            <td role="cell" class=CELL data-label=t::at_risk_column()>
                {at_risk}
                {none_at_risk}
            </td>
            <td role="cell" class=format!("{CELL} wrap-anywhere") data-label=t::groups()>
                {groups}
            </td>
            <td role="cell" class=format!("{CELL} min-w-0 max-md:basis-full")>
                <div class="flex flex-col gap-x-3 gap-y-0.5 md:flex-row md:items-baseline">
                    <ul class="flex flex-col gap-x-3 gap-y-0.5 md:flex-row md:flex-wrap">{lock_links(named)}</ul>
                    {more_locks}
                    {release}
                </div>
            </td>
        </tr>
    }
}

fn lock_links(locks: Vec<LockId>) -> impl IntoView {
    let link = |id: LockId| {
        view! {
            <li>
                <Link href=paths::lock(&id) class="rounded underline-offset-2 hover:underline">
                    <LockName key=id.key />
                </Link>
            </li>
        }
    };
    locks.into_iter().map(link).collect_view()
}
