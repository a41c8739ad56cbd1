//! A line chart over time, with labelled thresholds and a marker for the current time.

use leptos::prelude::*;

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
    ends: Signal<(String, String)>,
    /// The horizontal and the vertical scale.
    #[prop(into)]
    reach: Signal<(Scale, Scale)>,
    /// The segments.
    #[prop(into)]
    strokes: Signal<Vec<Stroke>>,
    /// The thresholds.
    #[prop(into)]
    levels: Signal<Vec<Level>>,
    /// The current time on the horizontal axis.
    #[prop(into)]
    present: Signal<i64>,
    /// The label, the column titles and the rows of the table.
    table: (String, Vec<&'static str>, Signal<Vec<Vec<String>>>),
) -> impl IntoView {
    let up = |reach: Scale, at: i64| {
        let usable = HEIGHT - 2 * MARGIN;
        (HEIGHT - MARGIN - reach.position(at) * usable / 1_000).to_string()
    };
    let drawn = move || {
        let (right, high) = reach.get();
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
        let (_, high) = reach.get();
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
    let now = move || percent(reach.get().0.position(present.get()));
    let now_too = now;
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
    let (as_table, columns, rows) = table;
    view! {
        <p class="mb-1 flex flex-wrap gap-x-4 text-xs">{legend}</p>
        <Chart id title summary ends as_table columns rows>
            <svg class="block w-full rounded bg-sunken" width="100%" height=HEIGHT.to_string() aria-hidden="true">
                {across}
                <line class="text-muted" x1=now y1="0" x2=now_too y2=HEIGHT.to_string() stroke="currentColor" stroke-width="1"></line>
                {drawn}
            </svg>
        </Chart>
    }
}
