//! A choice of how the console looks, which this browser remembers.

use leptos::prelude::*;

use crate::ui::preferences::Preference;

/// One of several looks.
#[component]
pub fn PreferenceChoice(
    /// What is chosen.
    preference: Preference,
    /// What it is called.
    label: &'static str,
    /// Each value with what it is called; the empty one is what nobody chose.
    choices: Vec<(&'static str, &'static str)>,
) -> impl IntoView {
    let chosen = RwSignal::new(String::new());
    Effect::new(move || chosen.set(preference.chosen()));
    let choose = move |value: String| {
        preference.choose(&value);
        chosen.set(value);
    };
    let option = |(value, words)| view! { <option value=value>{words}</option> };
    view! {
        <label class="needs-script flex flex-col gap-1 text-xs text-muted">
            {label}
            <select
                class="h-8 rounded-md border border-line-strong bg-surface px-1.5 text-sm text-ink"
                prop:value=move || chosen.get()
                on:change=move |event| choose(event_target_value(&event))
            >
                {choices.into_iter().map(option).collect_view()}
            </select>
        </label>
    }
}
