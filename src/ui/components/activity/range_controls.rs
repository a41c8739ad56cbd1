//! The controls of the range: lengths that end now, moving and zooming, and a time to go to. All of
//! them are links and forms, so that they work before hydration and without JavaScript.

use leptos::prelude::*;
use strum::VariantArray as _;

use super::chart_state::{MOVE_PERCENT, ZOOM_IN_PERCENT, ZOOM_OUT_PERCENT};
use crate::domain::activity::time_range::{RangeLength, RangeSelection, TimeRange};
use crate::ui::activity_view::ActivityView;
use crate::ui::format;
use crate::ui::i18n::activity as t;
use crate::ui::kit::{Link, field::CONTROL};

const LENGTH_LINK: &str = "rounded-md px-1.5 sm:px-2.5 py-1 text-muted hover:text-ink aria-[current]:bg-accent-soft aria-[current]:font-medium aria-[current]:text-ink";
const STEP_LINK: &str = "inline-flex h-8 min-w-8 items-center justify-center rounded-md border border-line-strong bg-surface px-2 hover:bg-sunken";

/// Links that select, move and scale the range.
#[component]
pub fn RangeControls(
    /// The state of the page.
    view: Memo<ActivityView>,
    /// The displayed range.
    range: Memo<TimeRange>,
) -> impl IntoView {
    let lengths = RangeLength::VARIANTS.iter().map(|&length| {
        let selection = RangeSelection::Last(length);
        let href = Signal::derive(move || {
            let view = view.get();
            ActivityView { range: selection, ..view }.path()
        });
        let current = Signal::derive(move || view.with(|view| view.range == selection));
        view! { <Link href class=LENGTH_LINK current no_scroll=true>{t::range_length(length)}</Link> }
    });
    let step = move |sign: &'static str,
                     label: &'static str,
                     change: fn(TimeRange) -> TimeRange| {
        let href =
            Signal::derive(move || view.with(|view| view.with_range(change(range.get())).path()));
        view! {
            <Link href class=STEP_LINK no_scroll=true title=label.to_owned()>
                <span aria-hidden="true">{sign}</span>
                <span class="sr-only">{label}</span>
            </Link>
        }
    };
    let shown = move || {
        let range = range.get();
        t::from_to(
            format::date_time_digits(range.from),
            format::date_time(range.to),
        )
    };
    view! {
        <div class="mb-2 flex flex-wrap items-center gap-x-2 gap-y-2 sm:gap-x-3">
            <nav aria-label=t::range() class="flex flex-wrap items-center gap-1">
                {lengths.collect_view()}
            </nav>
            <div class="flex gap-1">
                {step("←", t::earlier(), |range| range.shifted(-MOVE_PERCENT))}
                {step("−", t::zoom_out(), |range| range.scaled(ZOOM_OUT_PERCENT))}
                {step("+", t::zoom_in(), |range| range.scaled(ZOOM_IN_PERCENT))}
                {step("→", t::later(), |range| range.shifted(MOVE_PERCENT))}
            </div>
            <p class="text-xs tabular-nums text-muted">{shown}</p>
        </div>
    }
}

/// A form that goes to a time of day, and one for any range.
#[component]
pub fn TimeForm(
    /// The state of the page.
    view: Memo<ActivityView>,
) -> impl IntoView {
    let hidden = move || {
        let fields = view.with(ActivityView::filter_fields);
        let field = |(name, value)| view! { <input type="hidden" name=name value=value /> };
        fields.into_iter().map(field).collect_view()
    };
    let page = Signal::derive(move || view.with(ActivityView::pathname));
    let button =
        "h-9 rounded-md border border-line-strong bg-surface px-3 font-medium hover:bg-sunken";
    let label = "flex flex-col gap-1 text-xs text-muted";
    view! {
        <form action=page method="get" class="flex items-center gap-2">
            {hidden}
            <input type="time" name="at" required=true aria-label=t::time_utc() title=t::time_utc() class=format!("{CONTROL} w-28") />
            <button type="submit" class=format!("{button} whitespace-nowrap")>
                {t::go_to_time()}
            </button>
        </form>
        <details class="relative">
            <summary class="inline-flex h-9 items-center text-muted hover:text-ink">{t::custom_range()}</summary>
            <form action=page method="get" class="mt-2 flex flex-wrap items-end gap-2">
                {hidden}
                <label class=label>
                    {t::from_utc()} <input type="datetime-local" name="from" required=true class=CONTROL />
                </label>
                <label class=label>
                    {t::to_utc()} <input type="datetime-local" name="to" required=true class=CONTROL />
                </label>
                <button type="submit" class=button>
                    {t::show()}
                </button>
            </form>
        </details>
    }
}
