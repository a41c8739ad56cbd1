//! The locks of a bulk release with their outcomes, one per row.

use leptos::prelude::*;

use super::bulk_release::{BulkItem, BulkReleaseState};
use super::report::outcome_text;
use crate::ui::components::lock_name::LockName;
use crate::ui::i18n::bulk as t;
use crate::ui::kit::Table;
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
    let count = Memo::new(move |_| bulk_release.items.with(Vec::len));
    let head = "sticky top-0 bg-sunken px-3 py-1.5 text-start font-medium text-muted";
    view! {
        <div
            class="max-h-64 overflow-auto rounded-lg border border-line"
            role="region"
            aria-label=t::result_per_lock()
            tabindex="0"
        >
            <Table
                titles=vec![t::lock(), t::owner(), t::outcome()]
                title_class=head
                class="w-full border-collapse text-start [&_td]:border-t [&_td]:border-line [&_td]:px-3 [&_td]:py-1.5 [&_td]:align-top"
            >
                <For each=move || 0..count.get() key=|nth| *nth let:nth>
                    {bulk_release.items.with_untracked(|items| items.get(nth).cloned()).map(|item| view! { <ItemRow bulk_release nth item /> })}
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
            <td class="wrap-anywhere">{text}</td>
        </tr>
    }
}
