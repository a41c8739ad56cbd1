//! The number of audit entries over time. A press on a bar narrows the list to its time.

use leptos::prelude::*;

use crate::domain::{AuditHistogram, Timestamp};
use crate::ui::audit_query::AuditQuery;
use crate::ui::format;
use crate::ui::i18n::audit as t;
use crate::ui::kit::Tone;
use crate::ui::kit::card::CARD;
use crate::ui::kit::chart::{BarPart, Chart, LinkedBar, LinkedBars};

/// The histogram of the range of the query.
#[component]
pub fn AuditHistogramChart(
    /// The numbers.
    histogram: AuditHistogram,
    /// The current query.
    query: AuditQuery,
) -> impl IntoView {
    // The texts follow the selected time zone.
    move || {
        let bars = linked_bars(&histogram, &query);
        let rows = Signal::stored(table_rows(&histogram));
        let summary = match histogram.is_partial {
            true => t::histogram_partial(histogram.total()),
            false => t::histogram_total(histogram.total()),
        };
        let axis_labels = (
            format::date_time_digits(histogram.from),
            format::date_time(histogram.until()),
        );
        view! {
            <details class=format!("fold mb-3 px-3 py-2 {CARD}")>
                <summary class="text-muted">{t::histogram()}</summary>
                <Chart
                    id="audit-histogram"
                    title=t::histogram()
                    summary=Signal::stored(summary)
                    axis_labels=Signal::stored(axis_labels)
                    as_table=t::as_table()
                    columns=vec![t::time(), t::bar_done(), t::bar_refused(), t::bar_other()]
                    rows
                    has_links=true
                >
                    <LinkedBars
                        bars
                        parts=vec![(Tone::Good, t::bar_done()), (Tone::Plain, t::bar_refused()), (Tone::Warn, t::bar_other())]
                    />
                </Chart>
            </details>
        }
    }
}

fn linked_bars(histogram: &AuditHistogram, query: &AuditQuery) -> Vec<LinkedBar> {
    let bar = |(index, bar): (usize, &crate::domain::audit_histogram::AuditBar)| {
        let (from, until) = (histogram.start_of(index), histogram.start_of(index + 1));
        let part = |tone, value| BarPart { tone, value };
        LinkedBar {
            parts: vec![
                part(Tone::Good, bar.done),
                part(Tone::Plain, bar.refused),
                part(Tone::Warn, bar.other),
            ],
            label: t::bar(
                &format_range(from, until),
                &format::count(bar.total().into()),
            ),
            href: query.between(from, until).path(),
        }
    };
    histogram.bars.iter().enumerate().map(bar).collect()
}

/// Formats `2026-11-20 18:00:00 – 19:00:00 UTC`, with the second date only if it is another one.
fn format_range(from: Timestamp, until: Timestamp) -> String {
    let (from, until) = (format::date_time_digits(from), format::date_time(until));
    match from.get(..10) == until.get(..10) {
        true => format!("{from} – {}", until.get(11..).unwrap_or(&until)),
        false => format!("{from} – {until}"),
    }
}

/// The bars with entries.
fn table_rows(histogram: &AuditHistogram) -> Vec<Vec<String>> {
    let bars = histogram.bars.iter().enumerate();
    let with_entries = bars.filter(|(_, bar)| bar.total() > 0);
    let row = |(index, bar): (usize, &crate::domain::audit_histogram::AuditBar)| {
        let count = |n: u32| format::count(n.into());
        vec![
            format_range(histogram.start_of(index), histogram.start_of(index + 1)),
            count(bar.done),
            count(bar.refused),
            count(bar.other),
        ]
    };
    with_entries.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::OperationResult;

    #[test]
    fn a_bar_links_to_its_range_and_the_table_has_the_bars_with_entries() {
        let at = Timestamp::from_millis;
        let start = 1_795_200_480_000;
        let mut histogram = AuditHistogram::empty(at(start), at(start + 3_000));
        histogram.add(1, OperationResult::Done, 2);
        let bars = linked_bars(&histogram, &AuditQuery::default());
        assert_eq!(bars.len(), 3);
        let query = AuditQuery::parse(bars[1].href.split_once('?').unwrap().1);
        assert_eq!(query.filter.from, Some(at(start + 1_000)));
        assert_eq!(query.filter.until, Some(at(start + 2_000)));
        let expected = ["2026-11-20 18:48:01 – 18:48:02 UTC", "2", "0", "0"];
        assert_eq!(table_rows(&histogram), [expected.map(str::to_owned)]);
    }
}
