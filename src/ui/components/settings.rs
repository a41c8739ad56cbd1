//! How this browser shows the console: what somebody chose for themselves, behind one button.

use leptos::prelude::*;

use super::attention::NotifySwitch;
use super::density_switch::DensitySwitch;
use super::language_switch::LanguageSwitch;
use super::theme_switch::ThemeSwitch;
use crate::ui::kit::{Icon, Sign};
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
            <ThemeSwitch />
            <DensitySwitch />
            <LanguageSwitch />
            <NotifySwitch />
        </div>
    }
}
