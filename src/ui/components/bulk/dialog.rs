//! The dialog: what would happen, why, the confirmation, how far it is, and what came of it.

use leptos::ev;
use leptos::prelude::*;

use super::lines::Lines;
use super::report::csv;
use super::run::{Phase, Run};
use crate::ui::components::fault_notice::FaultNotice;
use crate::ui::kit::{Banner, Button, CopyButton, DialogHandle, TextField, Tone, Variant};
use crate::ui::live::Live;
use crate::ui::paths;
use crate::ui::words::bulk as words;

/// What is inside the dialog.
#[component]
pub(super) fn BulkForm(
    /// What is being done.
    run: Run,
    /// Closes the dialog.
    handle: DialogHandle,
) -> impl IntoView {
    let live = Live::expect();
    let sums = Memo::new(move |_| run.sums(live));
    let told = move || {
        let sums = sums.get();
        match run.phase.get() {
            Phase::Idle | Phase::Rehearsing => words::rehearsing().to_owned(),
            Phase::Ready => words::rehearsed(sums.would, sums.left_alone),
            Phase::Running => {
                words::progress(sums.released + sums.partly + sums.left_alone, sums.all)
            }
            Phase::Over => {
                let told = words::over(sums.released, sums.partly, sums.left_alone, sums.not_tried);
                let stopped = if run.stops.get() {
                    words::stopped()
                } else {
                    ""
                };
                format!("{stopped} {told}").trim_start().to_owned()
            }
        }
    };
    // The form stays as it is while the nodes are asked again: what was typed is not lost.
    let part_now = Memo::new(move |_| match run.phase.get() {
        Phase::Idle | Phase::Rehearsing | Phase::Ready => Phase::Ready,
        other @ (Phase::Running | Phase::Over) => other,
    });
    let part = move || match part_now.get() {
        Phase::Idle | Phase::Rehearsing | Phase::Ready => {
            view! { <Deciding run handle /> }.into_any()
        }
        Phase::Running => view! { <Running run /> }.into_any(),
        Phase::Over => view! { <Over run handle /> }.into_any(),
    };
    let count = Memo::new(move |_| run.lines.with(Vec::len));
    view! {
        <div class="flex flex-col gap-4 p-5">
            <h2 id="bulk-title" class="text-lg font-semibold">
                {move || match part_now.get() {
                    Phase::Running => words::title_running(count.get()),
                    Phase::Over => words::title_over(sums.get().released, count.get()),
                    Phase::Idle | Phase::Rehearsing | Phase::Ready => words::title(count.get()),
                }}
            </h2>
            <p role="status" class="font-medium">
                {told}
            </p>
            {move || view! { <Lines run /> }}
            {move || run.fault.get().map(|fault| view! { <FaultNotice fault /> })}
            {part}
        </div>
    }
}

#[component]
fn Deciding(run: Run, handle: DialogHandle) -> impl IntoView {
    let live = Live::expect();
    let typed = RwSignal::new(String::new());
    let sums = Memo::new(move |_| run.sums(live));
    let is_grave = Memo::new(move |_| {
        run.lines
            .with(|lines| lines.iter().any(|line| line.is_grave))
    });
    let phrase = Memo::new(move |_| is_grave.get().then(|| words::phrase(sums.get().would)));
    let why_not = Signal::derive(move || {
        if run.phase.get() != Phase::Ready {
            Some(words::still_asking().to_owned())
        } else if sums.get().would == 0 {
            Some(words::none_left().to_owned())
        } else if run.reason.with(|reason| reason.trim().is_empty()) {
            Some(words::reason_first().to_owned())
        } else {
            let phrase = phrase.get()?;
            (typed.with(|typed| typed.trim() != phrase)).then(|| words::confirm(&phrase))
        }
    });
    let asking = Signal::derive(move || {
        (run.phase.get() == Phase::Rehearsing).then(|| words::still_asking().to_owned())
    });
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        if why_not.with_untracked(Option::is_none) {
            run.release(live);
        }
    };
    let confirm = move || {
        phrase.get().map(|phrase| {
            view! {
                <TextField
                    id="bulk-confirm"
                    label=words::confirm(&phrase)
                    hint=words::confirm_hint()
                    value=typed
                    mono=true
                    required=true
                />
            }
        })
    };
    Effect::new(move |before: Option<String>| {
        let reason = run.reason.get();
        if before.is_some_and(|before| before != reason) {
            run.keep();
        }
        reason
    });
    view! {
        // Its rows are rows of the dialog, so that the last one stays in sight wherever the dialog is scrolled to.
        <form class="contents" on:submit=submit novalidate=true>
            <Banner tone=Tone::Warn announced=false>
                {words::no_undo()}
            </Banner>
            <TextField
                id="bulk-reason"
                label=words::reason()
                hint=words::reason_hint()
                value=run.reason
                required=true
            />
            {confirm}
            <div class="flex flex-wrap justify-end gap-2">
                <Button why_not=asking on_press=move |()| run.rehearse()>
                    {words::rehearse_again()}
                </Button>
                <Button autofocus=true on_press=move |()| handle.close()>
                    {words::cancel()}
                </Button>
                <Button variant=Variant::Danger submits=true why_not>
                    {move || {
                        let sums = sums.get();
                        words::release_some(sums.would, sums.all)
                    }}
                </Button>
            </div>
        </form>
    }
}

#[component]
fn Running(run: Run) -> impl IntoView {
    let live = Live::expect();
    let sums = Memo::new(move |_| run.sums(live));
    let done = move || {
        let sums = sums.get();
        sums.released + sums.partly + sums.left_alone
    };
    let why_not = Signal::derive(move || run.stops.get().then(|| words::stopping().to_owned()));
    view! {
        <progress
            class="h-2 w-full accent-accent"
            aria-label=words::outcome()
            max=move || sums.get().all.to_string()
            value=move || done().to_string()
        ></progress>
        <div class="flex justify-end">
            <Button autofocus=true why_not on_press=move |()| run.stops.set(true)>
                {move || if run.stops.get() { words::stopping() } else { words::stop() }}
            </Button>
        </div>
    }
}

#[component]
fn Over(run: Run, handle: DialogHandle) -> impl IntoView {
    let report = Signal::derive(move || run.lines.with(|lines| csv(lines)));
    let file = move || {
        let text = report.with(|report| paths::segment(report));
        format!("data:text/csv;charset=utf-8,{text}")
    };
    let live = Live::expect();
    let rest = Memo::new(move |_| run.sums(live).not_tried);
    view! {
        <div class="flex flex-wrap items-center justify-end gap-2">
            <CopyButton text=report label=words::copy_report() />
            <a
                href=file
                download="released-locks.csv"
                rel="external"
                class="inline-flex h-8 items-center rounded-md border border-line-strong px-3 font-medium hover:bg-sunken"
            >
                {words::download()}
            </a>
            {move || {
                (rest.get() > 0)
                    .then(|| view! { <Button on_press=move |()| run.rehearse()>{words::rehearse_again()}</Button> })
            }}
            <Button autofocus=true on_press=move |()| handle.close()>
                {words::close()}
            </Button>
        </div>
    }
}
