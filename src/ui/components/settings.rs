//! The settings menu: theme, density, language and notifications.

use leptos::prelude::*;

use super::attention::NotificationSwitch;
use super::language_switch::LanguageSwitch;
use super::preference_select::PreferenceSelect;
use crate::ui::i18n::shell;
use crate::ui::kit::{Icon, IconName};
use crate::ui::preferences::Preference;

/// The settings button and its menu. It uses the Popover API: it opens without JavaScript, and
/// closes on Escape or a click outside.
#[component]
pub fn Settings() -> impl IntoView {
    view! {
        <button
            type="button"
            popovertarget="settings"
            class="inline-flex h-8 items-center gap-1.5 rounded-md px-2 text-muted hover:bg-sunken hover:text-ink"
        >
            <Icon name=IconName::Sliders />
            <span class="sr-only lg:not-sr-only">{shell::settings()}</span>
        </button>
        <div id="settings" popover="auto" class="corner-menu" aria-label=shell::settings() role="group">
            <PreferenceSelect
                preference=Preference::Theme
                label=shell::theme()
                choices=vec![("", shell::system_theme()), ("light", shell::light()), ("dark", shell::dark())]
            />
            <PreferenceSelect
                preference=Preference::Density
                label=shell::rows()
                choices=vec![("", shell::comfortable()), ("dense", shell::dense())]
            />
            <LanguageSwitch />
            <NotificationSwitch />
        </div>
    }
}
