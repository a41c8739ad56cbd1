//! What somebody is typing, kept for this tab until it is sent or dropped: signing in again on another page does not lose it.
//!
//! Not for secrets. Only to be called in the browser.

use leptos::prelude::{Effect, Get, RwSignal, window};
use serde::Serialize;
use serde::de::DeserializeOwned;
use web_sys::Storage;

/// Keeps what is typed under this name.
pub fn keep(name: &str, draft: &impl Serialize) {
    if let (Some(storage), Ok(text)) = (storage(), serde_json::to_string(draft)) {
        // Where the browser keeps nothing, nothing is kept: that is no reason to stop anybody from typing.
        let _full = storage.set_item(name, &text);
    }
}

/// What is kept under this name, unless another version of the page kept something else.
pub fn kept<T: DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_str(&text(name)?).ok()
}

/// Whether anything is kept under this name.
pub fn is_kept(name: &str) -> bool {
    text(name).is_some()
}

fn text(name: &str) -> Option<String> {
    storage()?.get_item(name).ok()?
}

/// Keeps what is typed under this name, whenever that changes.
pub fn keep_changes<T>(name: String, draft: RwSignal<T>)
where
    T: Clone + PartialEq + Serialize + Send + Sync + 'static,
{
    Effect::new(move |before: Option<T>| {
        let draft = draft.get();
        if before.is_some_and(|before| before != draft) {
            keep(&name, &draft);
        }
        draft
    });
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
