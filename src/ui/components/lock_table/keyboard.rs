//! Keyboard navigation in the table.
//!
//! `j` and `k` move between locks, Space shows the details of one beside the table, and Enter opens
//! it. One row is in the tab order (roving tabindex), so that Tab leaves the table with one press.

use leptos::ev;
use leptos::leptos_dom::helpers::{request_animation_frame, window_event_listener};
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use super::viewport::Viewport;
use super::virtual_rows::VirtualRows;
use crate::domain::LockId;

/// The focused row. A copyable handle.
#[derive(Clone, Copy)]
pub struct Cursor {
    rows: Memo<VirtualRows>,
    viewport: Viewport,
    /// The lock of the focused row. `None` until a row had the focus.
    current: RwSignal<Option<LockId>>,
    /// The row to focus as soon as its lock is loaded.
    pending_row: RwSignal<Option<usize>>,
    /// Whether the current row still has to take the focus.
    is_focus_pending: RwSignal<bool>,
    /// Whether the details of the focused row are shown beside the table.
    pub is_peeking: RwSignal<bool>,
    /// The row in the tab order: the current row, or else the first visible one.
    tab_stop: Memo<Option<LockId>>,
}

impl Cursor {
    /// No row has the focus.
    pub fn new(rows: Memo<VirtualRows>, viewport: Viewport) -> Self {
        let current = RwSignal::new(None::<LockId>);
        let tab_stop = Memo::new(move |_| {
            rows.with(|rows| {
                let current = current
                    .get()
                    .filter(|current| rows.row_of(current).is_some());
                current.or_else(|| {
                    let first = viewport.visible_rows(rows.origin).start;
                    rows.id_at(first).or(rows.ids.first()).cloned()
                })
            })
        });
        Self {
            rows,
            viewport,
            current,
            tab_stop,
            pending_row: RwSignal::new(None),
            is_focus_pending: RwSignal::new(false),
            is_peeking: RwSignal::new(false),
        }
    }

    /// The lock whose details are shown beside the table. Tracked.
    pub fn peeked(self) -> Option<LockId> {
        self.current.get().filter(|_| self.is_peeking.get())
    }

    /// Handles key presses until the table is removed. Browser only.
    pub fn listen(self) {
        Effect::new(move || {
            let listening =
                window_event_listener(ev::keydown, move |event| self.handle_key(&event));
            on_cleanup(move || listening.remove());
        });
        // The target row may be outside the loaded range: the move completes when the server sends
        // it.
        Effect::new(move || {
            if let Some(row) = self.pending_row.get()
                && let Some(id) = self.rows.with(|rows| rows.id_at(row).cloned())
            {
                self.pending_row.set(None);
                self.current.set(Some(id));
                self.is_focus_pending.set(true);
            }
        });
        // The row takes the focus as soon as it is rendered.
        Effect::new(move || {
            let id = self.current.get().filter(|_| self.is_focus_pending.get());
            let row = id.and_then(|id| {
                self.rows.with(|rows| {
                    let rendered = self.viewport.rendered_rows(rows.origin);
                    rows.row_of(&id).filter(|row| rendered.contains(row))
                })
            });
            if let Some(row) = row
                && !focus_row(row)
            {
                request_animation_frame(move || {
                    // If the row is still missing, this effect runs again when it is rendered.
                    let _is_focused = focus_row(row);
                });
            }
        });
        // Rows are rendered outside the tab order, so the tab stop is set again after every change
        // of the rendered range.
        Effect::new(move || {
            let row = self.rows.with(|rows| {
                let _tracked = self.viewport.rendered_rows(rows.origin);
                self.tab_stop.read().as_ref().and_then(|id| rows.row_of(id))
            });
            request_animation_frame(move || set_tab_stop(row));
        });
    }

    /// Records that a row received the focus.
    pub fn set_current(self, id: &LockId) {
        self.is_focus_pending.set(false);
        if self
            .current
            .with_untracked(|current| current.as_ref() != Some(id))
        {
            self.current.set(Some(id.clone()));
        }
    }

    fn handle_key(self, event: &ev::KeyboardEvent) {
        let with_others = event.ctrl_key() || event.meta_key() || event.alt_key();
        let Some(target) = key_target(event).filter(|_| !with_others) else {
            return;
        };
        let (row, total) = self.rows.with_untracked(|rows| {
            let current = self.current.get_untracked();
            let row = self.pending_row.get_untracked();
            (
                row.or(current.and_then(|current| rows.row_of(&current))),
                rows.total,
            )
        });
        let origin = self.rows.with_untracked(|rows| rows.origin);
        let visible = self.viewport.visible_rows_untracked(origin);
        let page = visible.len().saturating_sub(3).max(1);
        let is_on_row = target == KeyTarget::Row;
        let is_peeking = self.is_peeking.get_untracked();
        match event.key().as_str() {
            " " if is_on_row => {
                event.prevent_default();
                self.is_peeking.set(!is_peeking);
                return;
            }
            "Escape" if is_peeking => {
                event.prevent_default();
                self.is_peeking.set(false);
                return;
            }
            _ => {}
        }
        let to = match (event.key().as_str(), row) {
            ("j" | "k", None) => visible.start,
            ("j", Some(row)) => row + 1,
            ("k", Some(row)) => row.saturating_sub(1),
            ("ArrowDown", Some(row)) if is_on_row => row + 1,
            ("ArrowUp", Some(row)) if is_on_row => row.saturating_sub(1),
            ("PageDown", Some(row)) if is_on_row => row + page,
            ("PageUp", Some(row)) if is_on_row => row.saturating_sub(page),
            ("Home", Some(_)) if is_on_row => 0,
            ("End", Some(_)) if is_on_row => total,
            _ => return,
        };
        event.prevent_default();
        let to = to.min(total.saturating_sub(1));
        self.pending_row.set(Some(to));
        self.viewport.scroll_to_row(to);
    }
}

/// Focuses the row of the tab order, or the first bucket of a grouped list. Returns false if there
/// is none.
pub fn focus_first_row() -> bool {
    let row = document().query_selector("#lock-rows > tr[tabindex='0'], #bucket-rows a");
    let row = row.ok().flatten();
    let row = row.and_then(|row| row.dyn_into::<web_sys::HtmlElement>().ok());
    row.is_some_and(|row| row.focus().is_ok())
}

/// Opens the lock of a list with a single row. Returns false if there are more rows, or none.
pub fn open_only_row() -> bool {
    let second_row = "#lock-rows > tr[aria-rowindex] ~ tr[aria-rowindex]";
    if !matches!(document().query_selector(second_row), Ok(None)) {
        return false;
    }
    let link = document().query_selector("#lock-rows > tr[aria-rowindex] a[href*='/locks/']");
    let link = link.ok().flatten();
    let link = link.and_then(|link| link.dyn_into::<web_sys::HtmlElement>().ok());
    link.inspect(web_sys::HtmlElement::click).is_some()
}

/// Focuses a row. Returns false if the row is not rendered.
fn focus_row(row: usize) -> bool {
    find_row(&row_selector(row)).is_some_and(|row| row.focus().is_ok())
}

/// Makes this row the only one in the tab order.
fn set_tab_stop(row: Option<usize>) {
    let before = find_row("tabindex='0'");
    let after = row.and_then(|row| find_row(&row_selector(row)));
    if before == after {
        return;
    }
    if let Some(before) = before {
        before.set_tab_index(-1);
    }
    if let Some(after) = after {
        after.set_tab_index(0);
    }
}

fn row_selector(row: usize) -> String {
    format!("aria-rowindex='{}'", row + 2)
}

/// Returns the rendered row with this attribute.
fn find_row(attribute: &str) -> Option<web_sys::HtmlElement> {
    let selector = format!("#lock-rows > tr[{attribute}]");
    let row = document().query_selector(&selector).ok().flatten()?;
    row.dyn_into().ok()
}

/// The element that has the focus when a key is pressed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KeyTarget {
    /// A table row.
    Row,
    /// Anything else that does not take text.
    Page,
}

/// Returns where a key was pressed. `None` if the key belongs to a text field, a dialog or a
/// popover.
pub fn key_target(event: &ev::KeyboardEvent) -> Option<KeyTarget> {
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
        return Some(KeyTarget::Row);
    }
    let is_typed_into = element
        .matches("input:not([type=checkbox]), textarea, select")
        .ok()?;
    (!is_typed_into).then_some(KeyTarget::Page)
}
