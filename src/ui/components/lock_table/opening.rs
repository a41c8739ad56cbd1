//! A row opens its lock: its name when that is clicked, the row itself at Enter. One listener of the table does it for all of them.

use leptos::ev;
use wasm_bindgen::JsCast;

/// The lock whose name was clicked, as the address of its page; nothing where the browser is to open it elsewhere.
pub fn clicked(event: &ev::MouseEvent) -> Option<String> {
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

/// The lock at whose row Enter was pressed, as the address of its page. On what is in the row it means what that says.
pub fn entered(event: &ev::KeyboardEvent) -> Option<String> {
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
