//! One lane: the name of the lock and its holds.

use std::sync::Arc;

use leptos::prelude::*;

use super::chart_state::ChartState;
use super::names::owner_key;
use crate::domain::activity::lanes::{Lane, LaneHold, Lanes};
use crate::domain::{LockId, Timestamp};
use crate::ui::components::lock_name::LockName;
use crate::ui::i18n::activity as t;
use crate::ui::kit::Link;
use crate::ui::kit::chart::{BarStyle, LaneBar, LaneContent, LaneStrip};
use crate::ui::{format, paths};

/// The number of characters of a name.
const NAME_CHARS: usize = 30;

/// The lanes and the time until which they are known.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownLanes {
    /// The lanes.
    pub lanes: Arc<Lanes>,
    /// The time until which the history is known.
    pub known_until: Timestamp,
}

impl KnownLanes {
    /// The lane of a lock.
    pub fn lane(&self, id: &LockId) -> Option<&Lane> {
        self.lanes.lanes.iter().find(|lane| lane.id == *id)
    }
}

/// One lane.
#[component]
pub fn LaneRow(
    /// The lock.
    id: LockId,
    /// All lanes.
    lanes: Memo<KnownLanes>,
    /// The state of the chart.
    chart: ChartState,
    /// The lane under the pointer.
    pointed_lane: RwSignal<Option<LockId>>,
) -> impl IntoView {
    let href = paths::lock(&id);
    let group = format::escape_invisible(&id.group);
    let key = id.key.clone();
    let shown = {
        let id = id.clone();
        Memo::new(move |_| {
            lanes.with(|lanes| {
                let lane = lanes.lane(&id)?;
                Some((lane_content(lane, lanes.known_until), summary(lane)))
            })
        })
    };
    let content =
        Signal::derive(move || shown.get().map(|(content, _)| content).unwrap_or_default());
    let label = Signal::derive(move || shown.get().map(|(_, label)| label).unwrap_or_default());
    view! {
        <li
            class="lane flex flex-col gap-x-2 py-0.5 sm:h-7 sm:flex-row sm:items-center"
            on:pointerenter=move |_| pointed_lane.set(Some(id.clone()))
        >
            <span class="flex min-w-0 items-baseline gap-2 text-xs sm:w-54 sm:shrink-0">
                <Link href class="min-w-0 truncate hover:underline">
                    <LockName key=key max_chars=NAME_CHARS />
                </Link>
                <bdi class="ms-auto max-w-16 shrink-0 truncate text-muted">{group}</bdi>
            </span>
            <span class="block min-w-0 grow">
                <LaneStrip content scale=Signal::derive(move || chart.scale()) label />
            </span>
        </li>
    }
}

/// What a screen reader reads.
fn summary(lane: &Lane) -> String {
    let mut owners: Vec<&str> = lane
        .holds
        .iter()
        .map(|LaneHold { hold, .. }| owner_key(hold.label.as_deref(), &hold.fingerprint))
        .collect();
    owners.sort_unstable();
    owners.dedup();
    t::lane(lane.holds.len(), owners.len(), lane.forced_ends().count())
}

/// What a lane shows.
fn lane_content(lane: &Lane, known_until: Timestamp) -> LaneContent {
    let bars = lane.holds.iter().map(|LaneHold { hold, row }| LaneBar {
        from: hold.started_at.millis(),
        until: hold.ended_at.unwrap_or(known_until).millis(),
        row: *row,
        style: BarStyle::of_name(owner_key(hold.label.as_deref(), &hold.fingerprint)),
    });
    let alarms = lane.splits().map(|period| {
        let until = period.to.unwrap_or(known_until);
        (period.from.millis(), until.millis())
    });
    LaneContent {
        row_count: lane.row_count,
        bars: bars.collect(),
        crosses: lane.forced_ends().map(Timestamp::millis).collect(),
        ticks: Vec::new(),
        alarms: alarms.collect(),
    }
}
