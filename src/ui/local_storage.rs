//! Values in the local storage of the browser. Signing out deletes recent locks and drafts;
//! preferences and saved views stay.

use leptos::prelude::window;
use web_sys::Storage;

/// The key of the recently opened locks.
pub const RECENT_LOCKS: &str = "lockkeeper.recent";

/// The value of a key; `None` if it is not set or if storage is disabled. Browser only.
pub fn get(name: &str) -> Option<String> {
    storage()?.get_item(name).ok()?
}

/// Sets the value of a key; an empty value removes it. Browser only.
pub fn set(name: &str, text: &str) {
    if let Some(storage) = storage() {
        // Without storage the value still applies until the page is closed.
        let _full_or_off = match text {
            "" => storage.remove_item(name),
            text => storage.set_item(name, text),
        };
    }
}

/// Deletes the recent locks, and the drafts of this tab. Browser only.
pub fn clear_user_data() {
    set(RECENT_LOCKS, "");
    let drafts = window().session_storage().ok().flatten();
    if let Some(drafts) = drafts {
        // The session storage contains only drafts.
        let _off = drafts.clear();
    }
}

fn storage() -> Option<Storage> {
    window().local_storage().ok()?
}
