//! The command palette: one field that finds pages, groups, locks and actions. Nothing in it changes a node by itself.

mod commands;
mod recent;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use leptos::ev;
use leptos::html;
use leptos::leptos_dom::helpers::{set_timeout, window_event_listener};
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};

use self::commands::{Command, Does, There};
use super::saved_views;
use crate::domain::Found;
use crate::ui::kit::Dialog;
use crate::ui::lazy::{lazy, lazy_view};
use crate::ui::live::Live;
use crate::ui::query::Query;
use crate::ui::shortcuts::Shortcuts;
use crate::ui::words::palette;
use crate::ui::{calls, paths};

/// The server is asked this long after the last key.
const PAUSE: Duration = Duration::from_millis(150);
/// The server is asked for no longer texts.
const LONGEST: usize = 200;

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

#[component]
fn Inside() -> impl IntoView {
    let live = Live::expect();
    let shortcuts = Shortcuts::expect();
    let navigate = StoredValue::new_local(use_navigate());
    let text = RwSignal::new(String::new());
    let found = RwSignal::new(Ok::<_, ()>(Vec::<Found>::new()));
    let chosen = RwSignal::new(0_usize);
    let list = NodeRef::<html::Ul>::new();

    let asked = StoredValue::new(0_u32);
    let ask = move |typed: String| {
        let turn = asked.with_value(|asked| asked.wrapping_add(1));
        asked.set_value(turn);
        let wanted: String = typed.trim().chars().take(LONGEST).collect();
        if wanted.is_empty() {
            found.set(Ok(Vec::new()));
            return;
        }
        let is_latest = move || asked.try_get_value() == Some(turn);
        set_timeout(
            move || {
                if !is_latest() {
                    return;
                }
                spawn_local(async move {
                    let answer = calls::find(wanted).await;
                    // An older answer may come after a newer one, and the palette may be closed meanwhile.
                    if is_latest() {
                        found.try_set(answer.map_err(|_| ()));
                    }
                });
            },
            PAUSE,
        );
    };

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
            locks: found.with(|found| found.clone().unwrap_or_default()),
        };
        text.with(|text| commands::matching(text, there))
    });
    let run = move |command: &Command| {
        // Before it acts: what it opens wants the focus for itself.
        shortcuts.palette.set(false);
        match &command.does {
            Does::Go(path) => {
                navigate.with_value(|navigate| navigate(path, NavigateOptions::default()))
            }
            Does::Leave(path) => {
                // Fails only for an address that is none.
                let _infallible = window().location().set_href(path);
            }
            Does::Keys => shortcuts.keys.set(true),
            Does::Prefer(preference, value) => preference.choose(value),
            Does::Speak(language) => commands::speak(*language),
            Does::Acquire => {
                navigate.with_value(|navigate| navigate(paths::LOCKS, NavigateOptions::default()));
                shortcuts.acquiring.set(true);
            }
        }
    };
    let step = move |by: isize| {
        let many = shown.with(Vec::len);
        if many > 0 {
            let now = chosen.get_untracked().min(many - 1);
            chosen.set((now + many).saturating_add_signed(by) % many);
            if let Some(row) = list.get_untracked()
                && let Some(option) = row
                    .children()
                    .item(u32::try_from(chosen.get_untracked()).unwrap_or(0))
            {
                option.scroll_into_view_with_bool(false);
            }
        }
    };
    let on_key = move |event: web_sys::KeyboardEvent| {
        if event.is_composing() {
            return;
        }
        match event.key().as_str() {
            "ArrowDown" => step(1),
            "ArrowUp" => step(-1),
            "Enter" => {
                let command = shown.with(|shown| shown.get(chosen.get_untracked()).cloned());
                if let Some(command) = command {
                    run(&command);
                }
            }
            _ => return,
        }
        event.prevent_default();
    };
    let told = move || match (found.with(Result::is_err), shown.with(Vec::len)) {
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
                aria-expanded=move || if shown.with(Vec::is_empty) { "false" } else { "true" }
                aria-controls="palette-list"
                aria-activedescendant=move || (!shown.with(Vec::is_empty)).then(|| format!("palette-{}", chosen.get()))
                autocomplete="off"
                autocapitalize="none"
                spellcheck="false"
                autofocus=true
                on:input=move |event| {
                    let typed = event_target_value(&event);
                    chosen.set(0);
                    text.set(typed.clone());
                    ask(typed);
                }
                on:keydown=on_key
            />
            <ul id="palette-list" role="listbox" aria-label=palette::results() class="grow overflow-y-auto p-1.5" node_ref=list>
                {move || {
                    shown
                        .get()
                        .into_iter()
                        .enumerate()
                        .map(|(nth, command)| view! { <Row nth command chosen run=Callback::new(move |command: Command| run(&command)) /> })
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

#[component]
fn Row(
    nth: usize,
    command: Command,
    chosen: RwSignal<usize>,
    run: Callback<Command>,
) -> impl IntoView {
    let words = command.words.clone();
    let kind = command.kind;
    let note = command.note.clone();
    let is_code = command.is_name;
    view! {
        <li
            id=format!("palette-{nth}")
            role="option"
            aria-selected=move || if chosen.get() == nth { "true" } else { "false" }
            class="flex cursor-pointer items-baseline gap-3 rounded-md px-2.5 py-1.5 aria-selected:bg-accent-soft"
            on:mousemove=move |_| if chosen.get_untracked() != nth { chosen.set(nth) }
            on:click=move |_| run.run(command.clone())
        >
            <span class=if is_code { "min-w-0 truncate font-mono text-[0.8125rem]" } else { "min-w-0 truncate" }>{words}</span>
            <span class="ms-auto shrink-0 text-xs text-muted">{note.map(|note| format!("{note} · "))}{kind}</span>
        </li>
    }
}
