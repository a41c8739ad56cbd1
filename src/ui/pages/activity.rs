//! `/activity`: what happened to locks and nodes over time.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::domain::Activity;
use crate::ui::activity_view::ActivityView;
use crate::ui::components::activity::{ActivityContent, ActivitySource, RangeControls, TimeForm};
use crate::ui::components::copy_link::CopyLink;
use crate::ui::components::group_select::GroupSelect;
use crate::ui::components::page_search::PageSearch;
use crate::ui::components::resource_view::{AwaitSnapshot, ResourceView};
use crate::ui::i18n::activity as t;
use crate::ui::kit::use_replace_address;
use crate::ui::live::Live;
use crate::ui::paths;

/// The activity page.
#[component]
pub fn ActivityPage() -> impl IntoView {
    let live = Live::expect();
    let search = use_location().search;
    let view = Memo::new(move |_| search.with(|search| ActivityView::parse(search)));
    let ActivitySource {
        range,
        loading,
        data,
        ..
    } = ActivitySource::load(view);
    // A shared link shows the same time to its readers.
    let link = Signal::derive(move || view.get().with_range(range.get()).path());
    let show = Callback::new(move |activity: Activity| {
        data.set(activity, live.now.get_untracked());
        view! {
            <RangeControls view range />
            <ActivityContent data view range />
        }
        .into_any()
    });
    view! {
        <Title text=format!("{} · Lockkeeper", t::title()) />
        <div class="mb-3 flex items-center justify-between gap-4">
            <h1 class="text-xl font-semibold">{t::heading()}</h1>
            <CopyLink path=link />
        </div>
        <AwaitSnapshot>
            <Filters view />
            <ResourceView loading show />
        </AwaitSnapshot>
    }
}

/// The search, the group and the time.
#[component]
fn Filters(view: Memo<ActivityView>) -> impl IntoView {
    let with_text = Callback::new(move |text| {
        let view = view.get_untracked();
        ActivityView { text, ..view }.path()
    });
    let go = use_replace_address();
    let chosen = Memo::new(move |_| view.with(|view| view.group.clone()));
    let choose = move |group| {
        let view = view.get_untracked();
        go.run(ActivityView { group, ..view }.path());
    };
    let hidden = move || {
        let fields = view.with(ActivityView::hidden_fields);
        let field = |(name, value)| view! { <input type="hidden" name=name value=value /> };
        fields.into_iter().map(field).collect_view()
    };
    view! {
        <div class="mb-3 flex flex-wrap items-center gap-x-4 gap-y-2">
            <PageSearch
                text=Memo::new(move |_| view.with(|view| view.text.clone()))
                page=paths::ACTIVITY
                label=t::find()
                hint=t::find_hint()
                path=with_text
            >
                <GroupSelect chosen on_choose=choose />
                {hidden}
            </PageSearch>
            <TimeForm view />
        </div>
    }
}
