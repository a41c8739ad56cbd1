//! A small line without axes, beside the current value that it leads to.

use leptos::prelude::*;

/// The size in SVG units, and the margin that the line's thickness needs.
const WIDTH: u64 = 960;
const HEIGHT: u64 = 240;
const MARGIN: u64 = 14;

/// The values as a line from the oldest to the latest. The lower edge is zero.
#[component]
pub fn Sparkline(
    /// The values, the oldest first.
    values: Vec<u32>,
    /// The number of values that fill the width.
    capacity: usize,
    /// The index of a value to mark.
    #[prop(optional_no_strip)]
    marked: Option<usize>,
    /// CSS classes for the size.
    #[prop(default = "h-6 w-24")]
    size: &'static str,
) -> impl IntoView {
    let points = points(&values, capacity);
    let marked = marked.map(|nth| {
        let x = x_of(nth, values.len(), capacity);
        view! { <path class="stroke-ink" stroke-width="1.5" vector-effect="non-scaling-stroke" d=format!("M{x} 0V{HEIGHT}")></path> }
    });
    view! {
        <svg class=format!("pointer-events-none block shrink-0 {size}") viewBox=format!("0 0 {WIDTH} {HEIGHT}") preserveAspectRatio="none" aria-hidden="true">
            <path class="stroke-line" stroke-width="8" d="M0 236h960"></path>
            <polyline class="text-accent" fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" points=points></polyline>
            {marked}
        </svg>
    }
}

/// The corners of the line. The latest value is at the right edge.
fn points(values: &[u32], capacity: usize) -> String {
    let most = u64::from(values.iter().copied().max().unwrap_or(0)).max(1);
    let corners = values.iter().enumerate().map(|(nth, value)| {
        let x = x_of(nth, values.len(), capacity);
        let y = HEIGHT - MARGIN - u64::from(*value) * (HEIGHT - 2 * MARGIN) / most;
        format!("{x},{y}")
    });
    corners.collect::<Vec<_>>().join(" ")
}

/// The horizontal position of a value.
fn x_of(nth: usize, count: usize, capacity: usize) -> u64 {
    let steps = capacity.max(2) - 1;
    let slot = (steps + 1).saturating_sub(count) + nth;
    slot as u64 * WIDTH / steps as u64
}

/// The index of the value that is nearest to a position, in thousandths of the width; `None` if
/// there are no values.
pub fn value_at(position: i32, count: usize, capacity: usize) -> Option<usize> {
    let steps = capacity.max(2) - 1;
    let position = usize::try_from(position.clamp(0, 1_000)).unwrap_or(0);
    let slot = (position * steps + 500) / 1_000;
    let empty = (steps + 1).saturating_sub(count);
    let last = count.checked_sub(1)?;
    Some(slot.saturating_sub(empty).min(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_value_is_at_the_right_edge_and_the_highest_at_the_top() {
        assert_eq!(points(&[0, 4, 2], 3), "0,226 480,14 960,120");
        assert_eq!(points(&[4], 3), "960,14");
        assert_eq!(points(&[0], 3), "960,226");
        assert_eq!(points(&[], 3), "");
    }

    #[test]
    fn a_position_selects_the_nearest_value() {
        for (position, expected) in [(0, 0), (400, 0), (600, 0), (800, 1), (1_000, 1), (2_000, 1)] {
            assert_eq!(value_at(position, 2, 3), Some(expected), "{position}");
        }
        assert_eq!(value_at(500, 0, 3), None);
        assert_eq!(value_at(500, 3, 3), Some(1));
    }
}
