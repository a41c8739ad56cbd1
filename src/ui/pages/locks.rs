//! `/`: every lock, live.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};

use crate::ui::components::acquire_dialog::AcquireDialog;
use crate::ui::components::bulk::BulkBar;
use crate::ui::components::bundle_table::BundleTable;
use crate::ui::components::filter_tiles::FilterTiles;
use crate::ui::components::loaded::OnBoard;
use crate::ui::components::lock_table::LockTable;
use crate::ui::components::node_strip::NodeStrips;
use crate::ui::components::search_bar::SearchBar;
use crate::ui::components::selection::Selection;
use crate::ui::kit::{Button, Icon, Sign};
use crate::ui::live::Live;
use crate::ui::paths;
use crate::ui::query::Query;
use crate::ui::shortcuts::Shortcuts;
use crate::ui::words::locks as words;

/// Every lock, live.
#[component]
pub fn LocksPage() -> impl IntoView {
    let search = use_location().search;
    let query = Memo::new(move |_| search.with(|search| Query::parse(search)));
    Live::expect().look_at(query);
    Selection::provide();
    let acquiring = Shortcuts::expect().acquiring;
    let by = Memo::new(move |_| query.with(|query| query.by));
    let acquire = Callback::new(move |()| acquiring.set(true));
    let table = move || match by.get() {
        Some(by) => view! { <BundleTable query by on_acquire=acquire /> }.into_any(),
        None => view! { <LockTable query on_acquire=acquire /> }.into_any(),
    };
    let navigate = StoredValue::new(use_navigate());
    let show_mine =
        move |_| navigate.with_value(|navigate| navigate(paths::MINE, NavigateOptions::default()));
    view! {
        <Title text=format!("{} · Lockkeeper", words::locks()) />
        <h1 class="sr-only">{words::locks()}</h1>
        <OnBoard>
            <div class="flex flex-col gap-4">
                <FilterTiles query />
                <NodeStrips query />
                <div class="flex flex-wrap items-center gap-2">
                    <SearchBar query />
                    <Button on_press=move |()| acquiring.set(true)>
                        <Icon sign=Sign::Plus />
                        {words::acquire()}
                    </Button>
                </div>
                {move || table()}
                <BulkBar query />
            </div>
        </OnBoard>
        <AcquireDialog open=acquiring on_acquired=show_mine />
    }
}
