//! Which rows are visible and which are rendered: the visible ones and a few around them, with a
//! limit of new rows per frame, and no new ones while the page is scrolled too fast to read them.

use std::ops::Range;

use leptos::leptos_dom::helpers::{request_animation_frame, window_event_listener_untyped};
use leptos::prelude::*;
use leptos::task::{spawn_local, tick};
use wasm_bindgen::JsCast;

use super::frame_budget::{FrameBudget, rows_f64};
use crate::ui::initial_view::INITIAL_ROWS;

/// The number of rows rendered above and below the visible ones.
const OVERSCAN: isize = 6;
/// The number of rows assumed to be visible until the screen is measured.
const ASSUMED_VISIBLE_ROWS: isize = INITIAL_ROWS.cast_signed();
/// Rows that scroll by faster than this cannot be read: ten screens a second. Loading and rendering
/// them left 45 to 47 frames a second at 400 pixels per frame; without them there are 60.
const MAX_READABLE_ROWS_PER_SECOND: f64 = 250.0;
/// The height of the sticky table heading, which covers the upper end of the screen.
const HEADING_PX: f64 = 36.0;

/// A half-open range of rows, relative to their position when the list was opened.
pub type RowSpan = (isize, isize);

/// The visible part of the table. A copyable handle.
#[derive(Clone, Copy)]
pub struct Viewport {
    /// The visible rows.
    visible: RwSignal<RowSpan>,
    /// The rendered rows.
    rendered: RwSignal<RowSpan>,
    /// The height of a row once it is measured. All rows have the same height.
    row_px: RwSignal<Option<f64>>,
    /// How many rows the list has shifted.
    origin: RwSignal<isize>,
    /// The row at which the page was opened. Zero as soon as the rows above it have their space.
    initial_row: StoredValue<usize>,
    is_frame_scheduled: StoredValue<bool>,
    frame_budget: StoredValue<FrameBudget>,
    /// The number of frames that rows waited for.
    frame: RwSignal<u32>,
    /// The time of the last measurement, in milliseconds, and the first visible row.
    last_position: StoredValue<(f64, isize)>,
}

impl Viewport {
    /// Starts at a row of the list, before the screen is measured.
    pub fn new(row: usize) -> Self {
        let first = isize::try_from(row).unwrap_or(isize::MAX - ASSUMED_VISIBLE_ROWS);
        Self {
            visible: RwSignal::new((first, first + ASSUMED_VISIBLE_ROWS)),
            rendered: RwSignal::new((first, first + ASSUMED_VISIBLE_ROWS)),
            row_px: RwSignal::new(None),
            origin: RwSignal::new(0),
            initial_row: StoredValue::new(row),
            is_frame_scheduled: StoredValue::new(false),
            frame_budget: StoredValue::new(FrameBudget::UNMEASURED),
            frame: RwSignal::new(0),
            last_position: StoredValue::new((0.0, first)),
        }
    }

    /// Measures after every scroll and resize until the table is removed. Browser only.
    pub fn observe_scroll(self) {
        Effect::new(move || {
            self.schedule_measure();
            let scrolling =
                window_event_listener_untyped("scroll", move |_| self.schedule_measure());
            let resizing =
                window_event_listener_untyped("resize", move |_| self.schedule_measure());
            on_cleanup(move || {
                scrolling.remove();
                resizing.remove();
            });
        });
    }

    /// The visible rows. Tracked.
    pub fn visible_rows(self, origin: isize) -> Range<usize> {
        to_list_rows(self.visible.get(), origin)
    }

    /// The visible rows, untracked.
    pub fn visible_rows_untracked(self, origin: isize) -> Range<usize> {
        to_list_rows(self.visible.get_untracked(), origin)
    }

    /// Whether the first row is visible. Tracked.
    pub fn is_at_top(self) -> bool {
        self.visible_rows(self.origin.get()).start == 0
    }

    /// The rows to render. Tracked.
    pub fn rendered_rows(self, origin: isize) -> Range<usize> {
        to_list_rows(self.rendered.get(), origin)
    }

    /// The number of requested frames. Tracked.
    pub fn frame(self) -> u32 {
        self.frame.get()
    }

    /// Requests a frame for rows that wait for it. Browser only.
    pub fn request_frame(self) {
        request_animation_frame(move || {
            // `None` if the table was removed.
            self.frame
                .try_update(|frame| *frame = frame.wrapping_add(1));
        });
    }

    /// The height of `rows` rows as an HTML attribute. `None` until a row is measured. Tracked.
    pub fn height_attribute(self, rows: usize) -> Option<String> {
        let px = self.row_px.get()?;
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        Some(round_px(f64::from(rows) * px).to_string())
    }

    /// Records how far the list has shifted, and scrolls by as much, so that visible rows stay in
    /// place.
    pub fn set_origin(self, origin: isize) {
        let by = origin - self.origin.get_untracked();
        if by == 0 {
            return;
        }
        self.origin.set(origin);
        // Origin 0 means that the list was opened again: it starts at the top.
        let Some(px) = self.row_px.get_untracked().filter(|_| origin != 0) else {
            return;
        };
        request_animation_frame(move || scroll_by(rows_f64(by) * px));
    }

    /// Scrolls just far enough to make a row visible.
    pub fn scroll_to_row(self, row: usize) {
        let (Some(px), Some(top)) = (self.row_px.get_untracked(), top_px()) else {
            return;
        };
        let row = isize::try_from(row).unwrap_or(isize::MAX);
        let row_top = top + rows_f64(row) * px;
        let screen = screen_px();
        if row_top < HEADING_PX {
            scroll_by(row_top - HEADING_PX);
        } else if row_top + px > screen {
            scroll_by(row_top + px - screen);
        }
    }

    /// Scrolls to the first row, if it is above the screen.
    pub fn scroll_to_top(self) {
        if let Some(top) = top_px().filter(|top| *top < 0.0) {
            scroll_by(top - HEADING_PX);
        }
    }

    /// Measures once before the next paint, however often this is called.
    pub fn schedule_measure(self) {
        if self.is_frame_scheduled.try_get_value() != Some(false) {
            return;
        }
        self.is_frame_scheduled.set_value(true);
        request_animation_frame(move || {
            if self.is_frame_scheduled.try_get_value().is_some() {
                self.is_frame_scheduled.set_value(false);
                self.measure();
            }
        });
    }

    /// Scrolls past the space that appears above the initial row, so that the rows on screen do not
    /// move.
    fn scroll_past_rows_above(self, rows: usize, px: f64) {
        request_animation_frame(move || {
            let rows = isize::try_from(rows).unwrap_or(isize::MAX);
            scroll_by(rows_f64(rows) * px);
            self.schedule_measure();
        });
    }

    fn measure(self) {
        let Some(body) = table_body() else {
            return;
        };
        let row = body.query_selector("tr.lock-row").ok().flatten();
        let height = row.map(|row| row.get_bounding_client_rect().height());
        if let Some(px) = height.filter(|px| *px >= 1.0)
            && self.row_px.get_untracked() != Some(px)
        {
            self.row_px.set(Some(px));
            let before = self.initial_row.get_value();
            if before > 0 {
                self.initial_row.set_value(0);
                self.scroll_past_rows_above(before, px);
                return;
            }
        }
        let Some(px) = self.row_px.get_untracked() else {
            return;
        };
        let above = HEADING_PX - body.get_bounding_client_rect().top();
        let origin = self.origin.get_untracked();
        let first = rows_in(above, px).max(0) - origin;
        let last = rows_in(above - HEADING_PX + screen_px(), px).max(0) + 1 - origin;
        if self.record_position(first) > MAX_READABLE_ROWS_PER_SECOND {
            self.schedule_measure();
            return;
        }
        if self.visible.get_untracked() != (first, last) {
            self.visible.set((first, last));
        }
        let target = (first - OVERSCAN, last + OVERSCAN);
        let rendered = self.rendered.get_untracked();
        let budget = self.frame_budget.get_value().rows_per_frame();
        let next = next_rendered(rendered, (first, last), target, budget);
        if next != rendered {
            self.render(next);
            self.schedule_measure();
        }
    }

    /// Records the first visible row. Returns the speed since the last call in rows per second.
    fn record_position(self, first: isize) -> f64 {
        let now = now_ms();
        let (before_ms, before) = self.last_position.get_value();
        self.last_position.set_value((now, first));
        let seconds = (now - before_ms).max(1.0) / 1_000.0;
        rows_f64(first - before).abs() / seconds
    }

    /// Renders these rows. Rows above the first rendered one are added one by one, the nearest
    /// first, all before the next paint: Leptos removes and reinserts every row of the list if more
    /// than one is added before it.
    fn render(self, next: RowSpan) {
        let before = self.rendered.get_untracked();
        let above = (next.0..next.1)
            .contains(&before.0)
            .then(|| (next.0 + 1..before.0).rev());
        spawn_local(async move {
            let began = now_ms();
            for first in above.into_iter().flatten() {
                if self.rendered.try_set((first, next.1)).is_some() {
                    // The table was removed.
                    return;
                }
                tick().await;
            }
            if self.rendered.try_set(next).is_none() {
                tick().await;
                let added = next.1 - next.0 - overlap(before, next);
                if added > 0 {
                    self.frame_budget.try_update_value(|budget| {
                        *budget = budget.with_sample(added, now_ms() - began)
                    });
                }
            }
        });
    }
}

/// The number of rows in both ranges.
fn overlap(a: RowSpan, b: RowSpan) -> isize {
    (a.1.min(b.1) - a.0.max(b.0)).max(0)
}

/// Returns the next range to render on the way to `target`, with at most `budget` new rows. Visible
/// rows come first.
fn next_rendered(
    rendered: RowSpan,
    visible: RowSpan,
    target: RowSpan,
    mut budget: isize,
) -> RowSpan {
    let (mut first, mut last) = (rendered.0.max(target.0), rendered.1.min(target.1));
    if first >= last {
        // No overlap with the rendered range: start with the visible rows.
        return (visible.0, (visible.0 + budget).min(target.1));
    }
    let mut extend = |upto: RowSpan| {
        let below = (upto.1 - last).clamp(0, budget);
        last += below;
        budget -= below;
        let above = (first - upto.0).clamp(0, budget);
        first -= above;
        budget -= above;
    };
    extend(visible);
    extend(target);
    (first, last)
}

fn to_list_rows(span: RowSpan, origin: isize) -> Range<usize> {
    let list_row = |row: isize| usize::try_from(row + origin).unwrap_or(0);
    list_row(span.0)..list_row(span.1)
}

fn table_body() -> Option<web_sys::Element> {
    document().get_element_by_id("lock-rows")
}

fn top_px() -> Option<f64> {
    table_body().map(|body| body.get_bounding_client_rect().top())
}

fn screen_px() -> f64 {
    let height = window().inner_height().ok();
    height.and_then(|px| px.as_f64()).unwrap_or(800.0)
}

/// The browser's monotonic clock, in milliseconds.
fn now_ms() -> f64 {
    window().performance().map_or(0.0, |clock| clock.now())
}

fn scroll_by(px: f64) {
    let root = document().scrolling_element();
    if let Some(root) = root.and_then(|root| root.dyn_into::<web_sys::HtmlElement>().ok()) {
        root.set_scroll_top(root.scroll_top().saturating_add(round_px(px)));
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a page is far less than 2^31 pixels high"
)]
fn round_px(px: f64) -> i32 {
    px.round() as i32
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a page is far less than 2^31 rows long"
)]
fn rows_in(px: f64, row_px: f64) -> isize {
    (px / row_px).floor() as isize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_on_screen_are_rendered_first_and_few_at_a_time() {
        for (rendered, visible, next) in [
            ((0, 60), (0, 20), (0, 26)),
            ((0, 30), (5, 25), (0, 31)),
            ((0, 30), (15, 35), (9, 38)),
            ((0, 30), (1_000, 1_020), (1_000, 1_008)),
            ((1_000, 1_008), (1_000, 1_020), (1_000, 1_016)),
            ((1_000, 1_016), (1_000, 1_020), (1_000, 1_024)),
            ((1_000, 1_024), (1_000, 1_020), (994, 1_026)),
            ((1_000, 1_030), (980, 1_000), (992, 1_006)),
        ] {
            let target = (visible.0 - OVERSCAN, visible.1 + OVERSCAN);
            let target = (target.0.max(0), target.1);
            assert_eq!(
                next_rendered(rendered, visible, target, 8),
                next,
                "{rendered:?} {visible:?}"
            );
        }
    }
}
