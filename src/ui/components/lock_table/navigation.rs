//! Opens a lock's page when its name is clicked or Enter is pressed on its row. The table has one
//! listener for all rows: one per row would slow down scrolling.

use leptos::ev;
use wasm_bindgen::JsCast;

/// Returns the link of the clicked lock name. `None` if the click has a modifier key, which the
/// browser handles (new tab or window).
pub fn href_of_clicked_name(event: &ev::MouseEvent) -> Option<String> {
    let with_others = event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key();
    if event.button() != 0 || with_others {
        return None;
    }
    let element: web_sys::Element = event.target()?.dyn_into().ok()?;
    element
        .closest("td.cell-lock a")
        .ok()??
        .get_attribute("href")
}

/// Returns the link of the row on which Enter was pressed. `None` if a control inside the row has
/// the focus.
pub fn href_of_entered_row(event: &ev::KeyboardEvent) -> Option<String> {
    if event.key() != "Enter" || event.ctrl_key() || event.meta_key() {
        return None;
    }
    let element: web_sys::Element = event.target()?.dyn_into().ok()?;
    if !element.matches("tr.lock-row").ok()? {
        return None;
    }
    element
        .query_selector("td.cell-lock a")
        .ok()??
        .get_attribute("href")
}
