//! A lane: bars over time in one strip, with marks. Series differ by colour and by shape.
//!
//! The bars of a series are one `path`, and bars that are closer than a pixel are merged, so the
//! number of elements does not grow with the number of bars: a lane has at most one path per style,
//! and a path at most [`UNITS`] / [`MIN_WIDTH`] bars.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use leptos::prelude::*;

use super::{BarStyle, Scale, percent};

/// The horizontal resolution of the picture. The browser stretches it to the width of the lane.
const UNITS: i64 = 10_000;
/// The minimum width of a bar: about a pixel on a screen that is 1,400 pixels wide.
const MIN_WIDTH: i64 = 12;
/// The height of the picture in pixels, and of the part that bars fill.
const HEIGHT: i64 = 20;
const BAR_TOP: i64 = 2;
const BAR_HEIGHT: i64 = 16;
/// Marks and ticks that are closer than this, in thousandths of the width, are drawn once: about
/// their own width.
const MIN_MARK_DISTANCE: i64 = 8;
const MIN_TICK_DISTANCE: i64 = 3;

/// A bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneBar {
    /// The start.
    pub from: i64,
    /// The end.
    pub until: i64,
    /// The row, from 0.
    pub row: usize,
    /// The look.
    pub style: BarStyle,
}

/// The content of a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneContent {
    /// The number of rows above each other.
    pub row_count: usize,
    /// The bars, the earliest start first.
    pub bars: Vec<LaneBar>,
    /// Times that are marked by a cross.
    pub crosses: Vec<i64>,
    /// Times that are marked by a tick.
    pub ticks: Vec<i64>,
    /// Periods that are underlined and start with a triangle.
    pub alarms: Vec<(i64, i64)>,
}

/// A bar in units of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DrawnBar {
    left: i64,
    right: i64,
    row: usize,
    style: BarStyle,
}

impl LaneContent {
    /// The bars in units of the picture. Those that begin within the pixel of the previous one are
    /// merged with it.
    fn drawn_bars(&self, scale: Scale) -> Vec<DrawnBar> {
        let length = scale.until.saturating_sub(scale.from).max(1);
        let unit = |at: i64| (at - scale.from).clamp(0, length).saturating_mul(UNITS) / length;
        let mut last_of_row: BTreeMap<usize, usize> = BTreeMap::new();
        let mut drawn: Vec<DrawnBar> = Vec::new();
        let is_visible = |bar: &&LaneBar| bar.until >= scale.from && bar.from <= scale.until;
        for bar in self.bars.iter().filter(is_visible) {
            let left = unit(bar.from).min(UNITS - MIN_WIDTH);
            let right = unit(bar.until).max(left + MIN_WIDTH);
            let last = last_of_row
                .get(&bar.row)
                .and_then(|last| drawn.get_mut(*last));
            let left = match last {
                Some(last) if left < last.right => {
                    let is_narrow = right - left <= MIN_WIDTH;
                    if last.style == bar.style {
                        last.right = last.right.max(right);
                        continue;
                    }
                    let is_last_narrow =
                        last.style == BarStyle::Mixed || last.right - last.left <= MIN_WIDTH;
                    if is_narrow && is_last_narrow {
                        last.style = BarStyle::Mixed;
                        last.right = last.right.max(right);
                        continue;
                    }
                    if right <= last.right {
                        continue;
                    }
                    last.right
                }
                Some(_) | None => left,
            };
            last_of_row.insert(bar.row, drawn.len());
            drawn.push(DrawnBar {
                left,
                right,
                row: bar.row,
                style: bar.style,
            });
        }
        drawn
    }

    /// The outline of the bars of each style, as path data.
    fn paths(&self, scale: Scale) -> BTreeMap<BarStyle, String> {
        let rows = i64::try_from(self.row_count.max(1)).unwrap_or(1);
        let row_height = BAR_HEIGHT / rows;
        // A gap between rows, unless they are too thin for it.
        let bar_height = if rows > 1 && row_height > 3 {
            row_height - 1
        } else {
            row_height
        };
        let mut paths: BTreeMap<BarStyle, String> = BTreeMap::new();
        for bar in self.drawn_bars(scale) {
            let row = i64::try_from(bar.row).unwrap_or(0).min(rows - 1);
            let path = paths.entry(bar.style).or_default();
            for (offset, height) in bar.style.parts(bar_height) {
                let top = BAR_TOP + row * row_height + offset;
                let (left, width) = (bar.left, bar.right - bar.left);
                // Writing to a string cannot fail.
                let _infallible = write!(path, "M{left} {top}h{width}v{height}h-{width}z");
            }
        }
        paths
    }
}

/// The positions of marks in thousandths, without those that would cover each other.
fn mark_positions(scale: Scale, times: impl Iterator<Item = i64>, min_distance: i64) -> Vec<i64> {
    let visible = times.filter(|at| scale.contains(*at));
    let mut positions: Vec<i64> = visible.map(|at| scale.position(at)).collect();
    positions.sort_unstable();
    positions.dedup_by(|next, kept| *next - *kept < min_distance);
    positions
}

/// A lane.
#[component]
pub fn LaneStrip(
    /// The content.
    #[prop(into)]
    content: Signal<LaneContent>,
    /// The horizontal scale.
    #[prop(into)]
    scale: Signal<Scale>,
    /// A description for screen readers.
    #[prop(into)]
    label: Signal<String>,
) -> impl IntoView {
    let bars = move || {
        let path = |(style, d): (BarStyle, String)| {
            view! { <path class=style.class() d=d fill="currentColor"></path> }
        };
        let paths = content.with(|content| content.paths(scale.get()));
        paths.into_iter().map(path).collect_view()
    };
    let marks = move || {
        let scale = scale.get();
        content.with(|content| {
            let crosses = mark_positions(scale, content.crosses.iter().copied(), MIN_MARK_DISTANCE);
            let starts = content
                .alarms
                .iter()
                .map(|(from, _)| (*from).max(scale.from));
            let triangles = mark_positions(scale, starts, MIN_MARK_DISTANCE);
            let crosses = crosses
                .into_iter()
                .map(|at| mark(at, "M-4 6 4 14M4 6-4 14"));
            let triangles = triangles.into_iter().map(|at| mark(at, "M0 2 5 10H-5z"));
            let lines = content
                .alarms
                .iter()
                .map(|(from, until)| line(scale, *from, *until));
            let (lines, triangles) = (lines.collect_view(), triangles.collect_view());
            view! { {lines} {triangles} {crosses.collect_view()} }
        })
    };
    let ticks = move || {
        let positions = content.with(|content| {
            mark_positions(
                scale.get(),
                content.ticks.iter().copied(),
                MIN_TICK_DISTANCE,
            )
        });
        let tick = |at: i64| {
            let x = percent(at);
            view! { <line class="text-ink" x1=x.clone() y1="0" x2=x y2="20" stroke="currentColor" stroke-width="1"></line> }
        };
        positions.into_iter().map(tick).collect_view()
    };
    view! {
        <span role="img" aria-label=label class="relative block h-5 w-full bg-sunken">
            <svg
                class="absolute inset-0 block"
                width="100%"
                height=HEIGHT.to_string()
                viewBox=format!("0 0 {UNITS} {HEIGHT}")
                preserveAspectRatio="none"
                aria-hidden="true"
            >
                {bars}
            </svg>
            <svg class="absolute inset-0 block text-alarm" width="100%" height=HEIGHT.to_string() aria-hidden="true">
                {ticks}
                {marks}
            </svg>
        </span>
    }
}

fn mark(at: i64, d: &'static str) -> impl IntoView {
    view! {
        <svg x=percent(at) y="0" width="1" height="20" overflow="visible">
            <path d=d stroke="var(--surface)" stroke-width="4" stroke-linejoin="round" fill="none"></path>
            <path d=d stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" fill="none"></path>
        </svg>
    }
}

fn line(scale: Scale, from: i64, until: i64) -> impl IntoView {
    let (left, right) = (scale.position(from), scale.position(until));
    let is_visible = until >= scale.from && from <= scale.until;
    is_visible.then(|| {
        let width = percent((right - left).max(2));
        view! { <rect x=percent(left) y="18" width=width height="2" fill="currentColor"></rect> }
    })
}

#[cfg(test)]
mod tests {
    use super::super::BarShape;
    use super::*;

    const SCALE: Scale = Scale {
        from: 0,
        until: 1_000_000,
    };
    const A: BarStyle = BarStyle::Series(0, BarShape::Full);
    const B: BarStyle = BarStyle::Series(1, BarShape::Upper);

    fn picture(bars: &[(i64, i64, BarStyle)]) -> LaneContent {
        let bars = bars.iter().map(|(from, until, style)| LaneBar {
            from: *from,
            until: *until,
            row: 0,
            style: *style,
        });
        LaneContent {
            row_count: 1,
            bars: bars.collect(),
            ..LaneContent::default()
        }
    }

    fn drawn(bars: &[(i64, i64, BarStyle)]) -> Vec<(i64, i64, BarStyle)> {
        let drawn = picture(bars).drawn_bars(SCALE).into_iter();
        drawn.map(|bar| (bar.left, bar.right, bar.style)).collect()
    }

    #[test]
    fn a_bar_is_clipped_to_the_range_and_has_a_minimum_width() {
        assert_eq!(
            drawn(&[
                (-500, 100_000, A),
                (500_000, 500_001, B),
                (999_999, 2_000_000, A)
            ]),
            [(0, 1_000, A), (5_000, 5_012, B), (9_988, 10_000, A)]
        );
        assert_eq!(drawn(&[(-500, -1, A), (1_000_001, 1_000_002, A)]), []);
    }

    #[test]
    fn bars_within_a_pixel_are_merged_and_mixed_if_they_differ() {
        let narrow: Vec<_> = (0..20).map(|n| (n * 500, n * 500 + 400, A)).collect();
        assert_eq!(drawn(&narrow), [(0, 107, A)]);
        let both: Vec<_> = (0..20)
            .map(|n| (n * 500, n * 500 + 400, if n % 2 == 0 { A } else { B }))
            .collect();
        assert_eq!(drawn(&both), [(0, 107, BarStyle::Mixed)]);
        assert_eq!(
            drawn(&[(0, 400, A), (500, 100_000, B)]),
            [(0, 12, A), (12, 1_000, B)]
        );
    }

    #[test]
    fn ten_thousand_bars_are_a_bounded_number_of_elements() {
        let bars: Vec<_> = (0..10_000)
            .map(|n| {
                (
                    n * 100,
                    n * 100 + 60,
                    BarStyle::of_name(&format!("api-{}", n % 40)),
                )
            })
            .collect();
        let bars = picture(&bars).drawn_bars(SCALE);
        assert!(bars.len() <= 834, "{}", bars.len());
    }

    #[test]
    fn a_path_outlines_each_part_of_a_bar() {
        let paths = picture(&[(0, 500_000, A)]).paths(SCALE);
        assert_eq!(paths[&A], "M0 2h5000v16h-5000z");
    }

    #[test]
    fn marks_that_cover_each_other_are_drawn_once() {
        let times = [0, 1_000, 7_000, 500_000, -1, 1_000_001];
        assert_eq!(
            mark_positions(SCALE, times.into_iter(), MIN_MARK_DISTANCE),
            [0, 500]
        );
    }
}
