//! A chart of time spans: named lanes under a common scale.

use leptos::prelude::*;

use super::{Chart, LaneContent, LaneStrip, Scale};

/// A named lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanRow {
    /// The name.
    pub name: String,
    /// The content.
    pub content: LaneContent,
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
    axis_labels: Signal<(String, String)>,
    /// The horizontal scale.
    #[prop(into)]
    scale: Signal<Scale>,
    /// The rows.
    #[prop(into)]
    rows: Signal<Vec<SpanRow>>,
    /// The label, the column titles and the rows of the table.
    table: (String, Vec<&'static str>, Signal<Vec<Vec<String>>>),
) -> impl IntoView {
    let lanes = move || {
        let row = |row: SpanRow| view! { <Row row scale /> };
        rows.get().into_iter().map(row).collect_view()
    };
    let (as_table, columns, rows_of_table) = table;
    view! {
        <Chart id title summary axis_labels as_table columns rows=rows_of_table>
            <div class="flex flex-col gap-1">{lanes}</div>
        </Chart>
    }
}

#[component]
fn Row(row: SpanRow, scale: Signal<Scale>) -> impl IntoView {
    let SpanRow { name, content } = row;
    let (title, label) = (name.clone(), name.clone());
    view! {
        <div class="grid grid-cols-[minmax(5rem,9rem)_minmax(0,1fr)] items-center gap-2">
            <bdi class="truncate text-xs" title=title>
                {name}
            </bdi>
            <LaneStrip content=Signal::stored(content) scale label=Signal::stored(label) />
        </div>
    }
}
