//! Hosts or processes and the locks that they hold, one row each.

use leptos::prelude::*;

use super::lock_name::LockName;
use crate::domain::{LockId, OwnerRow, OwnersAsked, OwnersBy, OwnersSort};
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Badge, Icon, Link, Sign, Tone};
use crate::ui::live::Live;
use crate::ui::words::owners as words;
use crate::ui::{format, owners_query, paths};

/// So many locks are named before the rest is unfolded.
const AT_ONCE: usize = 3;

/// So few rows are unfolded from the start: somebody looked for them.
const UNFOLDED: usize = 3;

/// The table.
#[component]
pub fn OwnerRows(
    /// In the order in which they are shown.
    rows: Vec<OwnerRow>,
    /// What was asked for.
    asked: OwnersAsked,
) -> impl IntoView {
    const HEAD: &str = "px-3 py-2 text-start font-medium whitespace-nowrap text-muted";
    let is_open = !asked.text.is_empty() && rows.len() <= UNFOLDED;
    let rows: Vec<_> = rows
        .into_iter()
        .map(|row| view! { <Row row is_open by=asked.by /> })
        .collect();
    let columns = [
        (words::owner(), Some(OwnersSort::Name)),
        (words::locks(), Some(OwnersSort::Locks)),
        (words::oldest(), Some(OwnersSort::Oldest)),
        (words::missed(), Some(OwnersSort::AtRisk)),
        (words::groups(), None),
        (words::holds(), None),
    ];
    let heads = columns.map(|(word, sort)| {
        let is_sorted = sort == Some(asked.sort);
        let content = match sort {
            Some(sort) => view! { <SortBy word sort asked=asked.clone() /> }.into_any(),
            None => word.into_any(),
        };
        view! {
            <th scope="col" role="columnheader" class=HEAD aria-sort=is_sorted.then_some(order(sort))>
                {content}
            </th>
        }
    });
    view! {
        <div class=CARD>
            <table class="card-table w-full" role="table" aria-label=words::title()>
                <thead role="rowgroup" class="border-b border-line">
                    <tr role="row">{heads.into_iter().collect_view()}</tr>
                </thead>
                <tbody role="rowgroup">{rows}</tbody>
            </table>
        </div>
    }
}

fn order(sort: Option<OwnersSort>) -> &'static str {
    match sort {
        Some(OwnersSort::Name | OwnersSort::Oldest) => "ascending",
        Some(OwnersSort::Attention | OwnersSort::Locks | OwnersSort::AtRisk) | None => "descending",
    }
}

/// The heading of a column that the rows can be put in order by; once more, and they are as at first.
#[component]
fn SortBy(word: &'static str, sort: OwnersSort, asked: OwnersAsked) -> impl IntoView {
    let is_sorted = asked.sort == sort;
    let next = if is_sorted {
        OwnersSort::default()
    } else {
        sort
    };
    let href = owners_query::path(&OwnersAsked {
        sort: next,
        ..asked
    });
    let sign = match (is_sorted, order(Some(sort))) {
        (false, _) => Sign::Sortable,
        (true, "ascending") => Sign::ArrowUp,
        (true, _) => Sign::ArrowDown,
    };
    view! {
        <Link href=href stays=true title=words::sort_by(word) class="inline-flex items-center gap-1 rounded hover:text-ink">
            {word}
            <Icon sign />
        </Link>
    }
}

#[component]
fn Row(row: OwnerRow, is_open: bool, by: OwnersBy) -> impl IntoView {
    const CELL: &str = "px-3 py-2 align-top";
    let live = Live::expect();
    let oldest = row.oldest;
    let held = move || format::elapsed(oldest, live.now.get());
    let title = format::visible(&row.name);
    let shown = format::shorten(&title, 48);
    let list = paths::owned_by(&row.name);
    let processes = (row.labels > 1).then(|| words::processes(row.labels));
    let attention = (row.attention > 0).then(|| {
        view! { <Badge tone=Tone::Alarm>{words::need_attention(row.attention)}</Badge> }
    });
    let at_risk = (row.at_risk > 0).then(|| {
        let words = words::at_risk(format::count(row.at_risk.into()));
        view! { <Badge tone=Tone::Warn title=words::missed_why()>{words}</Badge> }
    });
    let none_at_risk = (row.at_risk == 0).then(|| view! { <span class="text-muted">"–"</span> });
    let groups = row.groups.join(", ");
    let told = row.named.len();
    let mut named = row.named;
    let rest = named.split_off(named.len().min(AT_ONCE));
    let untold = (row.locks as usize).saturating_sub(told);
    let more = rest.len() + untold;
    let all = list.clone();
    let rest = (more > 0).then(|| {
        let summary = words::more(format::count(more as u64));
        let untold = (untold > 0).then(|| {
            let words = words::and_more(format::count(untold as u64));
            view! {
                <li>
                    <Link href=all class="text-accent underline underline-offset-2">
                        {words}
                    </Link>
                </li>
            }
        });
        view! {
            <details class="mt-1" open=is_open>
                <summary class="text-xs text-muted">{summary}</summary>
                <ul class="mt-1 flex flex-col gap-0.5">{links(rest)} {untold}</ul>
            </details>
        }
    });
    let in_list = words::in_the_list(&shown);
    // A process is found by a part of its name, which may be a part of another's too: only of a host all can be told for sure.
    let release = (by == OwnersBy::Host).then(|| {
        let (means, of) = (words::release_all_means(&shown), words::release_all_of(&shown));
        view! {
            <Link
                href=paths::select_all_of_host(&row.name)
                title=means
                class="needs-script mt-1 inline-block rounded text-xs text-muted underline underline-offset-2 hover:text-ink"
            >
                {words::release_all(row.locks)}
                <span class="sr-only">{of}</span>
            </Link>
        }
    });
    view! {
        <tr role="row" class="border-line not-first:border-t">
            <td role="cell" class=CELL>
                <Link href=list title=in_list class="rounded font-semibold underline-offset-2 hover:underline">
                    <bdi class="wrap-anywhere" title=title>{shown}</bdi>
                </Link>
                {processes.map(|processes| view! { <div class="text-xs text-muted">{processes}</div> })}
                {attention.map(|attention| view! { <div>{attention}</div> })}
            </td>
            <td role="cell" class=CELL data-label=words::locks()>
                {words::many_locks(row.locks)}
            </td>
            <td role="cell" class=format!("{CELL} whitespace-nowrap tabular-nums") data-label=words::oldest()>
                {held}
            </td>
            <td role="cell" class=CELL data-label=words::missed()>
                {at_risk}
                {none_at_risk}
            </td>
            <td role="cell" class=format!("{CELL} wrap-anywhere") data-label=words::groups()>
                {groups}
            </td>
            <td role="cell" class=format!("{CELL} min-w-0")>
                <ul class="flex flex-col gap-0.5">{links(named)}</ul>
                {rest}
                {release}
            </td>
        </tr>
    }
}

fn links(locks: Vec<LockId>) -> impl IntoView {
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
