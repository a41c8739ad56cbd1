//! The command palette: one field that finds pages, groups, locks and actions. Nothing in it changes a node by itself.

mod commands;
mod finder;
mod options;
mod recent;

use std::cell::Cell;
use std::rc::Rc;

use leptos::ev;
use leptos::leptos_dom::helpers::window_event_listener;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};

use self::commands::{Command, Does, There};
use self::finder::Finder;
use self::options::{Options, Row};
use super::saved_views;
use crate::ui::kit::Dialog;
use crate::ui::lazy::{lazy, lazy_view};
use crate::ui::live::Live;
use crate::ui::paths;
use crate::ui::query::Query;
use crate::ui::shortcuts::Shortcuts;
use crate::ui::words::palette;

/// The palette, and the memory of where somebody was.
#[component]
pub fn Palette() -> impl IntoView {
    let open = Shortcuts::expect().palette;
    let location = use_location();
    let is_out = Live::expect().is_out;
    Effect::new(move || {
        let here = paths::here(&location.pathname.read(), &location.search.read());
        // Who signed out in another tab is not followed in this one.
        if !is_out.get_untracked() {
            recent::remember(&here);
        }
    });
    // Whoever moves or types may ask for a dialog next: it shall be there by then.
    Effect::new(|| {
        let is_asked = Rc::new(Cell::new(false));
        let ask = move || {
            if !is_asked.replace(true) {
                spawn_local(async {
                    // A failure is shown where the dialog is, after another try.
                    let _shown_there = preload().await;
                });
            }
        };
        let typing = window_event_listener(ev::keydown, {
            let ask = ask.clone();
            move |_| ask()
        });
        let moving = window_event_listener(ev::pointermove, move |_| ask());
        on_cleanup(move || {
            typing.remove();
            moving.remove();
        });
    });
    let children = Callback::new(|_| lazy_view(inside).into_any());
    view! { <Dialog open labelled_by="palette-title" children /> }
}

lazy! { dialogs preload preload: fn inside() -> view! { <Inside /> } }

/// What runs a command.
fn runner(shortcuts: Shortcuts) -> Callback<Command> {
    let navigate = StoredValue::new_local(use_navigate());
    let go = move |path: &str| {
        navigate.with_value(|navigate| navigate(path, NavigateOptions::default()));
    };
    Callback::new(move |command: Command| {
        // Before it acts: what it opens wants the focus for itself.
        shortcuts.palette.set(false);
        match &command.does {
            Does::Go(path) => go(path),
            Does::Leave(path) => {
                // Fails only for an address that is none.
                let _infallible = window().location().set_href(path);
            }
            Does::Keys => shortcuts.keys.set(true),
            Does::Prefer(preference, value) => preference.choose(value),
            Does::Speak(language) => commands::speak(*language),
            Does::Acquire => {
                go(paths::LOCKS);
                shortcuts.acquiring.set(true);
            }
        }
    })
}

#[component]
fn Inside() -> impl IntoView {
    let live = Live::expect();
    let run = runner(Shortcuts::expect());
    let text = RwSignal::new(String::new());
    let finder = Finder::new();
    let location = use_location();
    let looked_at = match location.pathname.get_untracked().as_str() {
        paths::LOCKS => Query::parse(&location.search.read_untracked()),
        _ => Query::default(),
    };
    let shown = Memo::new(move |_| {
        let there = There {
            views: saved_views::views(live),
            list: looked_at.clone(),
            groups: live
                .with_groups(|groups| groups.iter().map(|group| group.name.clone()).collect()),
            locks: finder.found.get().unwrap_or_default(),
        };
        text.with(|text| commands::matching(text, there))
    });
    let options = Options {
        shown,
        chosen: RwSignal::new(0),
        list: NodeRef::new(),
    };
    let chosen = options.chosen;
    let on_key = move |event: web_sys::KeyboardEvent| {
        if event.is_composing() {
            return;
        }
        match event.key().as_str() {
            "ArrowDown" => options.step(1),
            "ArrowUp" => options.step(-1),
            "Enter" => {
                if let Some(command) = options.chosen() {
                    run.run(command);
                }
            }
            _ => return,
        }
        event.prevent_default();
    };
    let told = move || match (finder.found.with(Result::is_err), shown.with(Vec::len)) {
        (true, _) => palette::not_asked().to_owned(),
        (false, 0) => palette::nothing().to_owned(),
        (false, 1) => palette::count_one().to_owned(),
        (false, many) => palette::count(many),
    };
    view! {
        <div class="flex max-h-[min(32rem,calc(100dvh-4rem))] flex-col">
            <h2 id="palette-title" class="sr-only">
                {palette::title()}
            </h2>
            <input
                type="text"
                role="combobox"
                class="h-12 w-full shrink-0 border-b border-line bg-surface px-4 text-base outline-none placeholder:text-faint"
                placeholder=palette::placeholder()
                aria-label=palette::title()
                aria-autocomplete="list"
                aria-expanded=move || (!options.are_none()).to_string()
                aria-controls="palette-list"
                aria-activedescendant=move || (!options.are_none()).then(|| format!("palette-{}", chosen.get()))
                autocomplete="off"
                autocapitalize="none"
                spellcheck="false"
                autofocus=true
                on:input=move |event| {
                    let typed = event_target_value(&event);
                    chosen.set(0);
                    finder.ask(&typed);
                    text.set(typed);
                }
                on:keydown=on_key
            />
            <ul id="palette-list" role="listbox" aria-label=palette::results() class="grow overflow-y-auto p-1.5" node_ref=options.list>
                {move || {
                    shown
                        .get()
                        .into_iter()
                        .enumerate()
                        .map(|(nth, command)| view! { <Row nth command chosen run /> })
                        .collect_view()
                }}
            </ul>
            <p class="flex shrink-0 flex-wrap justify-between gap-x-4 border-t border-line px-4 py-2 text-xs text-muted">
                <span role="status">{told}</span>
                <span class="max-sm:hidden">{palette::use_keys()}</span>
            </p>
        </div>
    }
}
