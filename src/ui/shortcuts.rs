//! Keyboard shortcuts of the console. They are inactive in text fields and while a dialog is open,
//! and none of them changes anything on a node.

use std::cell::Cell;
use std::rc::Rc;

use leptos::ev;
use leptos::leptos_dom::helpers::window_event_listener;
use leptos::prelude::*;
use leptos_router::hooks::use_navigate;
use wasm_bindgen::JsCast;

use super::i18n::{palette, shell};
use super::paths;

/// The maximum time between `g` and the second key of a sequence.
const SEQUENCE_TIMEOUT_MS: f64 = 1_500.0;

/// Selector for elements that accept text.
const TEXT_INPUTS: &str = "input, textarea, select, [contenteditable]";

/// The dialogs that shortcuts open. The type is a cheap handle.
#[derive(Clone, Copy)]
pub struct Shortcuts {
    /// Whether the command palette is open.
    pub palette_open: RwSignal<bool>,
    /// What was typed before the field of the command palette was there.
    pub palette_text: RwSignal<String>,
    /// Whether the shortcuts dialog is open.
    pub keys_open: RwSignal<bool>,
    /// Whether the acquire dialog of the lock list is open.
    pub acquire_open: RwSignal<bool>,
    /// Runs a command of the lock in view; `None` on other pages.
    pub lock_commands: RwSignal<Option<Callback<LockCommand>>>,
}

/// A command of the lock in view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockCommand {
    /// Opens the dialog of a forced release, if the lock can be released.
    Release,
    /// Copies the summary of the incident.
    CopyIncident,
}

/// The second key after `g`, and the page that the sequence opens.
const PAGE_KEYS: [(&str, &str); 7] = [
    ("l", paths::LOCKS),
    ("o", paths::OWNERS),
    ("n", paths::NODES),
    ("w", paths::WAITS),
    ("t", paths::ACTIVITY),
    ("m", paths::MINE),
    ("a", paths::AUDIT),
];

/// The shortcuts and their descriptions.
pub fn key_bindings() -> Vec<(Vec<&'static str>, String)> {
    let mut all = vec![
        (vec!["Ctrl K", "⌘ K"], palette::key_palette().to_owned()),
        (vec!["/"], palette::key_search().to_owned()),
        (vec!["?"], palette::key_help().to_owned()),
        (vec!["j", "k"], palette::key_down_up().to_owned()),
        (vec!["Enter"], palette::key_open().to_owned()),
        (vec!["Space"], palette::key_peek().to_owned()),
        (vec!["Esc"], palette::key_close().to_owned()),
    ];
    let keys = ["g l", "g o", "g n", "g w", "g t", "g m", "g a"];
    let names = [
        shell::locks(),
        shell::owners(),
        shell::nodes(),
        shell::waits(),
        shell::activity(),
        shell::mine(),
        shell::audit(),
    ];
    let pages = keys.into_iter().zip(names);
    all.extend(pages.map(|(key, page)| (vec![key], palette::go_to(page))));
    all
}

impl Shortcuts {
    /// Provides the shortcuts as context.
    pub fn provide() -> Self {
        let shortcuts = Self {
            palette_open: RwSignal::new(false),
            palette_text: RwSignal::new(String::new()),
            keys_open: RwSignal::new(false),
            acquire_open: RwSignal::new(false),
            lock_commands: RwSignal::new(None),
        };
        provide_context(shortcuts);
        shortcuts
    }

    /// The shortcuts from the context.
    pub fn expect() -> Self {
        expect_context()
    }

    /// Runs the commands of the lock in view until the calling component is unmounted.
    pub fn provide_lock_commands(self, run: impl Fn(LockCommand) + Send + Sync + 'static) {
        let run = Callback::new(run);
        self.lock_commands.set(Some(run));
        on_cleanup(move || {
            // The next page may have set its own commands already.
            let is_own = |current: &Option<Callback<LockCommand>>| {
                current.is_some_and(|current| current.matches(&run))
            };
            if self.lock_commands.try_with_untracked(is_own) == Some(true) {
                self.lock_commands.set(None);
            }
        });
    }

    /// Starts to listen for keys in the browser. Must be called inside the router, because it
    /// navigates.
    pub fn listen(self) {
        let navigate = use_navigate();
        let last_g = Rc::new(Cell::new(f64::MIN));
        Effect::new(move || {
            let (navigate, last_g) = (navigate.clone(), Rc::clone(&last_g));
            let handle = window_event_listener(ev::keydown, move |event| {
                if event.default_prevented() || event.is_composing() || is_dialog_open() {
                    return;
                }
                let key = event.key();
                let commands = event.ctrl_key() || event.meta_key();
                if commands
                    && !event.alt_key()
                    && !event.shift_key()
                    && key.eq_ignore_ascii_case("k")
                {
                    event.prevent_default();
                    self.palette_open.set(true);
                    return;
                }
                if commands || event.alt_key() || is_text_input(&event) {
                    return;
                }
                let follows_g = event.time_stamp() - last_g.replace(f64::MIN) < SEQUENCE_TIMEOUT_MS;
                let page = PAGE_KEYS
                    .iter()
                    .find(|(second, _)| follows_g && key == *second);
                match (page, key.as_str()) {
                    (Some((_, path)), _) => {
                        event.prevent_default();
                        navigate(path, leptos_router::NavigateOptions::default());
                    }
                    (None, "g") => last_g.set(event.time_stamp()),
                    (None, "?") => {
                        event.prevent_default();
                        self.keys_open.set(true);
                    }
                    (None, "/") => {
                        event.prevent_default();
                        if !focus_search() {
                            self.palette_open.set(true);
                        }
                    }
                    (None, _) => {}
                }
            });
            on_cleanup(move || handle.remove());
        });
    }
}

/// Whether the key event is text input.
pub fn is_text_input(event: &web_sys::KeyboardEvent) -> bool {
    let target = event.target();
    let element = target.and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    element.is_some_and(|element| element.closest(TEXT_INPUTS).ok().flatten().is_some())
}

/// Whether a modal dialog is open.
pub fn is_dialog_open() -> bool {
    document()
        .query_selector("dialog[open]")
        .is_ok_and(|dialog| dialog.is_some())
}

fn focus_search() -> bool {
    let field = document().query_selector("#search, main input[type=search]");
    let field = field.ok().flatten();
    let field = field.and_then(|field| field.dyn_into::<web_sys::HtmlInputElement>().ok());
    let Some(field) = field else { return false };
    field.select();
    field.focus().is_ok()
}
