//! `/`: the live lock list.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};

use crate::ui::components::acquire_dialog::AcquireDialog;
use crate::ui::components::attention_summary::AttentionSummary;
use crate::ui::components::bucket_table::BucketTable;
use crate::ui::components::bulk::BulkBar;
use crate::ui::components::group_cards::GroupCards;
use crate::ui::components::lock_table::LockTable;
use crate::ui::components::resource_view::AwaitSnapshot;
use crate::ui::components::search_bar::SearchBar;
use crate::ui::components::selection::Selection;
use crate::ui::components::trends::{TrendSource, Trends};
use crate::ui::i18n::locks as t;
use crate::ui::kit::{Button, Icon, IconName};
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;
use crate::ui::paths;
use crate::ui::shortcuts::Shortcuts;

/// The lock list.
#[component]
pub fn LocksPage() -> impl IntoView {
    let search = use_location().search;
    let query = Memo::new(move |_| search.with(|search| LocksQuery::parse(search)));
    Live::expect().set_query(query);
    Selection::provide();
    let trends = TrendSource::load();
    let acquiring = Shortcuts::expect().acquire_open;
    let by = Memo::new(move |_| query.with(|query| query.group_by));
    let acquire = Callback::new(move |()| acquiring.set(true));
    let table = move || match by.get() {
        Some(by) => view! { <BucketTable query by on_acquire=acquire /> }.into_any(),
        None => view! { <LockTable query on_acquire=acquire /> }.into_any(),
    };
    let navigate = StoredValue::new(use_navigate());
    let show_mine =
        move |_| navigate.with_value(|navigate| navigate(paths::MINE, NavigateOptions::default()));
    view! {
        <Title text=format!("{} · Lockkeeper", t::locks()) />
        <h1 class="sr-only">{t::locks()}</h1>
        <AwaitSnapshot>
            <div class="flex flex-col gap-2">
                // At most two lines beside the charts, so that the first rows are in the upper part of
                // the screen.
                <div class="flex items-stretch gap-2">
                    <div class="flex min-w-0 grow flex-col gap-1.5">
                        <AttentionSummary query />
                        <GroupCards query />
                    </div>
                    <Trends source=trends />
                </div>
                <div class="flex flex-wrap items-center gap-2">
                    <SearchBar query />
                    // As high as the fields beside it.
                    <span class="flex *:h-9 *:grow *:justify-center max-sm:grow">
                        <Button on_press=move |()| acquiring.set(true)>
                            <Icon name=IconName::Plus />
                            {t::acquire()}
                        </Button>
                    </span>
                </div>
                {move || table()}
                <BulkBar query />
            </div>
        </AwaitSnapshot>
        <AcquireDialog open=acquiring on_acquired=show_mine />
    }
}
