//! Saved views: named filters and sort orders of the table, in the browser or for all users.

mod browser_views;
mod menu;
mod save_form;
mod team_views;
mod view_list;

use leptos::prelude::*;

use crate::ui::i18n::views as t;
use crate::ui::kit::Menu;
use crate::ui::lazy::{lazy, lazy_view};
use crate::ui::locks_query::LocksQuery;
pub use browser_views::load_views;
use menu::SavedViewsMenu;
pub use team_views::TeamViews;

/// A saved view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SavedView {
    /// The name that a user chose.
    pub name: String,
    /// The path and query of the page.
    pub path: String,
}

/// The menu of saved views. Its code is loaded when it is first opened.
#[component]
pub fn SavedViews(
    /// The current query.
    query: Memo<LocksQuery>,
) -> impl IntoView {
    // How often the menu was opened: the views of the team are loaded again each time.
    let openings = RwSignal::new(0_u32);
    let is_opened = Memo::new(move |_| openings.get() > 0);
    let on_toggle = move |is_open| {
        if is_open {
            openings.update(|openings| *openings += 1);
        }
    };
    let menu = move || {
        is_opened
            .get()
            .then(|| lazy_view(move || menu(query, openings)))
    };
    view! {
        <Menu label=t::views().to_owned() class="needs-script" list_class="w-72 flex-col gap-2" stays_open=true on_toggle>
            {move || menu()}
        </Menu>
    }
}

lazy! { dialogs: fn menu(query: Memo<LocksQuery>, openings: RwSignal<u32>) -> view! { <SavedViewsMenu query openings /> } }
