//! A list of saved views, each with a button that opens it and one that deletes it.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use super::SavedView;
use crate::ui::format;
use crate::ui::i18n::views as t;
use crate::ui::kit::{Button, Icon, IconName, Variant};
use crate::ui::locks_query::LocksQuery;

/// A view of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListedView {
    pub view: SavedView,
    /// Who saved the view.
    pub note: Option<String>,
}

/// A list of saved views.
#[component]
pub fn ViewList(
    /// The current query.
    query: Memo<LocksQuery>,
    /// The views.
    #[prop(into)]
    views: Signal<Vec<ListedView>>,
    /// Deletes the view of a name; `None` if the user may not.
    #[prop(into)]
    delete: Signal<Option<Callback<String>>>,
    /// Whether a deletion must be confirmed, because it affects other users.
    #[prop(optional)]
    is_confirmed: bool,
) -> impl IntoView {
    view! {
        <ul class="max-h-64 overflow-y-auto">
            <For each=move || views.get() key=ListedView::clone let:listed>
                <ViewLine query listed delete is_confirmed />
            </For>
        </ul>
    }
}

#[component]
fn ViewLine(
    query: Memo<LocksQuery>,
    listed: ListedView,
    delete: Signal<Option<Callback<String>>>,
    is_confirmed: bool,
) -> impl IntoView {
    let ListedView { view, note } = listed;
    let navigate = use_navigate();
    let name = format::escape_invisible(&view.name);
    let (path, stored_name) = (view.path.clone(), StoredValue::new(view.name));
    let is_current = {
        let path = path.clone();
        move || query.with(|query| query.path() == path).then_some("true")
    };
    let open = move |_| {
        let options = NavigateOptions {
            scroll: false,
            ..NavigateOptions::default()
        };
        navigate(&path, options);
    };
    let is_confirming = RwSignal::new(false);
    let delete_now = move || {
        if let Some(delete) = delete.get_untracked() {
            delete.run(stored_name.get_value());
        }
    };
    let on_delete = move |_| match is_confirmed {
        true => is_confirming.set(true),
        false => delete_now(),
    };
    let label = t::delete_view(&name);
    let question = t::delete_for_everyone(&name);
    let delete_button = move || {
        delete.get().map(|_| {
            view! {
                <button
                    type="button"
                    class="rounded p-1 text-muted hover:bg-sunken hover:text-ink"
                    aria-label=label.clone()
                    title=label.clone()
                    on:click=on_delete
                >
                    <Icon name=IconName::Cross />
                </button>
            }
        })
    };
    view! {
        <li>
            <div class="flex items-center gap-1">
                <button
                    type="button"
                    class="flex min-w-0 grow flex-wrap items-baseline gap-x-2 rounded px-2 py-1 text-start hover:bg-sunken aria-[current]:bg-accent-soft"
                    aria-current=is_current
                    title=view.path
                    on:click=open
                >
                    <span class="max-w-full truncate">{name}</span>
                    {note.map(|note| view! { <span class="max-w-full truncate text-xs text-muted">{note}</span> })}
                </button>
                {delete_button}
            </div>
            <Show when=move || is_confirming.get()>
                <div role="group" aria-label=question.clone() class="flex flex-wrap items-center gap-2 px-2 py-1">
                    <p class="w-full wrap-anywhere">{question.clone()}</p>
                    <Button variant=Variant::Danger on_press=move |()| delete_now()>{t::delete()}</Button>
                    <Button on_press=move |()| is_confirming.set(false)>{t::cancel()}</Button>
                </div>
            </Show>
        </li>
    }
}
