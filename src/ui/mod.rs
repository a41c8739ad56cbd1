//! What a person sees. Compiled for the server (first paint) and the browser.

use leptos::prelude::*;

/// The document around the console.
pub fn shell(options: LeptosOptions) -> impl IntoView {
    view! { <!DOCTYPE html><html lang="en"><head><HydrationScripts options/></head><body><App/></body></html> }
}

/// The console.
#[component]
pub fn App() -> impl IntoView {
    view! { <p>"Lockkeeper"</p> }
}
