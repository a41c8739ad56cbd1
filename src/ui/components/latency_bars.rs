//! The longest round trip to a node in each minute of the last hour, as bars. All nodes of a group
//! have the same scale.

use leptos::prelude::*;

use crate::domain::node_history::{HealthTimeline, MINUTES};
use crate::ui::format;
use crate::ui::i18n::{nodes as t, punctuation};

/// The width of a minute and of its bar, and the height, in SVG units.
const MINUTE_WIDTH: usize = 5;
const BAR_WIDTH: usize = 4;
const HEIGHT: u32 = 24;

/// The longest round trips of the last hour.
#[component]
pub fn LatencyBars(
    /// The node's round trips per minute.
    timeline: HealthTimeline,
    /// The round trip at the upper end of the scale, in microseconds.
    slowest_us: u32,
) -> impl IntoView {
    let minutes = timeline.minutes();
    let longest = minutes.iter().filter_map(|minute| minute.slowest_us).max();
    let longest = longest.map_or_else(
        || t::no_data().to_owned(),
        |us| t::slowest(format::latency(f64::from(us) / 1e3)),
    );
    let label = punctuation::labelled(t::last_hour(), &longest);
    let bars = minutes.iter().enumerate().filter_map(|(index, minute)| {
        let height = bar_height(minute.slowest_us?, slowest_us);
        let (x, y) = ((index * MINUTE_WIDTH).to_string(), (HEIGHT - height).to_string());
        Some(view! { <rect class="text-accent" fill="currentColor" x=x y=y width=BAR_WIDTH.to_string() height=height.to_string()></rect> })
    });
    view! {
        <svg
            class="h-5 w-24 shrink-0"
            viewBox=format!("0 0 {} {HEIGHT}", MINUTE_WIDTH * MINUTES)
            preserveAspectRatio="none"
            role="img"
            aria-label=label
        >
            <title>{label.clone()}</title>
            <path class="stroke-line" d="M0 23.5h300"></path>
            {bars.collect_view()}
        </svg>
    }
}

/// The height of a bar: at least 2, so that it is visible.
fn bar_height(us: u32, slowest_us: u32) -> u32 {
    let share = u64::from(us) * u64::from(HEIGHT) / u64::from(slowest_us.max(1));
    u32::try_from(share).unwrap_or(HEIGHT).clamp(2, HEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_the_height_of_its_share_and_is_always_visible() {
        for (us, slowest, height) in [
            (500, 1_000, 12),
            (1, 1_000, 2),
            (1_000, 1_000, 24),
            (9, 0, 24),
        ] {
            assert_eq!(bar_height(us, slowest), height, "{us} of {slowest}");
        }
    }
}
