//! How close rows stand: comfortable or dense. Remembered by this browser.

use leptos::prelude::*;

use crate::ui::preferences::Preference;
use crate::ui::words::frame;

/// The choice between comfortable and dense rows.
#[component]
pub fn DensitySwitch() -> impl IntoView {
    let chosen = RwSignal::new(String::new());
    Effect::new(move || chosen.set(Preference::Density.chosen()));
    let choose = move |density: String| {
        Preference::Density.choose(&density);
        chosen.set(density);
    };
    view! {
        <label class="needs-script flex flex-col gap-1 text-xs text-muted">
            {frame::rows()}
            <select
                class="h-8 rounded-md border border-line-strong bg-surface px-1.5 text-sm text-ink"
                prop:value=move || chosen.get()
                on:change=move |event| choose(event_target_value(&event))
            >
                <option value="">{frame::comfortable()}</option>
                <option value="dense">{frame::dense()}</option>
            </select>
        </label>
    }
}
