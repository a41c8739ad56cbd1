//! What somebody is typing, kept for this tab until it is sent or dropped: signing in again on another page does not lose it.
//!
//! Not for secrets. Only to be called in the browser.

use leptos::prelude::window;
use web_sys::Storage;

/// Keeps a text under this name.
pub fn keep(name: &str, text: &str) {
    if let Some(storage) = storage() {
        // Where the browser keeps nothing, nothing is kept: that is no reason to stop anybody from typing.
        let _full = storage.set_item(name, text);
    }
}

/// What is kept under this name.
pub fn kept(name: &str) -> Option<String> {
    storage()?.get_item(name).ok()?
}

/// Keeps it no longer.
pub fn forget(name: &str) {
    if let Some(storage) = storage() {
        let _gone = storage.remove_item(name);
    }
}

fn storage() -> Option<Storage> {
    window().session_storage().ok()?
}
