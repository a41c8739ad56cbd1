//! The theme: the system's, light or dark. `public/theme.js` applies the choice before the first paint.

use leptos::prelude::*;

const STORED: &str = "lockkeeper.theme";

/// A choice of theme, remembered by this browser.
#[component]
pub fn ThemeSwitch() -> impl IntoView {
    let chosen = RwSignal::new(String::new());
    Effect::new(move || chosen.set(stored().unwrap_or_default()));
    let choose = move |theme: String| {
        let root = document().document_element();
        let storage = window().local_storage().ok().flatten();
        if theme.is_empty() {
            root.map(|root| root.remove_attribute("data-theme"));
            storage.map(|storage| storage.remove_item(STORED));
        } else {
            root.map(|root| root.set_attribute("data-theme", &theme));
            storage.map(|storage| storage.set_item(STORED, &theme));
        }
        chosen.set(theme);
    };
    view! {
        <select
            aria-label="Theme"
            class="h-8 rounded-md border border-line bg-surface px-1.5 text-muted hover:text-ink"
            prop:value=move || chosen.get()
            on:change=move |event| choose(event_target_value(&event))
        >
            <option value="">"System theme"</option>
            <option value="light">"Light"</option>
            <option value="dark">"Dark"</option>
        </select>
    }
}

fn stored() -> Option<String> {
    let theme = window().local_storage().ok()??.get_item(STORED).ok()??;
    ["light", "dark"].contains(&theme.as_str()).then_some(theme)
}
