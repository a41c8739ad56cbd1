//! Bulk force release: the bar with the number of selected locks, and the dialog, which starts with
//! a dry run.

mod bulk_release;
mod dialog;
mod item_table;
mod report;
mod select_all_request;

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use self::bulk_release::{BulkPhase, BulkReleaseState};
use self::dialog::BulkDialogContent;
use self::select_all_request::{SelectAllButton, SelectAllRequest, SelectionCount};
use super::error_notice::ErrorNotice;
use super::selection::Selection;
use crate::domain::bulk_release::MAX_BULK_RELEASE;
use crate::ui::i18n::bulk as t;
use crate::ui::kit::{Button, Dialog, DialogHandle, Variant, draft};
use crate::ui::lazy::{lazy, lazy_view};
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;
use crate::ui::paths;

/// The number of selected locks with the bulk actions. Its code is loaded with the first selection.
#[component]
pub fn BulkBar(
    /// The query of the list.
    query: Memo<LocksQuery>,
) -> impl IntoView {
    let Some(selection) = use_context::<Selection>() else {
        return ().into_any();
    };
    let is_requested = RwSignal::new(false);
    let hash = use_location().hash;
    let is_select_all_requested = Memo::new(move |_| hash.with(|hash| hash == paths::SELECT_ALL));
    Effect::new(move || {
        // A saved draft means that the session expired during a bulk release. Setting the signal
        // again would render the bar again.
        let is_needed = selection.count() > 0
            || is_select_all_requested.get()
            || draft::exists(bulk_release::DRAFT_KEY);
        if is_needed && !is_requested.get_untracked() {
            is_requested.set(true);
        }
    });
    let bar_view = move || {
        is_requested
            .get()
            .then(|| lazy_view(move || selection_bar(selection, query, is_select_all_requested)))
    };
    view! { <div class="sticky bottom-[calc(var(--nav-edge,0px)+0.75rem)] z-20 empty:hidden">{move || bar_view()}</div> }.into_any()
}

lazy! { dialogs: fn selection_bar(selection: Selection, query: Memo<LocksQuery>, is_select_all_requested: Memo<bool>) -> view! { <SelectionBar selection query is_select_all_requested /> } }

#[component]
fn SelectionBar(
    selection: Selection,
    query: Memo<LocksQuery>,
    is_select_all_requested: Memo<bool>,
) -> impl IntoView {
    let live = Live::expect();
    let open = RwSignal::new(false);
    // Outlives the dialog, so that the report is available after it was closed.
    let bulk_release = BulkReleaseState::new(open);
    let start = move || {
        bulk_release.start(live, selection.selected());
        open.set(true);
    };
    // Continues a release that was interrupted by a sign-out or a reload.
    Effect::new(move || {
        if let Some((targets, reason)) = bulk_release::saved_draft() {
            selection.add(targets);
            bulk_release.reason.set(reason);
            start();
        }
    });
    Effect::new(move |was_open: Option<bool>| {
        let is_open = open.get();
        if was_open == Some(true) && !is_open {
            draft::discard(bulk_release::DRAFT_KEY);
            if bulk_release.phase.get_untracked() == BulkPhase::Finished {
                selection.clear();
            }
        }
        is_open
    });
    let select_all = SelectAllRequest::new(selection, query);
    select_all.start_when(is_select_all_requested);
    let disabled_reason = Signal::derive(move || {
        (selection.count() > MAX_BULK_RELEASE).then(|| t::too_many(MAX_BULK_RELEASE))
    });
    let has_report =
        Memo::new(move |_| bulk_release.phase.get() == BulkPhase::Finished && !open.get());
    let is_shown =
        Memo::new(move |_| selection.count() > 0 || has_report.get() || select_all.has_result());
    let clear = move |()| {
        selection.clear();
        bulk_release.reset();
        select_all.reset();
    };
    let content = Callback::new(move |handle: DialogHandle| {
        view! { <BulkDialogContent bulk_release handle /> }.into_any()
    });
    let bar_view = move || {
        is_shown.get().then(|| view! {
            <section
                class="flex flex-wrap items-center gap-3 rounded-xl border border-line-strong bg-surface px-4 py-2.5 shadow-high"
                aria-label=t::selected()
            >
                <SelectionCount selection query found_none=select_all.found_none />
                <SelectAllButton selection request=select_all />
                {move || has_report.get().then(|| view! { <Button on_press=move |()| open.set(true)>{t::last_report()}</Button> })}
                <Button on_press=clear>{t::clear()}</Button>
                {move || (selection.count() > 0).then(|| view! {
                    <Button variant=Variant::Danger disabled_reason on_press=move |()| start()>{t::release()}</Button>
                })}
                {move || select_all.error.get().map(|error| view! { <div class="basis-full"><ErrorNotice error /></div> })}
            </section>
        })
    };
    view! {
        {move || bar_view()}
        <Dialog open labelled_by="bulk-title" children=content />
    }
}
