//! The command palette: a search field for pages, groups, locks and actions. No command changes a
//! node without a dialog.

mod commands;
mod finder;
mod option_list;
mod recent;

use std::cell::Cell;
use std::rc::Rc;

use leptos::ev;
use leptos::html;
use leptos::leptos_dom::helpers::window_event_listener;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};
use wasm_bindgen::JsCast;

use self::commands::{CommandAction, PaletteCommand, SearchContext};
use self::finder::LockFinder;
use self::option_list::{CommandOption, OptionList};
use super::saved_views::{self, TeamViews};
use crate::ui::i18n::{palette, shell};
use crate::ui::kit::Dialog;
use crate::ui::kit::copy::copy_to_clipboard;
use crate::ui::lazy::{lazy, lazy_view};
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;
use crate::ui::paths;
use crate::ui::shortcuts::Shortcuts;

/// The palette. It also records the lock pages that were visited.
#[component]
pub fn Palette() -> impl IntoView {
    let shortcuts = Shortcuts::expect();
    let open = shortcuts.palette_open;
    let location = use_location();
    let is_out = Live::expect().is_signed_out;
    Effect::new(move || {
        let path = paths::address_of(&location.pathname.read(), &location.search.read());
        // After a sign-out in another tab, this tab records no visits.
        if !is_out.get_untracked() {
            recent::record_visit(&path);
        }
    });
    // The first pointer movement or key press preloads the dialogs, so that they open without
    // delay.
    Effect::new(|| {
        let is_requested = Rc::new(Cell::new(false));
        let preload_once = move || {
            if !is_requested.replace(true) {
                spawn_local(async {
                    // A failure is reported when the dialog is opened, after a retry.
                    let _reported_later = preload().await;
                });
            }
        };
        let typing = window_event_listener(ev::keydown, {
            let preload_once = preload_once.clone();
            move |_| preload_once()
        });
        let moving = window_event_listener(ev::pointermove, move |_| preload_once());
        on_cleanup(move || {
            typing.remove();
            moving.remove();
        });
    });
    // What is typed while the content is loaded goes into its field.
    Effect::new(move || {
        shortcuts.palette_text.set(String::new());
        if open.get() {
            let typing = window_event_listener(ev::keydown, move |event| {
                keep_typed_text(shortcuts.palette_text, &event);
            });
            on_cleanup(move || typing.remove());
        }
    });
    let children = Callback::new(|_| lazy_view(content).into_any());
    view! { <Dialog open labelled_by="palette-title" children /> }
}

/// Adds a key that was pressed outside of fields and buttons to the text.
fn keep_typed_text(text: RwSignal<String>, event: &web_sys::KeyboardEvent) {
    let target = event.target();
    let target = target.and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    let is_control = target.is_some_and(|target| {
        let control = target.closest("input, button, a");
        control.ok().flatten().is_some()
    });
    let with_others = event.ctrl_key() || event.meta_key() || event.alt_key();
    if is_control || with_others || event.default_prevented() || event.is_composing() {
        return;
    }
    match event.key().as_str() {
        "Backspace" => text.update(|text| {
            text.pop();
        }),
        key if key.chars().count() == 1 => text.update(|text| text.push_str(key)),
        _ => return,
    }
    event.prevent_default();
}

lazy! { dialogs preload preload: fn content() -> view! { <PaletteContent /> } }

/// Returns the callback that runs a command.
fn command_runner(
    shortcuts: Shortcuts,
    copied: RwSignal<Option<bool>>,
    list_node: NodeRef<html::Ul>,
) -> Callback<PaletteCommand> {
    let navigate = StoredValue::new_local(use_navigate());
    let navigate_to = move |path: &str| {
        navigate.with_value(|navigate| navigate(path, NavigateOptions::default()));
    };
    Callback::new(move |command: PaletteCommand| {
        if let CommandAction::Copy(text) = command.action {
            // The palette stays open and shows the result.
            let near = list_node.get_untracked();
            spawn_local(async move {
                let is_copied = copy_to_clipboard(&text, near.as_deref()).await;
                copied.try_set(Some(is_copied));
            });
            return;
        }
        // Closed first, because a dialog that the command opens takes the focus.
        shortcuts.palette_open.set(false);
        match &command.action {
            CommandAction::Navigate(path) => navigate_to(path),
            CommandAction::LoadPage(path) => {
                // Fails only for an invalid URL.
                let _infallible = window().location().set_href(path);
            }
            CommandAction::ShowShortcuts => shortcuts.keys_open.set(true),
            CommandAction::SetPreference(preference, value) => preference.set(value),
            CommandAction::SetLocale(locale) => commands::switch_locale(*locale),
            CommandAction::AcquireLock => {
                navigate_to(paths::LOCKS);
                shortcuts.acquire_open.set(true);
            }
            CommandAction::Lock(command) => {
                if let Some(run) = shortcuts.lock_commands.get_untracked() {
                    run.run(*command);
                }
            }
            CommandAction::Copy(_) => {}
        }
    })
}

#[component]
fn PaletteContent() -> impl IntoView {
    let live = Live::expect();
    let shortcuts = Shortcuts::expect();
    let copied = RwSignal::new(None::<bool>);
    let list_node = NodeRef::new();
    let run = command_runner(shortcuts, copied, list_node);
    let text = RwSignal::new(String::new());
    let finder = LockFinder::new();
    let location = use_location();
    let current_query = match location.pathname.get_untracked().as_str() {
        paths::LOCKS => LocksQuery::parse(&location.search.read_untracked()),
        _ => LocksQuery::default(),
    };
    let lock_in_view = paths::parse_lock(
        &location.pathname.read_untracked(),
        &location.search.read_untracked(),
    );
    let page_url = window().location().href().unwrap_or_default();
    let team_views = TeamViews::not_loaded();
    // Without a session the call would fail.
    if !live.is_signed_out.get_untracked() {
        team_views.reload();
    }
    let commands_shown = Memo::new(move |_| {
        let context = SearchContext {
            views: saved_views::load_views(live),
            team_views: team_views.saved(),
            query: current_query.clone(),
            lock_in_view: lock_in_view
                .clone()
                .map(|id| (id, shortcuts.lock_commands.with(Option::is_some))),
            page_url: page_url.clone(),
            groups: live
                .with_groups(|groups| groups.iter().map(|group| group.name.clone()).collect()),
            locks: finder.found.get().unwrap_or_default(),
        };
        text.with(|text| commands::matching_commands(text, context))
    });
    let options = OptionList {
        commands: commands_shown,
        selected_index: RwSignal::new(0),
        list_node,
    };
    let selected_index = options.selected_index;
    let on_key = move |event: web_sys::KeyboardEvent| {
        if event.is_composing() {
            return;
        }
        match event.key().as_str() {
            "ArrowDown" => options.move_selection(1),
            "ArrowUp" => options.move_selection(-1),
            "Enter" => {
                if let Some(command) = options.selected() {
                    run.run(command);
                }
            }
            _ => return,
        }
        event.prevent_default();
    };
    let counted = move || match (
        finder.found.with(Result::is_err),
        commands_shown.with(Vec::len),
    ) {
        (true, _) => palette::search_failed().to_owned(),
        (false, _) if team_views.load_error().is_some() => palette::team_views_failed().to_owned(),
        (false, 0) => palette::no_results().to_owned(),
        (false, count) => palette::count(count),
    };
    let status = move || match copied.get() {
        Some(true) => shell::copied().to_owned(),
        Some(false) => shell::copy_blocked().to_owned(),
        None => counted(),
    };
    let accept = move |typed: String| {
        selected_index.set(0);
        copied.set(None);
        finder.search(&typed);
        text.set(typed);
    };
    let accept_early_text = move |event: ev::FocusEvent| {
        let early = shortcuts.palette_text.get_untracked();
        if !early.is_empty() {
            shortcuts.palette_text.set(String::new());
            let field = event_target::<web_sys::HtmlInputElement>(&event);
            field.set_value(&(field.value() + &early));
            accept(field.value());
        }
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
                aria-expanded=move || (!options.is_empty()).to_string()
                aria-controls="palette-list"
                aria-activedescendant=move || (!options.is_empty()).then(|| format!("palette-{}", selected_index.get()))
                autocomplete="off"
                autocapitalize="none"
                spellcheck="false"
                autofocus=true
                on:input=move |event| accept(event_target_value(&event))
                on:focus=accept_early_text
                on:keydown=on_key
            />
            <ul id="palette-list" role="listbox" aria-label=palette::results() class="grow overflow-y-auto p-1.5" node_ref=options.list_node>
                {move || {
                    commands_shown
                        .get()
                        .into_iter()
                        .enumerate()
                        .map(|(nth, command)| view! { <CommandOption nth command selected_index run /> })
                        .collect_view()
                }}
            </ul>
            <p class="flex shrink-0 flex-wrap justify-between gap-x-4 border-t border-line px-4 py-2 text-xs text-muted">
                <span role="status">{status}</span>
                <span class="max-sm:hidden">{palette::key_hints()}</span>
            </p>
        </div>
    }
}
