//! What this browser remembers of where somebody was and of what they were about to do. Whoever signs out takes it along; how the
//! console looks, and views that somebody gave a name, stay.

use leptos::prelude::window;
use web_sys::Storage;

/// The locks that were looked at lately.
pub const RECENT: &str = "lockkeeper.recent";

/// What is remembered under this name; nothing where this browser remembers nothing. In the browser only.
pub fn kept(name: &str) -> Option<String> {
    storage()?.get_item(name).ok()?
}

/// Remembers something under this name. In the browser only.
pub fn keep(name: &str, text: &str) {
    if let Some(storage) = storage() {
        // What cannot be remembered still holds until the page goes.
        let _full_or_off = match text {
            "" => storage.remove_item(name),
            text => storage.set_item(name, text),
        };
    }
}

/// Forgets where somebody was, and what they had begun to type in this tab. In the browser only.
pub fn forget() {
    keep(RECENT, "");
    let drafts = window().session_storage().ok().flatten();
    if let Some(drafts) = drafts {
        // Nothing but drafts is kept there.
        let _off = drafts.clear();
    }
}

fn storage() -> Option<Storage> {
    window().local_storage().ok()?
}
