//! What a person sees. Compiled for the server (first paint) and the browser.

use leptos::prelude::*;

/// The console.
#[component]
pub fn App() -> impl IntoView {
    view! { <p>"Lockkeeper"</p> }
}
