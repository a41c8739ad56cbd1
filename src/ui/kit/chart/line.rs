//! A line chart over time, with labelled thresholds and a marker for the current time.

use leptos::prelude::*;
use wasm_bindgen::JsCast;

use super::{Chart, Scale, percent};
use crate::ui::kit::Tone;

/// A line segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke {
    /// The start: horizontal and vertical value.
    pub from: (i64, i64),
    /// The end.
    pub to: (i64, i64),
    /// Whether the segment is a forecast.
    pub is_expected: bool,
}

/// A labelled threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// The value.
    pub at: i64,
    /// The label.
    pub label: String,
    /// The colour.
    pub tone: Tone,
}

/// The height of the picture and its vertical margin, in pixels.
const HEIGHT: i64 = 120;
const MARGIN: i64 = 6;

/// A line chart over time.
#[component]
pub fn LineChart(
    /// A unique prefix for element ids.
    id: &'static str,
    /// The title.
    #[prop(into)]
    title: String,
    /// The summary, in a sentence.
    #[prop(into)]
    summary: Signal<String>,
    /// The labels at both ends of the horizontal axis.
    #[prop(into)]
    axis_labels: Signal<(String, String)>,
    /// The horizontal and the vertical scale.
    #[prop(into)]
    scales: Signal<(Scale, Scale)>,
    /// The segments.
    #[prop(into)]
    strokes: Signal<Vec<Stroke>>,
    /// The thresholds.
    #[prop(into)]
    levels: Signal<Vec<Level>>,
    /// The current time on the horizontal axis, and its label.
    #[prop(into)]
    present: Signal<i64>,
    /// The label of the current time.
    present_label: &'static str,
    /// The labelled values of the vertical axis.
    #[prop(into)]
    ticks: Signal<Vec<(i64, String)>>,
    /// The text for a time under the pointer.
    #[prop(into)]
    read_out: Callback<i64, Option<String>>,
    /// The label, the column titles and the rows of the table.
    table: (String, Vec<&'static str>, Signal<Vec<Vec<String>>>),
) -> impl IntoView {
    let up = |scale: Scale, at: i64| {
        let usable = HEIGHT - 2 * MARGIN;
        (HEIGHT - MARGIN - scale.position(at) * usable / 1_000).to_string()
    };
    let drawn = move || {
        let (right, high) = scales.get();
        let line = |stroke: &Stroke| {
            let dashes = stroke.is_expected.then_some("4 4");
            view! {
                <line
                    class="text-held"
                    x1=percent(right.position(stroke.from.0))
                    y1=up(high, stroke.from.1)
                    x2=percent(right.position(stroke.to.0))
                    y2=up(high, stroke.to.1)
                    stroke="currentColor"
                    stroke-width="2"
                    stroke-linecap="round"
                    stroke-dasharray=dashes
                ></line>
            }
        };
        strokes.with(|strokes| strokes.iter().map(line).collect_view())
    };
    let across = move || {
        let (_, high) = scales.get();
        let line = |level: &Level| {
            view! {
                <line
                    class=level.tone.text()
                    x1="0"
                    y1=up(high, level.at)
                    x2="100%"
                    y2=up(high, level.at)
                    stroke="currentColor"
                    stroke-width="1"
                    stroke-dasharray="2 3"
                ></line>
            }
        };
        levels.with(|levels| levels.iter().map(line).collect_view())
    };
    let now = move || percent(scales.get().0.position(present.get()));
    let (now_too, now_label) = (now, now);
    let legend = move || {
        let word = |level: &Level| {
            let class = format!("inline-flex items-center gap-1 {}", level.tone.text());
            view! {
                <span class=class>
                    <span aria-hidden="true">"┄"</span>
                    {level.label.clone()}
                </span>
            }
        };
        levels.with(|levels| levels.iter().map(word).collect_view())
    };
    let tick_lines = move || {
        let (_, high) = scales.get();
        let tick = |(at, label): &(i64, String)| {
            let y = up(high, *at);
            // The label of the highest value is below its line, the others are above theirs.
            let offset = if *at == high.until { "12" } else { "-4" };
            view! {
                <line class="text-line" x1="0" y1=y.clone() x2="100%" y2=y.clone() stroke="currentColor" stroke-width="1"></line>
                <text class="text-[0.6875rem] text-muted" x="4" y=y dy=offset fill="currentColor">{label.clone()}</text>
            }
        };
        ticks.with(|ticks| ticks.iter().map(tick).collect_view())
    };
    let pointed = RwSignal::new(None::<i64>);
    let point = move |event: leptos::ev::PointerEvent| {
        let target = event.current_target();
        let plot = target.and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        let width = plot.map_or(1, |plot| plot.client_width().max(1));
        let (right, _) = scales.get_untracked();
        let length = right.until.saturating_sub(right.from);
        let at = length.saturating_mul(i64::from(event.offset_x())) / i64::from(width);
        pointed.set(Some(right.from + at));
    };
    let pointer_line = move || {
        let x = percent(scales.get().0.position(pointed.get()?));
        Some(
            view! { <line class="text-ink" x1=x.clone() y1="0" x2=x y2=HEIGHT.to_string() stroke="currentColor" stroke-width="1"></line> },
        )
    };
    let pointed_text = move || read_out.run(pointed.get()?);
    let (as_table, columns, rows) = table;
    view! {
        <p class="mb-1 flex min-h-4 flex-wrap gap-x-4 text-xs">
            {legend}
            <span class="ms-auto text-ink tabular-nums" aria-hidden="true">{pointed_text}</span>
        </p>
        <Chart id title summary axis_labels as_table columns rows>
            <div on:pointermove=point on:pointerleave=move |_| pointed.set(None)>
            <svg class="pointer-events-none block w-full rounded bg-sunken" width="100%" height=HEIGHT.to_string() aria-hidden="true">
                {tick_lines}
                {across}
                <line class="text-muted" x1=now y1="0" x2=now_too y2=HEIGHT.to_string() stroke="currentColor" stroke-width="1"></line>
                {drawn}
                <text
                    class="stroke-sunken stroke-[4px] text-[0.6875rem] text-muted [paint-order:stroke]"
                    x=now_label
                    y="12"
                    dx="-4"
                    text-anchor="end"
                    fill="currentColor"
                >
                    {present_label}
                </text>
                {pointer_line}
            </svg>
            </div>
        </Chart>
    }
}
