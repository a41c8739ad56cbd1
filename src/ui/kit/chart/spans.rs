//! A chart of spans over time, a row for each who had them: bars, what was told within them, and what was cut short.

use leptos::prelude::*;

use super::{Chart, Reach, share};
use crate::ui::kit::Tone;

/// A bar from one moment to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its beginning.
    pub from: i64,
    /// Its end.
    pub until: i64,
    /// In which colour.
    pub tone: Tone,
    /// Whether somebody cut it short: a cross stands at its end.
    pub is_cut: bool,
    /// Whether it goes on: it has no end yet.
    pub goes_on: bool,
}

/// The bars of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanRow {
    /// Whose they are.
    pub name: String,
    /// The bars.
    pub spans: Vec<Span>,
    /// Moments that are marked by a tick.
    pub ticks: Vec<i64>,
}

/// Spans over time.
#[component]
pub fn SpanChart(
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
    /// What it reaches over.
    #[prop(into)]
    reach: Signal<Reach>,
    /// The rows.
    #[prop(into)]
    rows: Signal<Vec<SpanRow>>,
    /// What the table is called, its columns and its rows.
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
fn Row(row: SpanRow, reach: Reach) -> impl IntoView {
    let bar = |span: &Span| {
        let (from, until) = (reach.place(span.from), reach.place(span.until));
        let tone = span.tone.text();
        let cut = span.is_cut.then(|| {
            view! {
                <svg class="text-alarm" x=share(until) y="4" width="1" height="12" overflow="visible">
                    <path d="M-4 2 4 10M4 2-4 10" stroke="currentColor" stroke-width="2" stroke-linecap="round"></path>
                </svg>
            }
        });
        // What goes on has no end on the right.
        let radius = if span.goes_on { "0" } else { "2" };
        view! {
            <rect class=tone x=share(from) y="5" width=share((until - from).max(3)) height="10" rx=radius fill="currentColor" fill-opacity="0.75"></rect>
            {cut}
        }
    };
    let tick = |at: &i64| {
        let x = share(reach.place(*at));
        view! { <line class="text-ink" x1=x.clone() y1="2" x2=x y2="18" stroke="currentColor" stroke-width="1"></line> }
    };
    let ticks = row.ticks.iter().filter(|at| reach.has(**at)).map(tick);
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
