//! The keys of the whole console, and what they open. No key acts while somebody types or a dialog is open, and none changes
//! anything on a node.

use std::cell::Cell;
use std::rc::Rc;

use leptos::ev;
use leptos::leptos_dom::helpers::window_event_listener;
use leptos::prelude::*;
use leptos_router::hooks::use_navigate;
use wasm_bindgen::JsCast;

use super::paths;
use super::words::{frame, palette};

/// `g` and the next key belong together within this many milliseconds.
const TOGETHER_MS: f64 = 1_500.0;

/// What is typed in.
const FIELDS: &str = "input, textarea, select, [contenteditable]";

/// What keys open from anywhere. A handle: copy it freely.
#[derive(Clone, Copy)]
pub struct Shortcuts {
    /// Whether the palette is open.
    pub palette: RwSignal<bool>,
    /// Whether the list of keys is open.
    pub keys: RwSignal<bool>,
    /// Whether the dialog that acquires a lock is open on the page of locks.
    pub acquiring: RwSignal<bool>,
}

/// The second key after `g`, and where both lead.
const PAGES: [(&str, &str); 6] = [
    ("l", paths::LOCKS),
    ("o", paths::OWNERS),
    ("n", paths::NODES),
    ("w", paths::WAITS),
    ("m", paths::MINE),
    ("a", paths::AUDIT),
];

/// Every key with what it does, for people to read.
pub fn listed() -> Vec<(Vec<&'static str>, String)> {
    let mut all = vec![
        (vec!["Ctrl K", "⌘ K"], palette::key_palette().to_owned()),
        (vec!["/"], palette::key_search().to_owned()),
        (vec!["?"], palette::key_help().to_owned()),
        (vec!["j", "k"], palette::key_down_up().to_owned()),
        (vec!["Enter"], palette::key_open().to_owned()),
        (vec!["Esc"], palette::key_close().to_owned()),
    ];
    let keys = ["g l", "g o", "g n", "g w", "g m", "g a"];
    let names = [
        frame::locks(),
        frame::owners(),
        frame::nodes(),
        frame::waits(),
        frame::mine(),
        frame::audit(),
    ];
    let pages = keys.into_iter().zip(names);
    all.extend(pages.map(|(key, page)| (vec![key], palette::go_to(page))));
    all
}

impl Shortcuts {
    /// Provides them to the pages.
    pub fn provide() -> Self {
        let shortcuts = Self {
            palette: RwSignal::new(false),
            keys: RwSignal::new(false),
            acquiring: RwSignal::new(false),
        };
        provide_context(shortcuts);
        shortcuts
    }

    /// Those that were provided.
    pub fn expect() -> Self {
        expect_context()
    }

    /// Listens for them, in the browser, from within the router.
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
                    self.palette.set(true);
                    return;
                }
                if commands || event.alt_key() || is_typing(&event) {
                    return;
                }
                let follows_g = event.time_stamp() - last_g.replace(f64::MIN) < TOGETHER_MS;
                let page = PAGES.iter().find(|(second, _)| follows_g && key == *second);
                match (page, key.as_str()) {
                    (Some((_, path)), _) => {
                        event.prevent_default();
                        navigate(path, leptos_router::NavigateOptions::default());
                    }
                    (None, "g") => last_g.set(event.time_stamp()),
                    (None, "?") => {
                        event.prevent_default();
                        self.keys.set(true);
                    }
                    (None, "/") => {
                        event.prevent_default();
                        if !focus_search() {
                            self.palette.set(true);
                        }
                    }
                    (None, _) => {}
                }
            });
            on_cleanup(move || handle.remove());
        });
    }
}

/// Whether a key goes into what somebody writes.
pub fn is_typing(event: &web_sys::KeyboardEvent) -> bool {
    let target = event.target();
    let element = target.and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    element.is_some_and(|element| element.closest(FIELDS).ok().flatten().is_some())
}

/// Whether a dialog has everything else out of reach.
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
