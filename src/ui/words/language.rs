//! Which language the page is in.

use crate::domain::Language;

/// The language of the page that is being painted: what the server read from the request.
#[cfg(not(target_arch = "wasm32"))]
pub fn language() -> Language {
    leptos::prelude::use_context().unwrap_or_default()
}

/// The language of the page, as the server sent it. Another choice loads the page again.
#[cfg(target_arch = "wasm32")]
pub fn language() -> Language {
    thread_local! {
        static SENT: Language = leptos::prelude::document()
            .document_element()
            .and_then(|page| Language::from_tag(&page.get_attribute("lang")?))
            .unwrap_or_default();
    }
    SENT.with(|language| *language)
}
