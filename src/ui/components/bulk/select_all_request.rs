//! Selects all locks of the list, including those that are not loaded.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::domain::OperationError;
use crate::domain::bulk_release::MAX_BULK_RELEASE;
use crate::ui::calls;
use crate::ui::components::selection::Selection;
use crate::ui::i18n::bulk as t;
use crate::ui::kit::{Button, use_replace_address};
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;

/// A request for all locks of the list. A copyable handle.
#[derive(Clone, Copy)]
pub(super) struct SelectAllRequest {
    selection: Selection,
    query: Memo<LocksQuery>,
    is_loading: RwSignal<bool>,
    /// The error of the last request.
    pub(super) error: RwSignal<Option<OperationError>>,
    /// Whether the last request found no lock, which the bar reports.
    pub(super) found_none: RwSignal<bool>,
}

impl SelectAllRequest {
    pub(super) fn new(selection: Selection, query: Memo<LocksQuery>) -> Self {
        Self {
            selection,
            query,
            is_loading: RwSignal::new(false),
            error: RwSignal::new(None),
            found_none: RwSignal::new(false),
        }
    }

    /// Whether the last request has a result to report.
    pub(super) fn has_result(self) -> bool {
        self.found_none.get() || self.error.with(Option::is_some)
    }

    /// Discards the result.
    pub(super) fn reset(self) {
        self.found_none.set(false);
        self.error.set(None);
    }

    fn start(self) {
        let path = self.query.with_untracked(LocksQuery::path);
        let search = path.split_once('?').map_or("", |(_, search)| search);
        let request = calls::select_releasable(search.to_owned());
        self.is_loading.set(true);
        self.reset();
        spawn_local(async move {
            match request.await {
                Ok(targets) => {
                    let is_empty = targets.is_empty();
                    self.selection.replace(targets);
                    self.found_none.try_set(is_empty);
                }
                Err(error) => {
                    self.error.try_set(Some(error));
                }
            }
            self.is_loading.try_set(false);
        });
    }

    /// Starts when the page's URL requests it.
    pub(super) fn start_when(self, is_requested: Memo<bool>) {
        let go = use_replace_address();
        Effect::new(move || {
            if is_requested.get() {
                self.start();
                // Removed from the URL, so that going back or reloading does not select everything
                // again.
                go.run(self.query.with_untracked(LocksQuery::path));
            }
        });
    }
}

/// The number of selected locks, and of the locks in the list.
#[component]
pub(super) fn SelectionCount(
    selection: Selection,
    query: Memo<LocksQuery>,
    found_none: RwSignal<bool>,
) -> impl IntoView {
    let live = Live::expect();
    // The total is shown only while the selection may be a part of the list. It changes while the
    // user selects.
    let counted = Memo::new(move |_| {
        let (count, total) = (selection.count(), live.total());
        let may_be_partial = selection.has_all_loaded() || count >= MAX_BULK_RELEASE;
        match may_be_partial && count < total && query.with(|query| query.group_by.is_none()) {
            true => t::count_of(count, total),
            false => t::count(count),
        }
    });
    let text = move || match selection.count() {
        0 if found_none.get() => t::none_releasable().to_owned(),
        _ => counted.get(),
    };
    view! { <p role="status" class="grow font-medium">{text}</p> }
}

/// Offers to select the whole list if all loaded locks are selected.
#[component]
pub(super) fn SelectAllButton(selection: Selection, request: SelectAllRequest) -> impl IntoView {
    let live = Live::expect();
    let is_offered =
        Memo::new(move |_| selection.has_all_loaded() && selection.count() < live.total());
    let disabled_reason =
        Signal::derive(move || request.is_loading.get().then(|| t::picking().to_owned()));
    move || {
        is_offered.get().then(|| {
            view! {
                <Button disabled_reason on_press=move |()| request.start()>
                    {move || t::select_all_of(live.total(), MAX_BULK_RELEASE)}
                </Button>
            }
        })
    }
}
