//! The content of the activity page: the chart with its legend and table, and the events.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use super::chart_bands::{ChartBand, bands};
use super::chart_state::ChartState;
use super::data::{ActivityData, INITIAL_HOLDS, LoadedActivity};
use super::event_list::EventList;
use super::hold_table::HoldTable;
use super::lane_chart::LaneChart;
use super::lane_row::{KnownLanes, LaneRow};
use super::legend::Legend;
use super::made_up::MadeUpNote;
use super::read_out::ReadOut;
use crate::domain::activity::lanes::Lanes;
use crate::domain::activity::time_range::{RangeLength, RangeSelection, TimeRange};
use crate::domain::{HistorySource, LockId, Timestamp};
use crate::ui::activity_view::ActivityView;
use crate::ui::components::error_notice::sentence;
use crate::ui::format;
use crate::ui::i18n::activity as t;
use crate::ui::kit::{Banner, Empty, Link, Tone};

/// The number of lanes.
const MAX_LANES: usize = 200;

/// The chart and the events.
#[component]
pub fn ActivityContent(
    /// The history.
    data: ActivityData,
    /// The state of the page.
    view: Memo<ActivityView>,
    /// The displayed range.
    range: Memo<TimeRange>,
) -> impl IntoView {
    let lanes = Memo::new(move |_| match data.get() {
        Some(loaded) => KnownLanes {
            lanes: Arc::new(Lanes::of(&loaded.activity, MAX_LANES)),
            known_until: loaded.known_until,
        },
        None => KnownLanes {
            lanes: Arc::default(),
            known_until: Timestamp::from_millis(0),
        },
    });
    let bands = Memo::new(move |_| data.get().map(|loaded| bands(&loaded)).unwrap_or_default());
    let is_empty = Memo::new(move |_| {
        let has_no_period = |loaded: &LoadedActivity| {
            loaded.activity.outages.is_empty() && loaded.activity.gaps.is_empty()
        };
        lanes.with(|known| known.lanes.lanes.is_empty())
            && data.get().is_none_or(|loaded| has_no_period(&loaded))
    });
    // The chart stays without lanes, so that the range can be moved on with the same keys.
    let nothing = move || is_empty.get().then(|| view! { <NothingRecorded view /> });
    view! {
        <Notes data />
        <div class="grid gap-x-6 gap-y-6 xl:grid-cols-[minmax(0,1fr)_24rem]">
            <div class="min-w-0">
                <Picture data view range lanes bands />
                {nothing}
                <HoldTable data range />
            </div>
            <EventList data view range />
        </div>
    }
}

/// The lanes with the read-out and the legend.
#[component]
fn Picture(
    data: ActivityData,
    view: Memo<ActivityView>,
    range: Memo<TimeRange>,
    lanes: Memo<KnownLanes>,
    bands: Memo<Vec<ChartBand>>,
) -> impl IntoView {
    let navigate = StoredValue::new(use_navigate());
    let open = move |path: String| {
        let options = NavigateOptions {
            scroll: false,
            ..NavigateOptions::default()
        };
        navigate.with_value(|navigate| navigate(&path, options));
    };
    let select = move |range| open(view.with_untracked(|view| view.with_range(range).path()));
    let follow = move |()| {
        let range = RangeSelection::default();
        open(
            ActivityView {
                range,
                ..view.get_untracked()
            }
            .path(),
        );
    };
    let chart = ChartState::new(range, Callback::new(select), Callback::new(follow));
    let pointed_lane = RwSignal::new(None::<LockId>);
    let ids = move || {
        lanes.with(|known| {
            known
                .lanes
                .lanes
                .iter()
                .map(|lane| lane.id.clone())
                .collect::<Vec<_>>()
        })
    };
    let omitted = move || {
        let omitted = lanes.with(|known| known.lanes.omitted_count);
        (omitted > 0)
            .then(|| view! { <p class="mt-1 text-xs text-muted">{t::more_lanes(omitted)}</p> })
    };
    let has_lanes = Memo::new(move |_| lanes.with(|known| !known.lanes.lanes.is_empty()));
    let legend = move || has_lanes.get().then(|| view! { <Legend lanes /> });
    view! {
        <ReadOut chart lanes pointed_lane />
        <LaneChart chart bands is_busy=data.is_loading>
            <For each=ids key=|id| id.clone() let:id>
                <LaneRow id lanes chart pointed_lane />
            </For>
        </LaneChart>
        {omitted}
        {legend}
    }
}

/// What limits the displayed history: made-up holds, truncation, memory, and a failed refresh.
#[component]
fn Notes(data: ActivityData) -> impl IntoView {
    let truncated = move || {
        let loaded = data.get()?;
        let holds = loaded.activity.holds.len();
        let is_initial = u32::try_from(holds).is_ok_and(|holds| holds <= INITIAL_HOLDS);
        let is_final = loaded.activity.is_truncated && !is_initial;
        is_final.then(|| view! { <p class="mb-2 text-xs text-warn">{t::truncated(holds)}</p> })
    };
    let memory = move || {
        let is_memory = data.get()?.activity.source == HistorySource::Memory;
        is_memory.then(|| view! { <p class="mb-2 text-xs text-muted">{t::from_memory()}</p> })
    };
    // The history is loaded again all the time, and the note stays.
    let made_up_until = Memo::new(move |_| data.get()?.activity.made_up_until);
    let made_up = move || {
        let until = made_up_until.get()?;
        Some(view! { <MadeUpNote until /> })
    };
    let failed = move || {
        let error = data.error.get()?;
        let time = format::time_of_day(data.get()?.known_until);
        Some(view! {
            <div class="mb-3">
                <Banner tone=Tone::Warn>
                    <p>{t::not_refreshed(time)} " " {sentence(&error)}</p>
                </Banner>
            </div>
        })
    };
    view! {
        {made_up}
        {failed}
        {truncated}
        {memory}
    }
}

/// The empty state.
#[component]
fn NothingRecorded(view: Memo<ActivityView>) -> impl IntoView {
    let href = Signal::derive(move || {
        let range = RangeSelection::Last(RangeLength::Day);
        ActivityView {
            range,
            ..view.get()
        }
        .path()
    });
    view! {
        <Empty title=t::nothing()>
            <p>{t::nothing_advice()}</p>
            <Link href no_scroll=true class="font-medium text-accent underline underline-offset-2">
                {t::show_last_day()}
            </Link>
        </Empty>
    }
}
