//! Opens a lock's page when its row is clicked or Enter is pressed on it. The table has one listener
//! for all rows: one per row would slow down scrolling.

use leptos::ev;
use wasm_bindgen::JsCast;

/// A click that moved the pointer further than this, in pixels, selected text.
const MAX_CLICK_MOVEMENT: i32 = 4;

/// Where a row is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowOpening {
    /// In this page.
    Here(String),
    /// In a new tab.
    NewTab(String),
}

/// Returns how the clicked row is opened. `pressed_at` is where the button was pressed.
///
/// `None` if the click is not on a row, is on a control inside it, or ended a text selection.
/// Modifier keys on the name itself are left to the browser.
pub fn clicked_row(event: &ev::MouseEvent, pressed_at: (i32, i32)) -> Option<RowOpening> {
    let moved = (event.client_x() - pressed_at.0)
        .abs()
        .max((event.client_y() - pressed_at.1).abs());
    let is_other_button = event.button() != 0 || event.shift_key() || event.alt_key();
    // The number of clicks: 0 for a key, which has no position. A double click selects a word.
    let is_selection = match event.detail() {
        0 => false,
        1 => moved > MAX_CLICK_MOVEMENT,
        _ => true,
    };
    if is_other_button || is_selection {
        return None;
    }
    let element: web_sys::Element = event.target()?.dyn_into().ok()?;
    let row = element.closest("tr.lock-row").ok()??;
    let href = row.query_selector("td.cell-lock a").ok()??;
    let href = href.get_attribute("href")?;
    let opens_elsewhere = event.ctrl_key() || event.meta_key();
    let is_name = element.closest("td.cell-lock a").ok()?.is_some();
    let is_control = element
        .closest("td.cell-select, a, button, input, label")
        .ok()?
        .is_some();
    match (is_name, is_control, opens_elsewhere) {
        (true, _, false) | (false, false, false) => Some(RowOpening::Here(href)),
        (false, false, true) => Some(RowOpening::NewTab(href)),
        (true, _, true) | (false, true, _) => None,
    }
}

/// Returns the link of the row on which Enter was pressed. `None` if a control inside the row has
/// the focus.
pub fn entered_row(event: &ev::KeyboardEvent) -> Option<RowOpening> {
    if event.key() != "Enter" {
        return None;
    }
    let element: web_sys::Element = event.target()?.dyn_into().ok()?;
    if !element.matches("tr.lock-row").ok()? {
        return None;
    }
    let href = element
        .query_selector("td.cell-lock a")
        .ok()??
        .get_attribute("href")?;
    match event.ctrl_key() || event.meta_key() {
        true => Some(RowOpening::NewTab(href)),
        false => Some(RowOpening::Here(href)),
    }
}
