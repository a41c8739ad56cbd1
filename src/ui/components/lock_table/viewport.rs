//! Which rows are on screen, and which are drawn: those, some around them, and never many new ones in one frame.

use std::ops::Range;

use leptos::leptos_dom::helpers::{request_animation_frame, window_event_listener_untyped};
use leptos::prelude::*;
use leptos::task::{spawn_local, tick};
use wasm_bindgen::JsCast;

use super::pace::{Pace, rows_f64};
use crate::ui::first_view::ROWS_AT_FIRST;

/// So many rows are drawn beyond those on screen, above and below.
const BEYOND: isize = 6;
/// So many rows are taken for seen until it is known how many the screen has.
const AT_FIRST: isize = ROWS_AT_FIRST.cast_signed();
/// What covers the upper end of the screen: the heading of the table.
const HEADING_PX: f64 = 36.0;

/// Rows from the first to before the last, counted from where they stood when the list was opened.
pub type Span = (isize, isize);

/// The part of the table that is on screen. A handle: copy it freely.
#[derive(Clone, Copy)]
pub struct Viewport {
    /// The rows on screen.
    seen: RwSignal<Span>,
    /// The rows that are drawn.
    drawn: RwSignal<Span>,
    /// How high a row is, once that is known. All are equally high.
    row_px: RwSignal<Option<f64>>,
    /// By how many rows the list has moved.
    origin: StoredValue<isize>,
    /// The row at which the page was opened, until there is room for those before it.
    opened_at: StoredValue<usize>,
    is_waiting_for_frame: StoredValue<bool>,
    pace: StoredValue<Pace>,
}

impl Viewport {
    /// At this row of the list; nothing is known of the screen yet.
    pub fn at(row: usize) -> Self {
        let first = isize::try_from(row).unwrap_or(isize::MAX - AT_FIRST);
        Self {
            seen: RwSignal::new((first, first + AT_FIRST)),
            drawn: RwSignal::new((first, first + AT_FIRST)),
            row_px: RwSignal::new(None),
            origin: StoredValue::new(0),
            opened_at: StoredValue::new(row),
            is_waiting_for_frame: StoredValue::new(false),
            pace: StoredValue::new(Pace::UNKNOWN),
        }
    }

    /// Follows the screen, in the browser, for as long as the table lives.
    pub fn follow(self) {
        Effect::new(move || {
            self.at_next_frame();
            let scrolling = window_event_listener_untyped("scroll", move |_| self.at_next_frame());
            let resizing = window_event_listener_untyped("resize", move |_| self.at_next_frame());
            on_cleanup(move || {
                scrolling.remove();
                resizing.remove();
            });
        });
    }

    /// The rows on screen; tracks them.
    pub fn seen(self, origin: isize) -> Range<usize> {
        placed(self.seen.get(), origin)
    }

    /// The same without tracking them.
    pub fn seen_untracked(self, origin: isize) -> Range<usize> {
        placed(self.seen.get_untracked(), origin)
    }

    /// The rows to draw; tracks them.
    pub fn drawn(self, origin: isize) -> Range<usize> {
        placed(self.drawn.get(), origin)
    }

    /// How high so many rows are, as an attribute says it; nothing until that is known, tracks that.
    pub fn height(self, rows: usize) -> Option<String> {
        let px = self.row_px.get()?;
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        Some(whole(f64::from(rows) * px).to_string())
    }

    /// The list has moved: the page is scrolled by as much, so that what is looked at stays where it is.
    pub fn moved_to(self, origin: isize) {
        let by = origin - self.origin.get_value();
        if by == 0 {
            return;
        }
        self.origin.set_value(origin);
        // A list that was opened anew begins at its top.
        let Some(px) = self.row_px.get_untracked().filter(|_| origin != 0) else {
            return;
        };
        request_animation_frame(move || scroll_by(rows_f64(by) * px));
    }

    /// Scrolls as far as is needed for this row to be on screen.
    pub fn show(self, row: usize) {
        let (Some(px), Some(top)) = (self.row_px.get_untracked(), top_px()) else {
            return;
        };
        let row = isize::try_from(row).unwrap_or(isize::MAX);
        let upper = top + rows_f64(row) * px;
        let screen = screen_px();
        if upper < HEADING_PX {
            scroll_by(upper - HEADING_PX);
        } else if upper + px > screen {
            scroll_by(upper + px - screen);
        }
    }

    /// Scrolls to the first row, if that is out of sight.
    pub fn to_top(self) {
        if let Some(top) = top_px().filter(|top| *top < 0.0) {
            scroll_by(top - HEADING_PX);
        }
    }

    /// Looks at the screen once more before it is painted.
    pub fn at_next_frame(self) {
        if self.is_waiting_for_frame.try_get_value() != Some(false) {
            return;
        }
        self.is_waiting_for_frame.set_value(true);
        request_animation_frame(move || {
            if self.is_waiting_for_frame.try_get_value().is_some() {
                self.is_waiting_for_frame.set_value(false);
                self.measure();
            }
        });
    }

    /// Room for the rows before those that the page was opened at comes above them now: they stay where they are.
    fn make_room(self, rows: usize, px: f64) {
        request_animation_frame(move || {
            let rows = isize::try_from(rows).unwrap_or(isize::MAX);
            scroll_by(rows_f64(rows) * px);
            self.at_next_frame();
        });
    }

    fn measure(self) {
        let Some(body) = body() else {
            return;
        };
        let row = body.query_selector("tr.lock-row").ok().flatten();
        let height = row.map(|row| row.get_bounding_client_rect().height());
        if let Some(px) = height.filter(|px| *px >= 1.0)
            && self.row_px.get_untracked() != Some(px)
        {
            self.row_px.set(Some(px));
            let before = self.opened_at.get_value();
            if before > 0 {
                self.opened_at.set_value(0);
                self.make_room(before, px);
                return;
            }
        }
        let Some(px) = self.row_px.get_untracked() else {
            return;
        };
        let above = HEADING_PX - body.get_bounding_client_rect().top();
        let origin = self.origin.get_value();
        let first = rows_of(above, px).max(0) - origin;
        let last = rows_of(above - HEADING_PX + screen_px(), px).max(0) + 1 - origin;
        if self.seen.get_untracked() != (first, last) {
            self.seen.set((first, last));
        }
        let wanted = (first - BEYOND, last + BEYOND);
        let drawn = self.drawn.get_untracked();
        let room = self.pace.get_value().in_a_frame();
        let next = closer(drawn, (first, last), wanted, room);
        if next != drawn {
            self.draw(next);
            self.at_next_frame();
        }
    }

    /// Has these rows drawn. Of several that come before the first the last comes first, one by one and all before the screen is
    /// painted: leptos takes every row of the list out of the page and puts it back where more than one comes in before it.
    fn draw(self, next: Span) {
        let before = self.drawn.get_untracked();
        let above = (next.0..next.1)
            .contains(&before.0)
            .then(|| (next.0 + 1..before.0).rev());
        spawn_local(async move {
            let began = now_ms();
            for first in above.into_iter().flatten() {
                if self.drawn.try_set((first, next.1)).is_some() {
                    // The table is gone.
                    return;
                }
                tick().await;
            }
            if self.drawn.try_set(next).is_none() {
                tick().await;
                let came = next.1 - next.0 - overlap(before, next);
                if came > 0 {
                    self.pace
                        .try_update_value(|pace| *pace = pace.after(came, now_ms() - began));
                }
            }
        });
    }
}

/// How many rows are in both.
fn overlap(a: Span, b: Span) -> isize {
    (a.1.min(b.1) - a.0.max(b.0)).max(0)
}

/// What to draw next on the way from what is drawn to what is wanted, with room for so many new ones: the rows on screen first.
fn closer(drawn: Span, seen: Span, wanted: Span, mut room: isize) -> Span {
    let (mut first, mut last) = (drawn.0.max(wanted.0), drawn.1.min(wanted.1));
    if first >= last {
        // Nothing of it is there: begin where the eye is.
        return (seen.0, (seen.0 + room).min(wanted.1));
    }
    let mut extend = |upto: Span| {
        let below = (upto.1 - last).clamp(0, room);
        last += below;
        room -= below;
        let above = (first - upto.0).clamp(0, room);
        first -= above;
        room -= above;
    };
    extend(seen);
    extend(wanted);
    (first, last)
}

fn placed(span: Span, origin: isize) -> Range<usize> {
    let place = |row: isize| usize::try_from(row + origin).unwrap_or(0);
    place(span.0)..place(span.1)
}

fn body() -> Option<web_sys::Element> {
    document().get_element_by_id("lock-rows")
}

fn top_px() -> Option<f64> {
    body().map(|body| body.get_bounding_client_rect().top())
}

fn screen_px() -> f64 {
    let height = window().inner_height().ok();
    height.and_then(|px| px.as_f64()).unwrap_or(800.0)
}

/// The browser's clock for measuring: milliseconds since the page began.
fn now_ms() -> f64 {
    window().performance().map_or(0.0, |clock| clock.now())
}

fn scroll_by(px: f64) {
    let root = document().scrolling_element();
    if let Some(root) = root.and_then(|root| root.dyn_into::<web_sys::HtmlElement>().ok()) {
        root.set_scroll_top(root.scroll_top().saturating_add(whole(px)));
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a page is far less than 2^31 pixels high"
)]
fn whole(px: f64) -> i32 {
    px.round() as i32
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a page is far less than 2^31 rows long"
)]
fn rows_of(px: f64, row_px: f64) -> isize {
    (px / row_px).floor() as isize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_on_screen_are_drawn_first_and_never_many_at_once() {
        for (drawn, seen, next) in [
            ((0, 60), (0, 20), (0, 26)),
            ((0, 30), (5, 25), (0, 31)),
            ((0, 30), (15, 35), (9, 38)),
            ((0, 30), (1_000, 1_020), (1_000, 1_008)),
            ((1_000, 1_008), (1_000, 1_020), (1_000, 1_016)),
            ((1_000, 1_016), (1_000, 1_020), (1_000, 1_024)),
            ((1_000, 1_024), (1_000, 1_020), (994, 1_026)),
            ((1_000, 1_030), (980, 1_000), (992, 1_006)),
        ] {
            let wanted = (seen.0 - BEYOND, seen.1 + BEYOND);
            let wanted = (wanted.0.max(0), wanted.1);
            assert_eq!(closer(drawn, seen, wanted, 8), next, "{drawn:?} {seen:?}");
        }
    }
}
