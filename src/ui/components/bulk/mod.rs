//! Releasing many locks by force: the bar that says how many are selected, and the dialog that asks first what would happen.

mod dialog;
mod lines;
mod report;
mod run;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};

use self::dialog::BulkForm;
use self::run::{Phase, Run};
use super::fault_notice::FaultNotice;
use super::selection::Selection;
use crate::domain::Fault;
use crate::domain::bulk::MOST_AT_ONCE;
use crate::ui::calls;
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
    // What is shown may be less than the list has; how much that is changes while somebody selects.
    let counted = Memo::new(move |_| {
        let (count, total) = (selection.count(), live.total());
        let is_a_part = selection.is_all_shown() || count >= MOST_AT_ONCE;
        match is_a_part && count < total && query.with(|query| query.by.is_none()) {
            true => words::count_of(count, total),
            false => words::count(count),
        }
    });
    let offers = Memo::new(move |_| selection.is_all_shown() && selection.count() < live.total());
    let is_picking = RwSignal::new(false);
    let picking = Signal::derive(move || is_picking.get().then(|| words::picking().to_owned()));
    let fault = RwSignal::new(None::<Fault>);
    // Who asks for all and gets none is told so.
    let has_none = RwSignal::new(false);
    let pick_all = move || {
        let path = query.with_untracked(Query::path);
        let search = path.split_once('?').map_or("", |(_, search)| search);
        let asking = calls::pick(search.to_owned());
        is_picking.set(true);
        fault.set(None);
        has_none.set(false);
        spawn_local(async move {
            match asking.await {
                Ok(picked) => {
                    let is_empty = picked.is_empty();
                    selection.replace(picked);
                    has_none.try_set(is_empty);
                }
                Err(why) => {
                    fault.try_set(Some(why));
                }
            }
            is_picking.try_set(false);
        });
    };
    let navigate = use_navigate();
    Effect::new(move || {
        if all_asked.get() {
            pick_all();
            // Once only: who comes back here, or loads the page again, has selected nothing.
            let options = NavigateOptions {
                replace: true,
                scroll: false,
                ..NavigateOptions::default()
            };
            navigate(&query.with_untracked(Query::path), options);
        }
    });
    let why_not = Signal::derive(move || {
        (selection.count() > MOST_AT_ONCE).then(|| words::too_many(MOST_AT_ONCE))
    });
    let has_report = Memo::new(move |_| run.phase.get() == Phase::Over && !open.get());
    let is_shown = Memo::new(move |_| {
        selection.count() > 0 || has_report.get() || has_none.get() || fault.with(Option::is_some)
    });
    let said = move || match selection.count() {
        0 if has_none.get() => words::none_here().to_owned(),
        _ => counted.get(),
    };
    let content =
        Callback::new(move |handle: DialogHandle| view! { <BulkForm run handle /> }.into_any());
    let shown = move || {
        is_shown.get().then(|| view! {
            <section
                class="flex flex-wrap items-center gap-3 rounded-xl border border-line-strong bg-surface px-4 py-2.5 shadow-high"
                aria-label=words::selected()
            >
                <p role="status" class="grow font-medium">{said}</p>
                {move || offers.get().then(|| view! { <Button why_not=picking on_press=move |()| pick_all()>{move || words::select_all_of(live.total(), MOST_AT_ONCE)}</Button> })}
                {move || has_report.get().then(|| view! { <Button on_press=move |()| open.set(true)>{words::report()}</Button> })}
                <Button on_press=move |()| {
                    selection.clear();
                    run.forget();
                    has_none.set(false);
                    fault.set(None);
                }>{words::clear()}</Button>
                {move || (selection.count() > 0).then(|| view! {
                    <Button variant=Variant::Danger why_not on_press=move |()| begin()>{words::release()}</Button>
                })}
                {move || fault.get().map(|fault| view! { <div class="basis-full"><FaultNotice fault /></div> })}
            </section>
        })
    };
    view! {
        {move || shown()}
        <Dialog open labelled_by="bulk-title" children=content />
    }
}
