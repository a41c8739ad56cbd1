//! The locks of a bulk release with their outcomes, one per row.

use leptos::prelude::*;

use super::bulk_release::{BulkItem, BulkReleaseState};
use super::report::outcome_text;
use crate::ui::components::advice::tone;
use crate::ui::components::lock_name::LockName;
use crate::ui::i18n::{advice as advice_texts, bulk as t};
use crate::ui::kit::{Badge, Table};
use crate::ui::live::Live;

/// The dialog subscribes to its locks only up to this number. Of more locks, it shows live changes
/// only for those on the page.
const MAX_WATCHED: usize = 50;

/// The table of the dialog.
#[component]
pub(super) fn ItemTable(
    /// The bulk release.
    bulk_release: BulkReleaseState,
) -> impl IntoView {
    // A dry run changes the order, which an index alone does not show.
    let rows = Memo::new(move |_| {
        bulk_release.items.with(|items| {
            let row = |(nth, item): (usize, &BulkItem)| {
                let target = &item.target;
                (nth, target.id.clone(), target.fingerprint)
            };
            items.iter().enumerate().map(row).collect::<Vec<_>>()
        })
    });
    let head = "sticky top-0 bg-sunken px-3 py-1.5 text-start font-medium text-muted";
    view! {
        <div
            class="max-h-64 overflow-auto rounded-lg border border-line"
            role="region"
            aria-label=t::result_per_lock()
            tabindex="0"
        >
            <Table
                titles=vec![t::lock(), t::owner(), t::owner_state(), t::outcome()]
                title_class=head
                class="w-full border-collapse text-start [&_td]:border-t [&_td]:border-line [&_td]:px-3 [&_td]:py-1.5 [&_td]:align-top"
            >
                <For each=move || rows.get() key=Clone::clone let:row>
                    {bulk_release.items.with_untracked(|items| items.get(row.0).cloned()).map(|item| view! { <ItemRow bulk_release nth=row.0 item /> })}
                </For>
            </Table>
        </div>
    }
}

#[component]
fn ItemRow(bulk_release: BulkReleaseState, nth: usize, item: BulkItem) -> impl IntoView {
    let live = Live::expect();
    let id = item.target.id.clone();
    if bulk_release.items.with_untracked(Vec::len) <= MAX_WATCHED {
        live.pin(&id);
    }
    let outcome = Memo::new(move |_| {
        bulk_release.items.with(|items| {
            let item = items.get(nth)?;
            let lock = live.with_locks(|locks| locks.get(&item.target.id).cloned());
            Some(outcome_text(item, lock.as_deref()))
        })
    });
    let advice = Memo::new(move |_| {
        let items = bulk_release.items.read();
        items.get(nth).and_then(|item| item.advice)
    });
    let advice = move || {
        advice.get().map(|level| {
            let tone = tone(level);
            view! {
                <Badge tone title=advice_texts::level_meaning(level)>
                    <span data-level=level.slug()>{advice_texts::short_level(level)}</span>
                </Badge>
            }
        })
    };
    let text = move || {
        let (text, tone) = outcome.get()?;
        Some(view! { <span class=tone.text()>{text}</span> })
    };
    view! {
        <tr>
            <td>
                <LockName key=id.key max_chars=60 />
                <span class="block text-xs text-muted">{id.group}</span>
            </td>
            <td class="wrap-anywhere"><bdi>{item.owner}</bdi></td>
            <td>{advice}</td>
            <td class="wrap-anywhere">{text}</td>
        </tr>
    }
}
