//! How this browser shows the console: what somebody chose for themselves, behind one button.

use leptos::prelude::*;

use super::attention::NotifySwitch;
use super::language_switch::LanguageSwitch;
use super::preference_choice::PreferenceChoice;
use crate::ui::kit::{Icon, Sign};
use crate::ui::preferences::Preference;
use crate::ui::words::frame;

/// The button and what it opens. The browser's own popover: it opens without any script, and closes on Escape and on a click
/// elsewhere.
#[component]
pub fn Settings() -> impl IntoView {
    view! {
        <button
            type="button"
            popovertarget="settings"
            class="inline-flex h-8 items-center gap-1.5 rounded-md px-2 text-muted hover:bg-sunken hover:text-ink"
        >
            <Icon sign=Sign::Sliders />
            <span class="sr-only lg:not-sr-only">{frame::settings()}</span>
        </button>
        <div id="settings" popover="auto" class="corner-menu" aria-label=frame::settings() role="group">
            <PreferenceChoice
                preference=Preference::Theme
                label=frame::theme()
                choices=vec![("", frame::system_theme()), ("light", frame::light()), ("dark", frame::dark())]
            />
            <PreferenceChoice
                preference=Preference::Density
                label=frame::rows()
                choices=vec![("", frame::comfortable()), ("dense", frame::dense())]
            />
            <LanguageSwitch />
            <NotifySwitch />
        </div>
    }
}
