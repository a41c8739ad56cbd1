//! Form drafts in the session storage of the tab, so that a new sign-in does not lose typed text.
//!
//! Not for secrets. Browser only.

use leptos::prelude::{Effect, Get, RwSignal, window};
use serde::Serialize;
use serde::de::DeserializeOwned;
use web_sys::Storage;

/// Saves a draft.
pub fn save(name: &str, draft: &impl Serialize) {
    if let (Some(storage), Ok(text)) = (storage(), serde_json::to_string(draft)) {
        // Drafts are optional: forms also work if storage is disabled or full.
        let _full = storage.set_item(name, &text);
    }
}

/// Loads a draft; `None` if there is none or if another version saved an incompatible one.
pub fn load<T: DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_str(&text(name)?).ok()
}

/// Whether there is a draft.
pub fn exists(name: &str) -> bool {
    text(name).is_some()
}

fn text(name: &str) -> Option<String> {
    storage()?.get_item(name).ok()?
}

/// Saves a draft whenever it changes.
pub fn autosave<T>(name: String, draft: RwSignal<T>)
where
    T: Clone + PartialEq + Serialize + Send + Sync + 'static,
{
    Effect::new(move |before: Option<T>| {
        let draft = draft.get();
        if before.is_some_and(|before| before != draft) {
            save(&name, &draft);
        }
        draft
    });
}

/// Deletes a draft.
pub fn discard(name: &str) {
    if let Some(storage) = storage() {
        let _gone = storage.remove_item(name);
    }
}

fn storage() -> Option<Storage> {
    window().session_storage().ok()?
}
