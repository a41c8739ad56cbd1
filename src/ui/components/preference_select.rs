//! A menu for a display preference, stored in the browser.

use leptos::prelude::*;

use crate::ui::preferences::Preference;

/// A menu for a display preference.
#[component]
pub fn PreferenceSelect(
    /// The preference to set.
    preference: Preference,
    /// The label of the menu.
    label: &'static str,
    /// The values with their labels. The empty value is the default.
    choices: Vec<(&'static str, &'static str)>,
    /// Called with a new value.
    #[prop(into, optional)]
    on_choose: Option<Callback<String>>,
) -> impl IntoView {
    let chosen = RwSignal::new(String::new());
    Effect::new(move || chosen.set(preference.get()));
    let choose = move |value: String| {
        preference.set(&value);
        if let Some(on_choose) = on_choose {
            on_choose.run(value.clone());
        }
        chosen.set(value);
    };
    let option = |(value, text)| view! { <option value=value>{text}</option> };
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
