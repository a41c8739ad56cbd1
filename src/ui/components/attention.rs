//! Tells people who look elsewhere: how many locks need attention in the title of the tab, a dot on its icon while there are new
//! ones, and a notification of the browser for those who asked for it.

use leptos::leptos_dom::helpers::{set_timeout, window_event_listener_untyped};
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_meta::Title;
use std::time::Duration;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Notification, NotificationOptions, NotificationPermission};

use crate::ui::kit::Button;
use crate::ui::live::Live;
use crate::ui::preferences::{Preference, notifies};
use crate::ui::title;
use crate::ui::words::frame;

const CALM: &str = "/favicon.svg";
/// What was said is read by then.
const LONG_ENOUGH: Duration = Duration::from_secs(8);
const ALARMED: &str = "/favicon-attention.svg";

/// What the tab says, whatever page is open.
#[component]
pub fn Attention() -> impl IntoView {
    let live = Live::expect();
    let many = Memo::new(move |_| live.with_counts(|counts| counts.attention));
    let is_new = RwSignal::new(false);
    Effect::new(move |before: Option<u32>| {
        let many = many.get();
        // What was there when the page was opened is on it.
        if before.is_some_and(|before| many > before) && is_elsewhere() {
            is_new.set(true);
            notify(many);
        }
        many
    });
    Effect::new(move || {
        for event in ["visibilitychange", "focus"] {
            let handle = window_event_listener_untyped(event, move |_| {
                if !is_elsewhere() {
                    is_new.set(false);
                }
            });
            on_cleanup(move || handle.remove());
        }
    });
    Effect::new(move || {
        let icon = document().query_selector("link[rel=icon]").ok().flatten();
        if let Some(icon) = icon {
            // Fails only where the name of the attribute is none.
            let _infallible = icon.set_attribute("href", if is_new.get() { ALARMED } else { CALM });
        }
    });
    // The server has no tab, and asks for its title when this page is gone already.
    let formatter = move |text: String| match cfg!(target_arch = "wasm32") {
        true => match many.get() {
            0 => text,
            many => format!("({many}) {text}"),
        },
        false => title::written(text),
    };
    view! { <Title formatter /> }
}

fn is_elsewhere() -> bool {
    document().hidden() || !document().has_focus().unwrap_or(true)
}

fn notify(many: u32) {
    if !notifies() {
        return;
    }
    let options = NotificationOptions::new();
    options.set_icon(ALARMED);
    // The next one takes its place.
    options.set_tag("lockkeeper-attention");
    // Phones have them from elsewhere only.
    let _elsewhere = Notification::new_with_options(&frame::need_attention(many), &options);
}

/// Asks the browser for its leave when it is pressed, never before.
#[component]
pub fn NotifySwitch() -> impl IntoView {
    let is_on = RwSignal::new(false);
    let said = RwSignal::new("");
    Effect::new(move || is_on.set(notifies()));
    let press = move |()| {
        if is_on.get_untracked() {
            Preference::Notify.choose("");
            is_on.set(false);
            said.set("");
            return;
        }
        spawn_local(async move {
            let granted = match Notification::request_permission() {
                Ok(asked) => JsFuture::from(asked).await.is_ok(),
                Err(_) => false,
            };
            if granted && Notification::permission() == NotificationPermission::Granted {
                Preference::Notify.choose("on");
                is_on.set(true);
                said.set(frame::will_notify());
                let forget = move || {
                    said.try_set("");
                };
                set_timeout(forget, LONG_ENOUGH);
            } else {
                said.set(frame::may_not_notify());
            }
        });
    };
    let words = move || match is_on.get() {
        true => frame::stop_notifying(),
        false => frame::notify(),
    };
    view! {
        <div class="needs-script flex flex-col gap-1">
            <Button on_press=press>{move || words()}</Button>
            <span class="text-xs text-muted" role="status">
                {move || said.get()}
            </span>
        </div>
    }
}
