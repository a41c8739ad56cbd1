//! The state of a chart over time: the range, the position of the pointer and the selected part.

use leptos::prelude::*;

use crate::domain::Timestamp;
use crate::domain::activity::time_range::TimeRange;
use crate::ui::kit::chart::Scale;

/// A selection that is narrower than this, in thousandths of the chart, is a click.
const MIN_BRUSH: i64 = 6;

/// The percentages of the length of the range by which buttons and keys move and scale it.
pub const MOVE_PERCENT: i64 = 25;
/// Zooming in halves the range.
pub const ZOOM_IN_PERCENT: i64 = 50;
/// Zooming out doubles the range.
pub const ZOOM_OUT_PERCENT: i64 = 200;

/// The state of a chart over time. A copyable handle.
#[derive(Clone, Copy)]
pub struct ChartState {
    /// The range.
    pub range: Memo<TimeRange>,
    /// The position of the pointer in thousandths; `None` outside of the chart.
    pub pointer: RwSignal<Option<i64>>,
    /// Where a drag started and where it is, in thousandths.
    pub brush: RwSignal<Option<(i64, i64)>>,
    /// Called with a selected range.
    select: Callback<TimeRange>,
    /// Called to return to now.
    follow: Callback<()>,
}

impl ChartState {
    /// A chart of this range.
    pub fn new(range: Memo<TimeRange>, select: Callback<TimeRange>, follow: Callback<()>) -> Self {
        Self {
            range,
            pointer: RwSignal::new(None),
            brush: RwSignal::new(None),
            select,
            follow,
        }
    }

    /// The horizontal scale. Tracked.
    pub fn scale(self) -> Scale {
        let range = self.range.get();
        Scale {
            from: range.from.millis(),
            until: range.to.millis(),
        }
    }

    /// The time at the pointer. Tracked.
    pub fn pointer_time(self) -> Option<Timestamp> {
        let permille = self.pointer.get()?;
        Some(self.range.get().at_permille(permille))
    }

    /// The pointer moved to this position.
    pub fn point_at(self, permille: i64) {
        self.pointer.set(Some(permille));
        if self.brush.with_untracked(Option::is_some) {
            self.brush.update(|brush| {
                if let Some((_, end)) = brush {
                    *end = permille;
                }
            });
        }
    }

    /// A drag ended: selects the part, unless it is too narrow.
    pub fn finish_brush(self) {
        let Some((start, end)) = self.brush.get_untracked() else {
            return;
        };
        self.brush.set(None);
        if (end - start).abs() >= MIN_BRUSH {
            let range = self.range.get_untracked();
            self.select.run(TimeRange {
                from: range.at_permille(start.min(end)),
                to: range.at_permille(start.max(end)),
            });
        }
    }

    /// Applies a key; returns whether the key has a meaning.
    pub fn apply_key(self, key: &str) -> bool {
        let range = self.range.get_untracked();
        match key {
            "+" | "=" => self.select.run(range.scaled(ZOOM_IN_PERCENT)),
            "-" => self.select.run(range.scaled(ZOOM_OUT_PERCENT)),
            "ArrowLeft" => self.select.run(range.shifted(-MOVE_PERCENT)),
            "ArrowRight" => self.select.run(range.shifted(MOVE_PERCENT)),
            "Home" => self.follow.run(()),
            "Escape" if self.brush.get_untracked().is_some() => self.brush.set(None),
            _ => return false,
        }
        true
    }
}
