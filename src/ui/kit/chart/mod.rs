//! Charts: a picture that says in a sentence what it shows, and the same as a table for whoever cannot see it or wants the figures.
//!
//! Drawn with attributes alone, in the colours of the theme; lengths are shares of the width, so nothing is stretched.

mod line;
mod spans;

use leptos::prelude::*;

use super::table::Table;
pub use line::{Level, LineChart, Stroke};
pub use spans::{Span, SpanChart, SpanRow};

/// From where to where a side of a chart reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Its beginning.
    pub from: i64,
    /// Its end.
    pub until: i64,
}

impl Reach {
    /// Where something lies, in thousandths of the side; what lies beyond an end is at that end.
    pub fn place(self, at: i64) -> i64 {
        let whole = self.until.saturating_sub(self.from).max(1);
        let part = at.saturating_sub(self.from).clamp(0, whole);
        part.saturating_mul(1_000) / whole
    }

    /// Whether something lies on it.
    pub fn has(self, at: i64) -> bool {
        (self.from..=self.until).contains(&at)
    }
}

/// Thousandths as a share for an attribute: `12.3%`.
pub fn share(thousandths: i64) -> String {
    format!("{}.{}%", thousandths / 10, thousandths % 10)
}

/// The frame of a chart: its title and sentence for a screen reader, the picture, what stands below it, and the table.
#[component]
pub fn Chart(
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
    /// What the table is called.
    #[prop(into)]
    as_table: String,
    /// The titles of the table's columns.
    columns: Vec<&'static str>,
    /// The rows of the table.
    #[prop(into)]
    rows: Signal<Vec<Vec<String>>>,
    /// The picture.
    children: Children,
) -> impl IntoView {
    let named = format!("{id}-summary");
    let cells = move || {
        let row = |cells: Vec<String>| {
            let cell = |text| view! { <td class="pe-4">{text}</td> };
            view! { <tr>{cells.into_iter().map(cell).collect_view()}</tr> }
        };
        rows.get().into_iter().map(row).collect_view()
    };
    view! {
        <figure class="m-0">
            <div role="img" aria-label=title aria-describedby=named.clone()>
                {children()}
            </div>
            <p class="mt-1 flex justify-between gap-4 text-xs text-muted tabular-nums" aria-hidden="true">
                <span>{move || ends.get().0}</span>
                <span>{move || ends.get().1}</span>
            </p>
            <figcaption id=named class="mt-1 text-xs text-muted">
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
    fn what_lies_beyond_an_end_is_drawn_at_that_end() {
        let reach = Reach {
            from: 100,
            until: 300,
        };
        for (at, place) in [(100, 0), (150, 250), (300, 1_000), (0, 0), (900, 1_000)] {
            assert_eq!(reach.place(at), place);
        }
        assert!(reach.has(300) && !reach.has(301));
        let nothing = Reach { from: 5, until: 5 };
        assert_eq!(nothing.place(5), 0);
        assert_eq!(
            (share(0), share(123), share(1_000)),
            ("0.0%".into(), "12.3%".into(), "100.0%".into())
        );
    }
}
