//! A chart of time spans with one row per owner of the spans: bars, ticks, and crosses at
//! interrupted bars.

use leptos::prelude::*;

use super::{Chart, Scale, percent};
use crate::ui::kit::Tone;

/// A bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChartSpan {
    /// The start.
    pub from: i64,
    /// The end.
    pub until: i64,
    /// The colour.
    pub tone: Tone,
    /// Whether the span was interrupted; marked by a cross at its end.
    pub is_interrupted: bool,
    /// Whether the span has not ended yet.
    pub is_ongoing: bool,
}

/// A row of bars.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanRow {
    /// The name of the row.
    pub name: String,
    /// The bars.
    pub spans: Vec<ChartSpan>,
    /// Times that are marked by a tick.
    pub ticks: Vec<i64>,
}

/// A chart of time spans.
#[component]
pub fn SpanChart(
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
    /// The horizontal scale.
    #[prop(into)]
    reach: Signal<Scale>,
    /// The rows.
    #[prop(into)]
    rows: Signal<Vec<SpanRow>>,
    /// The label, the column titles and the rows of the table.
    table: (String, Vec<&'static str>, Signal<Vec<Vec<String>>>),
) -> impl IntoView {
    let drawn = move || {
        let reach = reach.get();
        let row = |row: SpanRow| view! { <Row row reach /> };
        rows.get().into_iter().map(row).collect_view()
    };
    let (as_table, columns, rows_of_table) = table;
    view! {
        <Chart id title summary ends as_table columns rows=rows_of_table>
            <div class="flex flex-col gap-1">{drawn}</div>
        </Chart>
    }
}

#[component]
fn Row(row: SpanRow, reach: Scale) -> impl IntoView {
    let bar = |span: &ChartSpan| {
        let (from, until) = (reach.position(span.from), reach.position(span.until));
        let tone = span.tone.text();
        let cut = span.is_interrupted.then(|| {
            view! {
                <svg class="text-alarm" x=percent(until) y="4" width="1" height="12" overflow="visible">
                    <path d="M-4 2 4 10M4 2-4 10" stroke="currentColor" stroke-width="2" stroke-linecap="round"></path>
                </svg>
            }
        });
        // An ongoing span has no rounded end.
        let radius = if span.is_ongoing { "0" } else { "2" };
        view! {
            <rect class=tone x=percent(from) y="5" width=percent((until - from).max(3)) height="10" rx=radius fill="currentColor" fill-opacity="0.75"></rect>
            {cut}
        }
    };
    let tick = |at: &i64| {
        let x = percent(reach.position(*at));
        view! { <line class="text-ink" x1=x.clone() y1="2" x2=x y2="18" stroke="currentColor" stroke-width="1"></line> }
    };
    let ticks = row.ticks.iter().filter(|at| reach.contains(**at)).map(tick);
    view! {
        <div class="grid grid-cols-[minmax(5rem,9rem)_minmax(0,1fr)] items-center gap-2">
            <bdi class="truncate text-xs" title=row.name.clone()>
                {row.name.clone()}
            </bdi>
            <svg class="block w-full rounded bg-sunken" width="100%" height="20" aria-hidden="true">
                {row.spans.iter().map(bar).collect_view()}
                {ticks.collect_view()}
            </svg>
        </div>
    }
}
