//! Signals for a tab in the background: the number of locks and nodes that need attention in the
//! title, a dot on the icon if there are new ones, and a browser notification if the user enabled
//! it.

use leptos::leptos_dom::helpers::{set_timeout, window_event_listener_untyped};
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_meta::Title;
use std::time::Duration;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Notification, NotificationOptions, NotificationPermission};

use crate::ui::i18n::shell;
use crate::ui::kit::Button;
use crate::ui::live::Live;
use crate::ui::preferences::{Preference, notifications_enabled};
use crate::ui::title;

const DEFAULT_ICON: &str = "/favicon.svg";
/// How long the confirmation is displayed.
const STATUS_DURATION: Duration = Duration::from_secs(8);
const ATTENTION_ICON: &str = "/favicon-attention.svg";

/// Updates the tab's title and icon, and sends notifications.
#[component]
pub fn AttentionIndicator() -> impl IntoView {
    let live = Live::expect();
    let nodes = Memo::new(move |_| u32::try_from(live.failed_node_count()).unwrap_or(u32::MAX));
    let count = Memo::new(move |_| {
        // A filter of the list does not change how many locks need attention.
        let locks = live.with_counts(|counts| counts.unfiltered.attention);
        locks.saturating_add(nodes.get())
    });
    let is_new = RwSignal::new(false);
    Effect::new(move |before: Option<u32>| {
        let count = count.get();
        // What needed attention when the page was opened are not news.
        if before.is_some_and(|before| count > before) && is_tab_inactive() {
            is_new.set(true);
            notify(&match nodes.get_untracked() {
                0 => shell::need_attention(count),
                _ => shell::attention_notice(count),
            });
        }
        count
    });
    Effect::new(move || {
        for event in ["visibilitychange", "focus"] {
            let handle = window_event_listener_untyped(event, move |_| {
                if !is_tab_inactive() {
                    is_new.set(false);
                }
            });
            on_cleanup(move || handle.remove());
        }
    });
    Effect::new(move || {
        let icon = document().query_selector("link[rel=icon]").ok().flatten();
        if let Some(icon) = icon {
            // Fails only for an invalid attribute name.
            let _infallible = icon.set_attribute(
                "href",
                if is_new.get() {
                    ATTENTION_ICON
                } else {
                    DEFAULT_ICON
                },
            );
        }
    });
    // The server renders the title after this component was disposed, so it must not read the
    // signal.
    let formatter = move |text: String| match cfg!(target_arch = "wasm32") {
        true => match count.get() {
            0 => text,
            count => format!("({count}) {text}"),
        },
        false => title::format_title(text),
    };
    view! { <Title formatter /> }
}

fn is_tab_inactive() -> bool {
    document().hidden() || !document().has_focus().unwrap_or(true)
}

fn notify(text: &str) {
    if !notifications_enabled() {
        return;
    }
    let options = NotificationOptions::new();
    options.set_icon(ATTENTION_ICON);
    // A notification replaces the previous one with the same tag.
    options.set_tag("lockkeeper-attention");
    // Browsers on phones allow notifications only from a service worker; the constructor fails
    // there.
    let _unsupported = Notification::new_with_options(text, &options);
}

/// The switch for notifications. It requests the browser's permission only when it is pressed.
#[component]
pub fn NotificationSwitch() -> impl IntoView {
    let is_on = RwSignal::new(false);
    let status = RwSignal::new("");
    Effect::new(move || is_on.set(notifications_enabled()));
    let on_press = move |()| {
        if is_on.get_untracked() {
            Preference::Notify.set("");
            is_on.set(false);
            status.set("");
            return;
        }
        spawn_local(async move {
            let granted = match Notification::request_permission() {
                Ok(promise) => JsFuture::from(promise).await.is_ok(),
                Err(_) => false,
            };
            if granted && Notification::permission() == NotificationPermission::Granted {
                Preference::Notify.set("on");
                is_on.set(true);
                status.set(shell::notifications_enabled());
                let clear_status = move || {
                    status.try_set("");
                };
                set_timeout(clear_status, STATUS_DURATION);
            } else {
                status.set(shell::notifications_blocked());
            }
        });
    };
    let label = move || match is_on.get() {
        true => shell::disable_notifications(),
        false => shell::enable_notifications(),
    };
    view! {
        <div class="needs-script flex flex-col gap-1">
            <Button on_press=on_press>{move || label()}</Button>
            <span class="text-xs text-muted" role="status">
                {move || status.get()}
            </span>
        </div>
    }
}
