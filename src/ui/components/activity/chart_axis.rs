//! The time axis above the lanes.

use leptos::prelude::*;

use super::chart_state::ChartState;
use super::names::axis_label;
use crate::domain::Timestamp;
use crate::ui::kit::chart::{Scale, TimeTicks, percent};
use crate::ui::time_zone;

/// The number of labels. Phones show every second one.
const MAX_LABELS: usize = 8;

/// The labels of the time axis. Screen readers read the range as text instead.
#[component]
pub fn ChartAxis(
    /// The state of the chart.
    chart: ChartState,
) -> impl IntoView {
    let labels = move || {
        let scale = chart.scale();
        // The labels are at round times of the selected zone. The offset changes with daylight
        // saving time, so labels on the other side of a change are at odd hours.
        let end = Timestamp::from_millis(scale.until);
        let offset = time_zone::offset_minutes(end) * 60_000;
        let shifted = Scale {
            from: scale.from + offset,
            until: scale.until + offset,
        };
        let ticks = TimeTicks::of(shifted, MAX_LABELS);
        let label = |(nth, at): (usize, i64)| {
            let time = Timestamp::from_millis(at);
            let text = axis_label(time, ticks.is_date(at), ticks.has_seconds());
            let position = shifted.position(at);
            // The labels at the edges stay within the chart.
            let anchor = match position {
                0..40 => "start",
                960.. => "end",
                _ => "middle",
            };
            let class = if nth % 2 == 1 { "max-sm:hidden" } else { "" };
            view! {
                <text x=percent(position) y="13" text-anchor=anchor class=class>
                    {text}
                </text>
            }
        };
        ticks
            .times_ms
            .iter()
            .copied()
            .enumerate()
            .map(label)
            .collect_view()
    };
    view! {
        <svg class="block w-full text-xs tabular-nums text-muted" width="100%" height="18" fill="currentColor" aria-hidden="true">
            {labels}
        </svg>
    }
}
