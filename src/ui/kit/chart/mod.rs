//! Charts. Each has a text summary and a table of the same data, for screen readers and for exact
//! figures.
//!
//! Charts are SVG without inline styles, in the colours of the theme. Lengths are percentages of
//! the width.

mod bar_style;
mod bars;
mod lane;
mod line;
mod linked_bars;
mod spans;
mod time_ticks;

use leptos::prelude::*;

use super::table::Table;
pub use bar_style::{BarShape, BarStyle, LaneSwatch};
pub use bars::{Bar, BarChart};
pub use lane::{LaneBar, LaneContent, LaneStrip};
pub use line::{Level, LineChart, Stroke};
pub use linked_bars::{BarPart, LinkedBar, LinkedBars};
pub use spans::{SpanChart, SpanRow};
pub use time_ticks::TimeTicks;

/// The value range of a chart axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The lowest value.
    pub from: i64,
    /// The highest value.
    pub until: i64,
}

impl Scale {
    /// The position of a value on the axis, in thousandths. Values outside of the range are
    /// clamped.
    pub fn position(self, at: i64) -> i64 {
        let length = self.until.saturating_sub(self.from).max(1);
        let offset = at.saturating_sub(self.from).clamp(0, length);
        offset.saturating_mul(1_000) / length
    }

    /// Whether the value is in the range.
    pub fn contains(self, at: i64) -> bool {
        (self.from..=self.until).contains(&at)
    }
}

/// Formats thousandths as a percentage for an SVG attribute: `12.3%`.
pub fn percent(thousandths: i64) -> String {
    format!("{}.{}%", thousandths / 10, thousandths % 10)
}

/// The frame of a chart: title, summary, picture, axis labels and table.
#[component]
pub fn Chart(
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
    /// The label of the table.
    #[prop(into)]
    as_table: String,
    /// The column titles of the table.
    columns: Vec<&'static str>,
    /// The rows of the table.
    #[prop(into)]
    rows: Signal<Vec<Vec<String>>>,
    /// Whether the picture has links, which a screen reader does not find inside of an image.
    #[prop(optional)]
    has_links: bool,
    /// The picture.
    children: Children,
) -> impl IntoView {
    let role = if has_links { "group" } else { "img" };
    let summary_id = format!("{id}-summary");
    let cells = move || {
        let row = |cells: Vec<String>| {
            let cell = |text| view! { <td class="pe-4">{text}</td> };
            view! { <tr>{cells.into_iter().map(cell).collect_view()}</tr> }
        };
        rows.get().into_iter().map(row).collect_view()
    };
    view! {
        <figure class="m-0">
            <div role=role aria-label=title aria-describedby=summary_id.clone()>
                {children()}
            </div>
            <p class="mt-1 flex justify-between gap-4 text-xs text-muted tabular-nums" aria-hidden="true">
                <span>{move || axis_labels.get().0}</span>
                <span>{move || axis_labels.get().1}</span>
            </p>
            <figcaption id=summary_id class="mt-1 text-xs text-muted">
                {summary}
            </figcaption>
            <details class="mt-1 text-xs">
                <summary class="text-muted">{as_table}</summary>
                <Table titles=columns title_class="pe-4 text-start font-medium text-muted" class="mt-1 tabular-nums">
                    {cells}
                </Table>
            </details>
        </figure>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_outside_of_the_scale_are_clamped() {
        let scale = Scale {
            from: 100,
            until: 300,
        };
        for (at, place) in [(100, 0), (150, 250), (300, 1_000), (0, 0), (900, 1_000)] {
            assert_eq!(scale.position(at), place);
        }
        assert!(scale.contains(300) && !scale.contains(301));
        let nothing = Scale { from: 5, until: 5 };
        assert_eq!(nothing.position(5), 0);
        assert_eq!(
            (percent(0), percent(123), percent(1_000)),
            ("0.0%".into(), "12.3%".into(), "100.0%".into())
        );
    }
}
