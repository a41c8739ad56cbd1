//! The keyboard on the rows: `j` and `k` go from lock to lock, and Enter opens one. One row can be reached with Tab, the others
//! from it.

use leptos::ev;
use leptos::leptos_dom::helpers::{request_animation_frame, window_event_listener};
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use super::rows::Rows;
use super::viewport::Viewport;
use crate::domain::LockId;

/// The row that the keyboard is at. A handle: copy it freely.
#[derive(Clone, Copy)]
pub struct Cursor {
    rows: Memo<Rows>,
    viewport: Viewport,
    /// The lock; the first one on screen while it is nobody's turn yet.
    at: RwSignal<Option<LockId>>,
    /// The row to go to when its lock has come.
    wanted: RwSignal<Option<usize>>,
    /// Whether the row at the cursor is to take the focus.
    is_called: RwSignal<bool>,
    /// The row that Tab reaches: where the keyboard is, else the first one on screen.
    stop: Memo<Option<LockId>>,
}

impl Cursor {
    /// On no row yet.
    pub fn new(rows: Memo<Rows>, viewport: Viewport) -> Self {
        let at = RwSignal::new(None::<LockId>);
        let stop = Memo::new(move |_| {
            rows.with(|rows| {
                let at = at.get().filter(|at| rows.row_of(at).is_some());
                at.or_else(|| {
                    let first = viewport.seen(rows.origin).start;
                    rows.at(first).or(rows.ids.first()).cloned()
                })
            })
        });
        Self {
            rows,
            viewport,
            at,
            stop,
            wanted: RwSignal::new(None),
            is_called: RwSignal::new(false),
        }
    }

    /// Listens, in the browser, for as long as the table lives.
    pub fn follow(self) {
        Effect::new(move || {
            let listening = window_event_listener(ev::keydown, move |event| self.press(&event));
            on_cleanup(move || listening.remove());
        });
        // A row that was gone to before it was there.
        Effect::new(move || {
            if let Some(row) = self.wanted.get()
                && let Some(id) = self.rows.with(|rows| rows.at(row).cloned())
            {
                self.wanted.set(None);
                self.at.set(Some(id));
                self.is_called.set(true);
            }
        });
        // It takes the focus at once, or as soon as it is drawn.
        Effect::new(move || {
            let id = self.at.get().filter(|_| self.is_called.get());
            let row = id.and_then(|id| {
                self.rows.with(|rows| {
                    let drawn = self.viewport.drawn(rows.origin);
                    rows.row_of(&id).filter(|row| drawn.contains(row))
                })
            });
            if let Some(row) = row
                && !focus(row)
            {
                request_animation_frame(move || {
                    // A row that is drawn only later calls once more.
                    let _later = focus(row);
                });
            }
        });
        // One row is within reach of Tab. Rows come without, so whenever others are drawn it is looked for again.
        Effect::new(move || {
            let row = self.rows.with(|rows| {
                let _drawn = self.viewport.drawn(rows.origin);
                self.stop.read().as_ref().and_then(|id| rows.row_of(id))
            });
            request_animation_frame(move || reach(row));
        });
    }

    /// The row has the focus, however it came to it.
    pub fn is_here(self, id: &LockId) {
        self.is_called.set(false);
        if self.at.with_untracked(|at| at.as_ref() != Some(id)) {
            self.at.set(Some(id.clone()));
        }
    }

    fn press(self, event: &ev::KeyboardEvent) {
        let with_others = event.ctrl_key() || event.meta_key() || event.alt_key();
        let Some(place) = place_of(event).filter(|_| !with_others) else {
            return;
        };
        let (row, total) = self.rows.with_untracked(|rows| {
            let at = self.at.get_untracked();
            let row = self.wanted.get_untracked();
            (row.or(at.and_then(|at| rows.row_of(&at))), rows.total)
        });
        let origin = self.rows.with_untracked(|rows| rows.origin);
        let seen = self.viewport.seen_untracked(origin);
        let page = seen.len().saturating_sub(3).max(1);
        let arrows = place == Place::Row;
        let to = match (event.key().as_str(), row) {
            ("j" | "k", None) => seen.start,
            ("j", Some(row)) => row + 1,
            ("k", Some(row)) => row.saturating_sub(1),
            ("ArrowDown", Some(row)) if arrows => row + 1,
            ("ArrowUp", Some(row)) if arrows => row.saturating_sub(1),
            ("PageDown", Some(row)) if arrows => row + page,
            ("PageUp", Some(row)) if arrows => row.saturating_sub(page),
            ("Home", Some(_)) if arrows => 0,
            ("End", Some(_)) if arrows => total,
            _ => return,
        };
        event.prevent_default();
        let to = to.min(total.saturating_sub(1));
        self.wanted.set(Some(to));
        self.viewport.show(to);
    }
}

/// Gives a row the focus; false where it is not in the page.
fn focus(row: usize) -> bool {
    element(&row_index(row)).is_some_and(|row| row.focus().is_ok())
}

/// Has Tab reach this row and no other.
fn reach(row: Option<usize>) {
    let before = element("tabindex='0'");
    let now = row.and_then(|row| element(&row_index(row)));
    if before == now {
        return;
    }
    if let Some(before) = before {
        before.set_tab_index(-1);
    }
    if let Some(now) = now {
        now.set_tab_index(0);
    }
}

fn row_index(row: usize) -> String {
    format!("aria-rowindex='{}'", row + 2)
}

/// The row with this attribute, if it is in the page.
fn element(attribute: &str) -> Option<web_sys::HtmlElement> {
    let selector = format!("#lock-rows > tr[{attribute}]");
    let row = document().query_selector(&selector).ok().flatten()?;
    row.dyn_into().ok()
}

/// Where a key was pressed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On a row.
    Row,
    /// Nowhere in particular.
    Page,
}

/// Where a key was pressed; nothing where it means something else.
pub fn place_of(event: &ev::KeyboardEvent) -> Option<Place> {
    if event.default_prevented() {
        return None;
    }
    let element: web_sys::Element = event.target()?.dyn_into().ok()?;
    if element.closest("dialog, [popover]").ok()?.is_some() {
        return None;
    }
    let modal = document().query_selector("dialog[open]").ok()?;
    if modal.is_some() {
        return None;
    }
    if element.matches("tr.lock-row").ok()? {
        return Some(Place::Row);
    }
    let is_typed_into = element
        .matches("input:not([type=checkbox]), textarea, select")
        .ok()?;
    (!is_typed_into).then_some(Place::Page)
}
