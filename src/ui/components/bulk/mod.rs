//! Releasing many locks by force: the bar that says how many are selected, and the dialog that asks first what would happen.

mod dialog;
mod lines;
mod report;
mod run;

use leptos::prelude::*;

use self::dialog::BulkForm;
use self::run::{Phase, Run};
use super::selection::Selection;
use crate::domain::bulk::MOST_AT_ONCE;
use crate::ui::kit::{Button, Dialog, DialogHandle, Variant, draft};
use crate::ui::live::Live;
use crate::ui::words::bulk as words;

/// Says how many locks are selected, and what can be done with them; there while there are any.
#[component]
pub fn BulkBar() -> impl IntoView {
    let Some(selection) = use_context::<Selection>() else {
        return ().into_any();
    };
    let live = Live::expect();
    let open = RwSignal::new(false);
    // It outlives the dialog: what was done is told also to whoever closed it in the middle.
    let run = Run::new(open);
    let begin = move || {
        run.begin(live, selection.picked());
        open.set(true);
    };
    // Somebody was signed out in the middle of it, or loaded the page again.
    Effect::new(move |_| {
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
    let why_not = Signal::derive(move || {
        (selection.count() > MOST_AT_ONCE).then(|| words::too_many(MOST_AT_ONCE))
    });
    let has_report = Memo::new(move |_| run.phase.get() == Phase::Over && !open.get());
    let is_shown = Memo::new(move |_| selection.count() > 0 || has_report.get());
    let content =
        Callback::new(move |handle: DialogHandle| view! { <BulkForm run handle /> }.into_any());
    let shown = move || {
        is_shown.get().then(|| view! {
            <section
                class="sticky bottom-[calc(var(--nav-edge,0px)+0.75rem)] z-20 flex flex-wrap items-center gap-3 rounded-xl border border-line-strong bg-surface px-4 py-2.5 shadow-high"
                aria-label=words::selected()
            >
                <p role="status" class="grow font-medium">{move || words::count(selection.count())}</p>
                {move || has_report.get().then(|| view! { <Button on_press=move |()| open.set(true)>{words::report()}</Button> }.into_any())}
                <Button on_press=move |()| {
                    selection.clear();
                    run.forget();
                }>{words::clear()}</Button>
                {move || (selection.count() > 0).then(|| view! {
                    <Button variant=Variant::Danger why_not on_press=move |()| begin()>{words::release()}</Button>
                }.into_any())}
            </section>
        }.into_any())
    };
    view! {
        {shown}
        <Dialog open labelled_by="bulk-title" children=content />
    }
    .into_any()
}
