//! Views that somebody gave a name: what the table shows and in which order, remembered by this browser for each person.

use leptos::html;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::domain::Came;
use crate::ui::kit::field::CONTROL;
use crate::ui::kit::{Button, Icon, Sign};
use crate::ui::lazy::{lazy, lazy_view};
use crate::ui::live::Live;
use crate::ui::query::Query;
use crate::ui::traces;
use crate::ui::words::locks as words;

const STORED: &str = "lockkeeper.views";
/// More are not kept.
const MOST: usize = 50;

/// A view with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// What somebody called it.
    pub name: String,
    /// Where it is shown.
    pub path: String,
}

/// The views of whoever sees the page. In the browser only.
pub fn views(live: Live) -> Vec<View> {
    read(&traces::kept(&stored(live)).unwrap_or_default())
}

/// The menu of views; what is in it is fetched when it is first opened.
#[component]
pub fn SavedViews(
    /// What is shown now.
    query: Memo<Query>,
) -> impl IntoView {
    let is_wanted = RwSignal::new(false);
    // Once only: setting it again would draw it anew.
    let want = move || {
        if !is_wanted.get_untracked() {
            is_wanted.set(true);
        }
    };
    let inside = move || is_wanted.get().then(|| lazy_view(move || inside(query)));
    view! {
        <details class="needs-script relative" on:toggle=move |_| want()>
            <summary class="inline-flex h-7 list-none items-center rounded-md px-2 hover:bg-sunken hover:text-ink">
                {words::views()}
            </summary>
            <div class="absolute start-0 top-full z-20 mt-1 flex w-72 flex-col gap-2 rounded-md border border-line-strong bg-surface p-2 text-ink shadow-high">
                {move || inside()}
            </div>
        </details>
    }
}

lazy! { dialogs: fn inside(query: Memo<Query>) -> view! { <Inside query /> } }

#[component]
fn Inside(query: Memo<Query>) -> impl IntoView {
    let live = Live::expect();
    let views = RwSignal::new(Vec::<View>::new());
    Effect::new(move || views.set(self::views(live)));
    let keep = move |next: Vec<View>| {
        traces::keep(&stored(live), &written(&next));
        views.set(next);
    };
    let name = NodeRef::<html::Input>::new();
    let save = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let Some(input) = name.get_untracked() else {
            return;
        };
        let given = input.value().trim().to_owned();
        if given.is_empty() {
            return;
        }
        let path = query.with_untracked(Query::path);
        keep(with(views.get_untracked(), &given, path));
        input.set_value("");
    };
    let navigate = StoredValue::new(use_navigate());
    let line = move |view: View| {
        let (shown, dropped, label) = (
            view.clone(),
            view.name.clone(),
            words::delete_view(&view.name),
        );
        let is_here = {
            let path = view.path.clone();
            move || query.with(|query| query.path() == path).then_some("true")
        };
        view! {
            <li class="flex items-center gap-1">
                <button
                    type="button"
                    class="grow truncate rounded px-2 py-1 text-start hover:bg-sunken aria-[current]:bg-accent-soft"
                    aria-current=is_here
                    title=view.path.clone()
                    on:click=move |_| {
                        let options = NavigateOptions { scroll: false, ..NavigateOptions::default() };
                        navigate.with_value(|navigate| navigate(&shown.path, options));
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
                        left.retain(|view| view.name != dropped);
                        keep(left);
                    }
                >
                    <Icon sign=Sign::Cross />
                </button>
            </li>
        }
    };
    view! {
        {move || {
            let views = views.get();
            match views.is_empty() {
                true => view! { <p class="px-2 text-muted">{words::no_views()}</p> }.into_any(),
                false => view! { <ul class="max-h-64 overflow-y-auto">{views.into_iter().map(line).collect_view()}</ul> }.into_any(),
            }
        }}
        <form class="flex gap-2" on:submit=save>
            <input node_ref=name class=CONTROL aria-label=words::view_name() placeholder=words::view_name() maxlength="60" autocomplete="off" />
            <Button submits=true>{words::save_view()}</Button>
        </form>
    }
}

/// The views with one more; one of the same name is replaced, one at the same place gets the new name.
fn with(mut views: Vec<View>, name: &str, path: String) -> Vec<View> {
    views.retain(|view| view.name != name && view.path != path);
    views.push(View {
        name: name.to_owned(),
        path,
    });
    views.drain(..views.len().saturating_sub(MOST));
    views
}

/// Under which name they are remembered: each person's own.
fn stored(live: Live) -> String {
    let name = live.me.with_untracked(|me| match me {
        Some(me) if matches!(me.came, Came::SignedIn | Came::VouchedFor) => Some(me.name.clone()),
        Some(_) | None => None,
    });
    name.map_or_else(|| STORED.to_owned(), |name| format!("{STORED}.{name}"))
}

/// One view on each line: its address, a space, its name.
fn written(views: &[View]) -> String {
    let line = |view: &View| format!("{} {}", view.path, view.name);
    views.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn read(text: &str) -> Vec<View> {
    let line = |line: &str| {
        let (path, name) = line.split_once(' ')?;
        // Only places of this console: what is stored may have been tampered with.
        let is_ours = path.starts_with('/') && !path.starts_with("//");
        is_ours.then(|| View {
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
    fn views_are_read_as_they_were_written() {
        let views = with(Vec::new(), "stuck ones", "/?q=held%3E10m".to_owned());
        let views = with(views, "all", "/".to_owned());
        assert_eq!(read(&written(&views)), views);
        let renamed = with(views, "old ones", "/?q=held%3E10m".to_owned());
        let names: Vec<&str> = renamed.iter().map(|view| view.name.as_str()).collect();
        assert_eq!(names, ["all", "old ones"]);
    }

    #[test]
    fn what_was_tampered_with_leads_nowhere_else() {
        assert_eq!(
            read("//evil.example x\nhttp://evil y\nnonsense\n\n/?q=a b c"),
            with(Vec::new(), "b c", "/?q=a".into())
        );
    }
}
