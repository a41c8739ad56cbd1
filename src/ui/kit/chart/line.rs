//! A chart of strokes over time, with levels that mean something and the present as a line.

use leptos::prelude::*;

use super::{Chart, Reach, share};
use crate::ui::kit::Tone;

/// One stroke, from one point to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke {
    /// Where it begins: to the right, and up.
    pub from: (i64, i64),
    /// Where it ends.
    pub to: (i64, i64),
    /// Whether it is not there yet, only expected.
    pub is_expected: bool,
}

/// A height that means something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// How high.
    pub at: i64,
    /// What it means.
    pub words: String,
    /// In which colour.
    pub tone: Tone,
}

/// How high the picture is, in pixels, and how much of that is left free above and below.
const HIGH: i64 = 120;
const EDGE: i64 = 6;

/// Strokes over time.
#[component]
pub fn LineChart(
    /// What tells its parts from those of other charts on the page.
    id: &'static str,
    /// What it is called.
    #[prop(into)]
    title: String,
    /// What it shows, in a sentence.
    #[prop(into)]
    summary: Signal<String>,
    /// What stands at the beginning and at the end of its lower side.
    #[prop(into)]
    ends: Signal<(String, String)>,
    /// What it reaches over: to the right, and up.
    #[prop(into)]
    reach: Signal<(Reach, Reach)>,
    /// The strokes.
    #[prop(into)]
    strokes: Signal<Vec<Stroke>>,
    /// The levels.
    #[prop(into)]
    levels: Signal<Vec<Level>>,
    /// Where the present is.
    #[prop(into)]
    present: Signal<i64>,
    /// What the table is called, its columns and its rows.
    table: (String, Vec<&'static str>, Signal<Vec<Vec<String>>>),
) -> impl IntoView {
    let up = |reach: Reach, at: i64| {
        let usable = HIGH - 2 * EDGE;
        (HIGH - EDGE - reach.place(at) * usable / 1_000).to_string()
    };
    let drawn = move || {
        let (right, high) = reach.get();
        let line = |stroke: &Stroke| {
            let dashes = stroke.is_expected.then_some("4 4");
            view! {
                <line
                    class="text-held"
                    x1=share(right.place(stroke.from.0))
                    y1=up(high, stroke.from.1)
                    x2=share(right.place(stroke.to.0))
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
    let now = move || share(reach.get().0.place(present.get()));
    let now_too = now;
    let said = move || {
        let word = |level: &Level| {
            let class = format!("inline-flex items-center gap-1 {}", level.tone.text());
            view! {
                <span class=class>
                    <span aria-hidden="true">"┄"</span>
                    {level.words.clone()}
                </span>
            }
        };
        levels.with(|levels| levels.iter().map(word).collect_view())
    };
    let (as_table, columns, rows) = table;
    view! {
        <p class="mb-1 flex flex-wrap gap-x-4 text-xs">{said}</p>
        <Chart id title summary ends as_table columns rows>
            <svg class="block w-full rounded bg-sunken" width="100%" height=HIGH.to_string() aria-hidden="true">
                {across}
                <line class="text-muted" x1=now y1="0" x2=now_too y2=HIGH.to_string() stroke="currentColor" stroke-width="1"></line>
                {drawn}
            </svg>
        </Chart>
    }
}
