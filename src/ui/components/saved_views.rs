//! Saved views: named filters and sort orders of the table, stored in the browser per user.

use leptos::html;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::domain::SessionKind;
use crate::ui::i18n::locks as t;
use crate::ui::kit::field::CONTROL;
use crate::ui::kit::{Button, Icon, IconName, Menu};
use crate::ui::lazy::{lazy, lazy_view};
use crate::ui::live::Live;
use crate::ui::local_storage;
use crate::ui::locks_query::LocksQuery;

const STORAGE_KEY: &str = "lockkeeper.views";
/// The maximum number of views. The oldest is dropped.
const MAX_VIEWS: usize = 50;

/// A saved view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedView {
    /// The name that the user chose.
    pub name: String,
    /// The path and query of the page.
    pub path: String,
}

/// Loads the saved views of the current user. Browser only.
pub fn load_views(live: Live) -> Vec<SavedView> {
    parse(&local_storage::get(&storage_key(live)).unwrap_or_default())
}

/// The menu of saved views. Its code is loaded when it is first opened.
#[component]
pub fn SavedViews(
    /// The current query.
    query: Memo<LocksQuery>,
) -> impl IntoView {
    let is_opened = RwSignal::new(false);
    // Setting the signal again would render the menu again.
    let on_open = move || {
        if !is_opened.get_untracked() {
            is_opened.set(true);
        }
    };
    let menu = move || is_opened.get().then(|| lazy_view(move || menu(query)));
    view! {
        <Menu label=t::views().to_owned() class="needs-script" list_class="w-72 flex-col gap-2" stays_open=true on_toggle=move |()| on_open()>
            {move || menu()}
        </Menu>
    }
}

lazy! { dialogs: fn menu(query: Memo<LocksQuery>) -> view! { <SavedViewsMenu query /> } }

#[component]
fn SavedViewsMenu(query: Memo<LocksQuery>) -> impl IntoView {
    let live = Live::expect();
    let views = RwSignal::new(Vec::<SavedView>::new());
    Effect::new(move || views.set(self::load_views(live)));
    let store = move |next: Vec<SavedView>| {
        local_storage::set(&storage_key(live), &serialize(&next));
        views.set(next);
    };
    let name = NodeRef::<html::Input>::new();
    let save = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let Some(input) = name.get_untracked() else {
            return;
        };
        let new_name = input.value().trim().to_owned();
        if new_name.is_empty() {
            return;
        }
        let path = query.with_untracked(LocksQuery::path);
        store(with_view(views.get_untracked(), &new_name, path));
        input.set_value("");
    };
    let navigate = StoredValue::new(use_navigate());
    let line = move |view: SavedView| {
        let (opened, name_to_delete, label) =
            (view.clone(), view.name.clone(), t::delete_view(&view.name));
        let is_current = {
            let path = view.path.clone();
            move || query.with(|query| query.path() == path).then_some("true")
        };
        view! {
            <li class="flex items-center gap-1">
                <button
                    type="button"
                    class="grow truncate rounded px-2 py-1 text-start hover:bg-sunken aria-[current]:bg-accent-soft"
                    aria-current=is_current
                    title=view.path.clone()
                    on:click=move |_| {
                        let options = NavigateOptions { scroll: false, ..NavigateOptions::default() };
                        navigate.with_value(|navigate| navigate(&opened.path, options));
                    }
                >
                    {view.name}
                </button>
                <button
                    type="button"
                    class="rounded p-1 text-muted hover:bg-sunken hover:text-ink"
                    aria-label=label.clone()
                    title=label
                    on:click=move |_| {
                        let mut left = views.get_untracked();
                        left.retain(|view| view.name != name_to_delete);
                        store(left);
                    }
                >
                    <Icon name=IconName::Cross />
                </button>
            </li>
        }
    };
    view! {
        {move || {
            let views = views.get();
            match views.is_empty() {
                true => view! { <p class="px-2 text-muted">{t::no_views()}</p> }.into_any(),
                false => view! { <ul class="max-h-64 overflow-y-auto">{views.into_iter().map(line).collect_view()}</ul> }.into_any(),
            }
        }}
        <form class="flex gap-2" on:submit=save>
            <input node_ref=name class=CONTROL aria-label=t::view_name() placeholder=t::view_name() maxlength="60" autocomplete="off" />
            <Button submits=true>{t::save_view()}</Button>
        </form>
    }
}

/// Adds a view. It replaces a view of the same name or the same path.
fn with_view(mut views: Vec<SavedView>, name: &str, path: String) -> Vec<SavedView> {
    views.retain(|view| view.name != name && view.path != path);
    views.push(SavedView {
        name: name.to_owned(),
        path,
    });
    views.drain(..views.len().saturating_sub(MAX_VIEWS));
    views
}

/// The storage key, one per signed-in user.
fn storage_key(live: Live) -> String {
    let name = live.user.with_untracked(|me| match me {
        Some(me) if matches!(me.session, SessionKind::SignedIn | SessionKind::External) => {
            Some(me.name.clone())
        }
        Some(_) | None => None,
    });
    name.map_or_else(
        || STORAGE_KEY.to_owned(),
        |name| format!("{STORAGE_KEY}.{name}"),
    )
}

/// Serializes the views, one per line: path, space, name.
fn serialize(views: &[SavedView]) -> String {
    let line = |view: &SavedView| format!("{} {}", view.path, view.name);
    views.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn parse(text: &str) -> Vec<SavedView> {
    let line = |line: &str| {
        let (path, name) = line.split_once(' ')?;
        // Only paths of this console are accepted, because stored data may have been tampered with.
        let is_local = path.starts_with('/') && !path.starts_with("//");
        is_local.then(|| SavedView {
            name: name.to_owned(),
            path: path.to_owned(),
        })
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_views_survive_a_round_trip() {
        let views = with_view(Vec::new(), "stuck ones", "/?q=held%3E10m".to_owned());
        let views = with_view(views, "all", "/".to_owned());
        assert_eq!(parse(&serialize(&views)), views);
        let renamed = with_view(views, "old ones", "/?q=held%3E10m".to_owned());
        let names: Vec<&str> = renamed.iter().map(|view| view.name.as_str()).collect();
        assert_eq!(names, ["all", "old ones"]);
    }

    #[test]
    fn tampered_paths_cannot_leave_the_console() {
        assert_eq!(
            parse("//evil.example x\nhttp://evil y\nnonsense\n\n/?q=a b c"),
            with_view(Vec::new(), "b c", "/?q=a".into())
        );
    }
}
