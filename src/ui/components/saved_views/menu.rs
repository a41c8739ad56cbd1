//! The contents of the menu: the views of the team, those in the browser, and a form.

use leptos::prelude::*;

use super::save_form::SaveForm;
use super::team_views::TeamViews;
use super::view_list::{ListedView, ViewList};
use super::{SavedView, browser_views};
use crate::domain::TeamView;
use crate::ui::components::error_notice::ErrorNotice;
use crate::ui::format;
use crate::ui::i18n::views as t;
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;

/// The contents of the menu.
#[component]
pub fn SavedViewsMenu(
    /// The current query.
    query: Memo<LocksQuery>,
    /// How often the menu was opened.
    openings: RwSignal<u32>,
) -> impl IntoView {
    let live = Live::expect();
    let in_browser = RwSignal::new(Vec::<SavedView>::new());
    let team = TeamViews::not_loaded();
    Effect::new(move || {
        openings.track();
        in_browser.set(browser_views::load_views(live));
        team.reload();
    });
    view! {
        <Section title=t::team()>
            <TeamSection query team />
        </Section>
        <Section title=t::this_browser()>
            <BrowserSection query in_browser />
        </Section>
        <SaveForm query in_browser team />
    }
}

#[component]
fn Section(title: &'static str, children: Children) -> impl IntoView {
    view! {
        <section aria-label=title class="flex flex-col gap-1">
            <h2 class="px-2 text-xs font-medium text-muted">{title}</h2>
            {children()}
        </section>
    }
}

#[component]
fn BrowserSection(query: Memo<LocksQuery>, in_browser: RwSignal<Vec<SavedView>>) -> impl IntoView {
    let live = Live::expect();
    let views = Signal::derive(move || {
        let listed = |view: &SavedView| ListedView {
            view: view.clone(),
            note: None,
        };
        in_browser.with(|views| views.iter().map(listed).collect::<Vec<_>>())
    });
    let delete = Callback::new(move |name: String| {
        let mut views = in_browser.get_untracked();
        views.retain(|view| view.name != name);
        browser_views::store_views(live, &views);
        in_browser.set(views);
    });
    let is_empty = Memo::new(move |_| in_browser.with(Vec::is_empty));
    view! {
        {move || is_empty.get().then(|| view! { <p class="px-2 text-muted">{t::no_views()}</p> })}
        <ViewList query views delete=Some(delete) />
    }
}

#[component]
fn TeamSection(query: Memo<LocksQuery>, team: TeamViews) -> impl IntoView {
    let live = Live::expect();
    let views = Signal::derive(move || {
        team.list
            .with(|list| list.iter().flatten().map(listed).collect::<Vec<_>>())
    });
    let may_change = Memo::new(move |_| !TeamViews::is_change_denied(live));
    let delete = Callback::new(move |name| team.delete(name));
    let delete = Signal::derive(move || may_change.get().then_some(delete));
    let is_empty = Memo::new(move |_| {
        team.list
            .with(|list| list.as_ref().is_some_and(Vec::is_empty))
    });
    let is_loading =
        Memo::new(move |_| team.list.with(Option::is_none) && team.load_error().is_none());
    let retry = Callback::new(move |()| team.reload());
    let load_error = move || {
        let error = team.load_error();
        error.map(|error| view! { <ErrorNotice error retry /> })
    };
    let change_errors = move || {
        let errors = team.change_errors().into_iter().flatten();
        errors
            .map(|error| view! { <ErrorNotice error /> })
            .collect_view()
    };
    view! {
        <div aria-live="polite" class="flex flex-col gap-1">
            {move || is_loading.get().then(|| view! { <p class="px-2 text-muted">{t::loading()}</p> })}
            {move || is_empty.get().then(|| view! { <p class="px-2 text-muted">{t::no_team_views()}</p> })}
            {load_error}
            {change_errors}
        </div>
        <ViewList query views delete is_confirmed=true />
    }
}

fn listed(view: &TeamView) -> ListedView {
    ListedView {
        note: Some(t::saved_by(&format::escape_invisible(&view.saved_by))),
        view: SavedView {
            name: view.name.clone(),
            path: view.path.clone(),
        },
    }
}
