//! Selecting all locks of the list, of which a page shows only a part.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::domain::Fault;
use crate::domain::bulk::MOST_AT_ONCE;
use crate::ui::calls;
use crate::ui::components::selection::Selection;
use crate::ui::kit::{Button, use_replace_address};
use crate::ui::live::Live;
use crate::ui::query::Query;
use crate::ui::words::bulk as words;

/// Asks the server for all locks of the list, to select them. A handle: copy it freely.
#[derive(Clone, Copy)]
pub(super) struct SelectionOfAll {
    selection: Selection,
    query: Memo<Query>,
    is_picking: RwSignal<bool>,
    /// Why they could not be selected.
    pub(super) fault: RwSignal<Option<Fault>>,
    /// Whether there were none: who asks for all and gets none is told so.
    pub(super) has_none: RwSignal<bool>,
}

impl SelectionOfAll {
    pub(super) fn new(selection: Selection, query: Memo<Query>) -> Self {
        Self {
            selection,
            query,
            is_picking: RwSignal::new(false),
            fault: RwSignal::new(None),
            has_none: RwSignal::new(false),
        }
    }

    /// Whether there is something to be told of the last attempt.
    pub(super) fn has_news(self) -> bool {
        self.has_none.get() || self.fault.with(Option::is_some)
    }

    /// Nothing is told any more.
    pub(super) fn forget(self) {
        self.has_none.set(false);
        self.fault.set(None);
    }

    fn begin(self) {
        let path = self.query.with_untracked(Query::path);
        let search = path.split_once('?').map_or("", |(_, search)| search);
        let asking = calls::pick(search.to_owned());
        self.is_picking.set(true);
        self.forget();
        spawn_local(async move {
            match asking.await {
                Ok(picked) => {
                    let is_empty = picked.is_empty();
                    self.selection.replace(picked);
                    self.has_none.try_set(is_empty);
                }
                Err(why) => {
                    self.fault.try_set(Some(why));
                }
            }
            self.is_picking.try_set(false);
        });
    }

    /// Begins where the address of the page asks for it.
    pub(super) fn begin_when(self, is_asked: Memo<bool>) {
        let go = use_replace_address();
        Effect::new(move || {
            if is_asked.get() {
                self.begin();
                // Once only: who comes back here, or loads the page again, has selected nothing.
                go.run(self.query.with_untracked(Query::path));
            }
        });
    }
}

/// How many locks are selected, and of how many.
#[component]
pub(super) fn Count(
    selection: Selection,
    query: Memo<Query>,
    has_none: RwSignal<bool>,
) -> impl IntoView {
    let live = Live::expect();
    // What is shown may be less than the list has; how much that is changes while somebody selects.
    let counted = Memo::new(move |_| {
        let (count, total) = (selection.count(), live.total());
        let is_a_part = selection.is_all_shown() || count >= MOST_AT_ONCE;
        match is_a_part && count < total && query.with(|query| query.by.is_none()) {
            true => words::count_of(count, total),
            false => words::count(count),
        }
    });
    let said = move || match selection.count() {
        0 if has_none.get() => words::none_here().to_owned(),
        _ => counted.get(),
    };
    view! { <p role="status" class="grow font-medium">{said}</p> }
}

/// Offers to select all of the list where all that are shown are selected.
#[component]
pub(super) fn SelectAllButton(selection: Selection, all: SelectionOfAll) -> impl IntoView {
    let live = Live::expect();
    let is_offered =
        Memo::new(move |_| selection.is_all_shown() && selection.count() < live.total());
    let picking = Signal::derive(move || all.is_picking.get().then(|| words::picking().to_owned()));
    move || {
        is_offered.get().then(|| {
            view! {
                <Button why_not=picking on_press=move |()| all.begin()>
                    {move || words::select_all_of(live.total(), MOST_AT_ONCE)}
                </Button>
            }
        })
    }
}
