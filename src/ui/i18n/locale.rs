//! The locale of the current page.

use crate::domain::Locale;

/// The locale of the page that is being rendered, which the server took from the request.
#[cfg(not(target_arch = "wasm32"))]
pub fn locale() -> Locale {
    leptos::prelude::use_context().unwrap_or_default()
}

/// The locale of the page, from the `lang` attribute that the server rendered. Choosing another
/// locale reloads the page.
#[cfg(target_arch = "wasm32")]
pub fn locale() -> Locale {
    thread_local! {
        static PAGE_LOCALE: Locale = leptos::prelude::document()
            .document_element()
            .and_then(|page| Locale::from_tag(&page.get_attribute("lang")?))
            .unwrap_or_default();
    }
    PAGE_LOCALE.with(|locale| *locale)
}
