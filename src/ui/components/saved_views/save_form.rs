//! The form that saves the current state of the list as a view.

use leptos::prelude::*;

use super::team_views::TeamViews;
use super::{SavedView, browser_views};
use crate::domain::TeamView;
use crate::ui::i18n::views as t;
use crate::ui::kit::Button;
use crate::ui::kit::field::CONTROL;
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;

/// The form that saves a view, in the browser or for the team.
#[component]
pub fn SaveForm(
    /// The current query.
    query: Memo<LocksQuery>,
    /// The views in the browser.
    in_browser: RwSignal<Vec<SavedView>>,
    /// The views of the team.
    team: TeamViews,
) -> impl IntoView {
    let live = Live::expect();
    let typed = RwSignal::new(String::new());
    let is_denied = Memo::new(move |_| TeamViews::is_change_denied(live));
    let is_team_chosen = RwSignal::new(false);
    let is_for_team = move || is_team_chosen.get() && !is_denied.get();
    let has_name = move |views: &[SavedView]| {
        typed.with(|typed| views.iter().any(|view| view.name == typed.trim()))
    };
    let replaces = Memo::new(move |_| match is_for_team() {
        true => has_name(&team.saved()),
        false => in_browser.with(|views| has_name(views)),
    });
    let saving =
        Signal::derive(move || (is_for_team() && team.is_saving()).then(|| t::saving().to_owned()));
    // A name that was not saved stays, so that it can be corrected.
    Effect::new(move || {
        if team.is_saved() {
            typed.set(String::new());
        }
    });
    let save = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let name = typed.get_untracked().trim().to_owned();
        if name.is_empty() || saving.get_untracked().is_some() {
            return;
        }
        let path = query.with_untracked(LocksQuery::path);
        let view = SavedView { name, path };
        if untrack(is_for_team) {
            team.save(view);
            return;
        }
        let views = browser_views::with_view(in_browser.get_untracked(), view);
        browser_views::store_views(live, &views);
        in_browser.set(views);
        typed.set(String::new());
    };
    let choose =
        move |event: leptos::ev::Event| is_team_chosen.set(event_target_value(&event) == "team");
    view! {
        <form class="flex flex-wrap gap-2 border-t border-line pt-2" on:submit=save>
            <input
                class=CONTROL
                aria-label=t::view_name()
                placeholder=t::view_name()
                maxlength=TeamView::MAX_NAME_CHARS
                autocomplete="off"
                prop:value=move || typed.get()
                on:input=move |event| typed.set(event_target_value(&event))
            />
            <Show when=move || !is_denied.get()>
                <select class="h-8 min-w-0 grow rounded-md border border-line-strong bg-surface px-1.5" aria-label=t::save_for() on:change=choose>
                    <option value="browser" selected=move || !is_team_chosen.get()>{t::for_browser()}</option>
                    <option value="team" selected=move || is_team_chosen.get()>{t::for_team()}</option>
                </select>
            </Show>
            <Button submits=true disabled_reason=saving>
                {move || if replaces.get() { t::replace_view() } else { t::save_view() }}
            </Button>
        </form>
    }
}
