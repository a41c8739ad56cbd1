//! A chart of bars, with an optional marker.

use leptos::prelude::*;

use super::{Chart, percent};
use crate::ui::kit::Tone;

/// A bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The height, in thousandths of the highest bar.
    pub height: i64,
    /// The colour.
    pub tone: Tone,
}

/// The height of the picture, in pixels.
const HEIGHT: i64 = 48;
/// The gap between two bars and the minimum width of a bar, in thousandths of the width.
const GAP: i64 = 4;
const MIN_WIDTH: i64 = 2;

/// A chart of bars of equal width.
#[component]
pub fn BarChart(
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
    /// The bars, from the start.
    #[prop(into)]
    bars: Signal<Vec<Bar>>,
    /// The horizontal position of the marker, in thousandths.
    #[prop(into)]
    marker: Signal<Option<i64>>,
    /// The label, the column titles and the rows of the table.
    table: (String, Vec<&'static str>, Signal<Vec<Vec<String>>>),
) -> impl IntoView {
    let drawn = move || {
        let bars = bars.get();
        let count = i64::try_from(bars.len()).unwrap_or(i64::MAX).max(1);
        let bar = move |(index, bar): (i64, Bar)| {
            let height =
                (bar.height.clamp(0, 1_000) * HEIGHT / 1_000).max(i64::from(bar.height > 0));
            view! {
                <rect
                    class=bar.tone.text()
                    x=percent(index * 1_000 / count)
                    y=(HEIGHT - height).to_string()
                    width=percent((1_000 / count - GAP).max(MIN_WIDTH))
                    height=height.to_string()
                    fill="currentColor"
                    fill-opacity="0.75"
                ></rect>
            }
        };
        (0..).zip(bars).map(bar).collect_view()
    };
    let marked = move || {
        marker.get().map(|at| {
            let x = percent(at.clamp(0, 1_000));
            view! { <line class="text-ink" x1=x.clone() y1="0" x2=x y2=HEIGHT.to_string() stroke="currentColor" stroke-width="2"></line> }
        })
    };
    let (as_table, columns, rows) = table;
    view! {
        <Chart id title summary axis_labels as_table columns rows>
            <svg class="block w-full rounded bg-sunken" width="100%" height=HEIGHT.to_string() aria-hidden="true">
                {drawn}
                {marked}
            </svg>
        </Chart>
    }
}
