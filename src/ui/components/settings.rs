//! The settings menu: theme, density, time zone, language and notifications.

use leptos::prelude::*;

use super::attention::NotificationSwitch;
use super::language_switch::LanguageSwitch;
use super::preference_select::PreferenceSelect;
use crate::domain::{Permission, Scope};
use crate::ui::i18n::{palette, shell};
use crate::ui::kit::{Icon, IconName, Link};
use crate::ui::lazy::{lazy, lazy_view};
use crate::ui::live::Live;
use crate::ui::paths;
use crate::ui::preferences::Preference;
use crate::ui::shortcuts::Shortcuts;
use crate::ui::time_zone::TimeZone;

/// The settings button and its menu. It uses the Popover API: it opens without JavaScript, and
/// closes on Escape or a click outside.
#[component]
pub fn Settings() -> impl IntoView {
    let was_opened = RwSignal::new(false);
    // The menu may have been opened before hydration.
    Effect::new(move || {
        let opened = document().query_selector("#settings:popover-open");
        if opened.is_ok_and(|menu| menu.is_some()) {
            was_opened.set(true);
        }
    });
    let choices = move || was_opened.get().then(|| lazy_view(choices));
    view! {
        <button
            type="button"
            popovertarget="settings"
            on:click=move |_| was_opened.set(true)
            class="inline-flex h-8 items-center gap-1.5 rounded-md px-2 text-muted hover:bg-sunken hover:text-ink"
        >
            <Icon name=IconName::Sliders />
            <span class="sr-only lg:not-sr-only">{shell::settings()}</span>
        </button>
        <div id="settings" popover="auto" class="corner-menu" aria-label=shell::settings() role="group">
            <LanguageSwitch />
            {choices}
            <WebhooksLink />
        </div>
    }
}

lazy! { dialogs: fn choices() -> view! { <Choices /> } }

/// The settings that need JavaScript. Their code is loaded when the menu is opened.
#[component]
fn Choices() -> impl IntoView {
    let zone = TimeZone::expect();
    let shortcuts = Shortcuts::expect();
    view! {
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
        <PreferenceSelect
            preference=Preference::TimeZone
            label=shell::time_zone()
            choices=vec![("", shell::utc()), ("local", shell::local_time())]
            on_choose=move |value: String| zone.apply(&value)
        />
        <NotificationSwitch />
        <button
            type="button"
            class="self-start text-sm underline underline-offset-2"
            aria-haspopup="dialog"
            // Opening the dialog closes the menu.
            on:click=move |_| shortcuts.keys_open.set(true)
        >
            {palette::shortcuts()}
        </button>
        <a href=paths::HELP rel="external" class="self-start text-sm underline underline-offset-2">
            {shell::help()}
        </a>
    }
}

/// The link to the webhooks, for users who may test them.
#[component]
fn WebhooksLink() -> impl IntoView {
    let live = Live::expect();
    let is_denied = move || {
        let denied = live.denial_reason(Permission::Administer, Scope::console());
        denied.is_some()
    };
    view! {
        <span hidden=is_denied>
            <Link href=paths::WEBHOOKS class="text-sm underline underline-offset-2">
                {shell::webhooks()}
            </Link>
        </span>
    }
}
