//! The dialog of a bulk release: dry run, reason, confirmation, progress and result.

use leptos::ev;
use leptos::prelude::*;

use super::bulk_release::{BulkPhase, BulkReleaseState, BulkTotals};
use super::item_table::ItemTable;
use super::report::csv;
use crate::domain::release_advice::AdviceCounts;
use crate::ui::components::advice::tone;
use crate::ui::components::error_notice::ErrorNotice;
use crate::ui::i18n::{bulk as t, punctuation};
use crate::ui::kit::{Badge, Banner, Button, CopyButton, DialogHandle, TextField, Tone, Variant};
use crate::ui::live::Live;
use crate::ui::paths;

/// The content of the dialog.
#[component]
pub(super) fn BulkDialogContent(
    /// The bulk release.
    bulk_release: BulkReleaseState,
    /// The dialog's handle.
    handle: DialogHandle,
) -> impl IntoView {
    let live = Live::expect();
    let totals = Memo::new(move |_| bulk_release.totals(live));
    let status = move || {
        let totals = totals.get();
        match bulk_release.phase.get() {
            BulkPhase::Idle | BulkPhase::DryRun => t::dry_run_in_progress().to_owned(),
            BulkPhase::Confirming => t::dry_run_result(totals.releasable, totals.not_released),
            BulkPhase::Releasing => t::progress(
                totals.released + totals.partly_released + totals.not_released,
                totals.all,
            ),
            BulkPhase::Finished => {
                let summary = t::result(
                    totals.released,
                    totals.partly_released,
                    totals.not_released,
                    totals.not_attempted,
                );
                if bulk_release.is_stop_requested.get() {
                    [t::stopped(), &summary].join(punctuation::sentence_separator())
                } else {
                    summary
                }
            }
        }
    };
    // The form stays mounted during another dry run, so that typed text is not lost.
    let step = Memo::new(move |_| match bulk_release.phase.get() {
        BulkPhase::Idle | BulkPhase::DryRun | BulkPhase::Confirming => BulkPhase::Confirming,
        other @ (BulkPhase::Releasing | BulkPhase::Finished) => other,
    });
    let content = move || match step.get() {
        BulkPhase::Idle | BulkPhase::DryRun | BulkPhase::Confirming => {
            view! { <ConfirmStep bulk_release handle /> }.into_any()
        }
        BulkPhase::Releasing => view! { <ProgressStep bulk_release /> }.into_any(),
        BulkPhase::Finished => view! { <ResultStep bulk_release handle /> }.into_any(),
    };
    let count = Memo::new(move |_| bulk_release.items.with(Vec::len));
    view! {
        <div class="flex flex-col gap-4 p-5">
            <h2 id="bulk-title" class="text-lg font-semibold">
                {move || match step.get() {
                    BulkPhase::Releasing => t::title_running(count.get()),
                    BulkPhase::Finished => t::title_done(totals.get().released, count.get()),
                    BulkPhase::Idle | BulkPhase::DryRun | BulkPhase::Confirming => t::title(count.get()),
                }}
            </h2>
            <p role="status" class="font-medium">
                {status}
            </p>
            <AdviceSummary totals />
            {move || view! { <ItemTable bulk_release /> }}
            {move || bulk_release.error.get().map(|error| view! { <ErrorNotice error /> })}
            {content}
        </div>
    }
}

/// How many of the locks that would be released have an owner that shows signs of life. The highest
/// risk is first, as in the table.
#[component]
fn AdviceSummary(totals: Memo<BulkTotals>) -> impl IntoView {
    let counts = Memo::new(move |_| totals.with(|totals| totals.advice));
    let badges = move || {
        let counts = counts.get();
        (counts != AdviceCounts::default()).then(|| {
            let badge = |(level, count)| {
                view! { <Badge tone=tone(level)>{t::level_count(level, count)}</Badge> }
            };
            let badges = counts.levels().map(badge).collect_view();
            view! { <div id="bulk-advice" class="-mt-2 flex flex-wrap gap-2">{badges}</div> }
        })
    };
    view! { {badges} }
}

#[component]
fn ConfirmStep(bulk_release: BulkReleaseState, handle: DialogHandle) -> impl IntoView {
    let live = Live::expect();
    let typed = RwSignal::new(String::new());
    let totals = Memo::new(move |_| bulk_release.totals(live));
    let needs_confirmation = Memo::new(move |_| {
        bulk_release
            .items
            .with(|items| items.iter().any(|item| item.needs_confirmation))
    });
    let phrase = Memo::new(move |_| {
        needs_confirmation
            .get()
            .then(|| t::confirmation_phrase(totals.get().releasable))
    });
    let disabled_reason = Signal::derive(move || {
        if bulk_release.phase.get() != BulkPhase::Confirming {
            Some(t::querying().to_owned())
        } else if totals.get().releasable == 0 {
            Some(t::none_would_release().to_owned())
        } else if bulk_release.reason.with(|reason| reason.trim().is_empty()) {
            Some(t::reason_required().to_owned())
        } else {
            let phrase = phrase.get()?;
            (typed.with(|typed| typed.trim() != phrase)).then(|| t::confirm(&phrase))
        }
    });
    let retry_disabled_reason = Signal::derive(move || {
        (bulk_release.phase.get() == BulkPhase::DryRun).then(|| t::querying().to_owned())
    });
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        if disabled_reason.with_untracked(Option::is_none) {
            bulk_release.release(live);
        }
    };
    let confirm = move || {
        phrase.get().map(|phrase| {
            view! {
                <TextField
                    id="bulk-confirm"
                    label=t::confirm(&phrase)
                    hint=t::confirm_hint()
                    value=typed
                    mono=true
                    required=true
                />
            }
        })
    };
    Effect::new(move |before: Option<String>| {
        let reason = bulk_release.reason.get();
        if before.is_some_and(|before| before != reason) {
            bulk_release.save_draft();
        }
        reason
    });
    view! {
        // `contents`: the dialog lays out the form's children, so that its last row, the buttons,
        // stays visible wherever the dialog is scrolled.
        <form class="contents" on:submit=submit novalidate=true>
            <Banner tone=Tone::Warn announced=false>
                {t::cannot_be_undone()}
            </Banner>
            <TextField
                id="bulk-reason"
                label=t::reason()
                hint=t::reason_hint()
                value=bulk_release.reason
                required=true
            />
            {confirm}
            <div class="flex flex-wrap justify-end gap-2">
                <Button disabled_reason=retry_disabled_reason on_press=move |()| bulk_release.dry_run()>
                    {t::dry_run_again()}
                </Button>
                <Button autofocus=true on_press=move |()| handle.close()>
                    {t::cancel()}
                </Button>
                <Button variant=Variant::Danger submits=true disabled_reason>
                    {move || {
                        let totals = totals.get();
                        t::release_some(totals.releasable, totals.all)
                    }}
                </Button>
            </div>
        </form>
    }
}

#[component]
fn ProgressStep(bulk_release: BulkReleaseState) -> impl IntoView {
    let live = Live::expect();
    let totals = Memo::new(move |_| bulk_release.totals(live));
    let done = move || {
        let totals = totals.get();
        totals.released + totals.partly_released + totals.not_released
    };
    let disabled_reason = Signal::derive(move || {
        bulk_release
            .is_stop_requested
            .get()
            .then(|| t::stopping().to_owned())
    });
    view! {
        <progress
            class="h-2 w-full accent-accent"
            aria-label=t::outcome()
            max=move || totals.get().all.to_string()
            value=move || done().to_string()
        ></progress>
        <div class="flex justify-end">
            <Button autofocus=true disabled_reason on_press=move |()| bulk_release.is_stop_requested.set(true)>
                {move || if bulk_release.is_stop_requested.get() { t::stopping() } else { t::stop() }}
            </Button>
        </div>
    }
}

#[component]
fn ResultStep(bulk_release: BulkReleaseState, handle: DialogHandle) -> impl IntoView {
    let report = Signal::derive(move || bulk_release.items.with(|items| csv(items)));
    let file = move || {
        let text = report.with(|report| paths::segment(report));
        format!("data:text/csv;charset=utf-8,{text}")
    };
    let live = Live::expect();
    let not_attempted = Memo::new(move |_| bulk_release.totals(live).not_attempted);
    view! {
        <div class="flex flex-wrap items-center justify-end gap-2">
            <CopyButton text=report label=t::copy_report() />
            <a
                href=file
                download="released-locks.csv"
                rel="external"
                class="inline-flex h-8 items-center rounded-md border border-line-strong px-3 font-medium hover:bg-sunken"
            >
                {t::download()}
            </a>
            {move || {
                (not_attempted.get() > 0)
                    .then(|| view! { <Button on_press=move |()| bulk_release.dry_run()>{t::dry_run_again()}</Button> })
            }}
            <Button autofocus=true on_press=move |()| handle.close()>
                {t::close()}
            </Button>
        </div>
    }
}
