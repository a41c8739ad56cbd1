//! The theme: the system's, light or dark. Remembered by this browser.

use leptos::prelude::*;

use crate::ui::preferences::Preference;
use crate::ui::words::frame;

/// A choice of theme.
#[component]
pub fn ThemeSwitch() -> impl IntoView {
    let chosen = RwSignal::new(String::new());
    Effect::new(move || chosen.set(Preference::Theme.chosen()));
    let choose = move |theme: String| {
        Preference::Theme.choose(&theme);
        chosen.set(theme);
    };
    view! {
        <label class="needs-script flex flex-col gap-1 text-xs text-muted">
            {frame::theme()}
            <select
                class="h-8 rounded-md border border-line-strong bg-surface px-1.5 text-sm text-ink"
                prop:value=move || chosen.get()
                on:change=move |event| choose(event_target_value(&event))
            >
                <option value="">{frame::system_theme()}</option>
                <option value="light">{frame::light()}</option>
                <option value="dark">{frame::dark()}</option>
            </select>
        </label>
    }
}
