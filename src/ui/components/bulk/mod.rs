//! Releasing many locks by force: the bar that says how many are selected, and the dialog that asks first what would happen.

mod dialog;
mod lines;
mod report;
mod run;
mod select_all;

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use self::dialog::BulkForm;
use self::run::{Phase, Run};
use self::select_all::{Count, SelectAllButton, SelectionOfAll};
use super::fault_notice::FaultNotice;
use super::selection::Selection;
use crate::domain::bulk::MOST_AT_ONCE;
use crate::ui::kit::{Button, Dialog, DialogHandle, Variant, draft};
use crate::ui::lazy::{lazy, lazy_view};
use crate::ui::live::Live;
use crate::ui::paths;
use crate::ui::query::Query;
use crate::ui::words::bulk as words;

/// Says how many locks are selected, and what can be done with them; fetched when the first one is.
#[component]
pub fn BulkBar(
    /// The list that they are picked from.
    query: Memo<Query>,
) -> impl IntoView {
    let Some(selection) = use_context::<Selection>() else {
        return ().into_any();
    };
    let is_wanted = RwSignal::new(false);
    let hash = use_location().hash;
    let all_asked = Memo::new(move |_| hash.with(|hash| hash == paths::SELECT_ALL));
    Effect::new(move || {
        // Somebody may have been signed out in the middle of it. Once only: setting it again would draw the bar anew.
        let is_needed = selection.count() > 0 || all_asked.get() || draft::is_kept(run::DRAFT);
        if is_needed && !is_wanted.get_untracked() {
            is_wanted.set(true);
        }
    });
    let shown = move || {
        is_wanted
            .get()
            .then(|| lazy_view(move || bar(selection, query, all_asked)))
    };
    view! { <div class="sticky bottom-[calc(var(--nav-edge,0px)+0.75rem)] z-20 empty:hidden">{move || shown()}</div> }.into_any()
}

lazy! { dialogs: fn bar(selection: Selection, query: Memo<Query>, all_asked: Memo<bool>) -> view! { <Bar selection query all_asked /> } }

#[component]
fn Bar(selection: Selection, query: Memo<Query>, all_asked: Memo<bool>) -> impl IntoView {
    let live = Live::expect();
    let open = RwSignal::new(false);
    // It outlives the dialog: what was done is told also to whoever closed it in the middle.
    let run = Run::new(open);
    let begin = move || {
        run.begin(live, selection.picked());
        open.set(true);
    };
    // Somebody was signed out in the middle of it, or loaded the page again.
    Effect::new(move || {
        if let Some((picked, reason)) = run::kept() {
            selection.add(picked);
            run.reason.set(reason);
            begin();
        }
    });
    Effect::new(move |was_open: Option<bool>| {
        let is_open = open.get();
        if was_open == Some(true) && !is_open {
            draft::forget(run::DRAFT);
            if run.phase.get_untracked() == Phase::Over {
                selection.clear();
            }
        }
        is_open
    });
    let all = SelectionOfAll::new(selection, query);
    all.begin_when(all_asked);
    let why_not = Signal::derive(move || {
        (selection.count() > MOST_AT_ONCE).then(|| words::too_many(MOST_AT_ONCE))
    });
    let has_report = Memo::new(move |_| run.phase.get() == Phase::Over && !open.get());
    let is_shown = Memo::new(move |_| selection.count() > 0 || has_report.get() || all.has_news());
    let clear = move |()| {
        selection.clear();
        run.forget();
        all.forget();
    };
    let content =
        Callback::new(move |handle: DialogHandle| view! { <BulkForm run handle /> }.into_any());
    let shown = move || {
        is_shown.get().then(|| view! {
            <section
                class="flex flex-wrap items-center gap-3 rounded-xl border border-line-strong bg-surface px-4 py-2.5 shadow-high"
                aria-label=words::selected()
            >
                <Count selection query has_none=all.has_none />
                <SelectAllButton selection all />
                {move || has_report.get().then(|| view! { <Button on_press=move |()| open.set(true)>{words::report()}</Button> })}
                <Button on_press=clear>{words::clear()}</Button>
                {move || (selection.count() > 0).then(|| view! {
                    <Button variant=Variant::Danger why_not on_press=move |()| begin()>{words::release()}</Button>
                })}
                {move || all.fault.get().map(|fault| view! { <div class="basis-full"><FaultNotice fault /></div> })}
            </section>
        })
    };
    view! {
        {move || shown()}
        <Dialog open labelled_by="bulk-title" children=content />
    }
}
