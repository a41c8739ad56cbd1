//! What the pointer points at: the time, the lock, and its owners at that time.

use leptos::prelude::*;

use super::chart_state::ChartState;
use super::lane_row::KnownLanes;
use super::names::owner_name;
use crate::domain::{Hold, LockId, Timestamp};
use crate::ui::format;
use crate::ui::i18n::activity as t;
use crate::ui::i18n::punctuation;

/// The number of owners that are named.
const MAX_OWNERS: usize = 3;

/// The read-out of the pointer.
#[component]
pub fn ReadOut(
    /// The state of the chart.
    chart: ChartState,
    /// All lanes.
    lanes: Memo<KnownLanes>,
    /// The lane under the pointer.
    pointed_lane: RwSignal<Option<LockId>>,
) -> impl IntoView {
    let text = move || {
        let Some(at) = chart.pointer_time() else {
            return view! { <span class="text-muted">{t::hover_hint()}</span> }.into_any();
        };
        let lock = pointed_lane.get().map(|id| {
            let owners = lanes.with(|lanes| {
                let holds = lanes.lane(&id).map(|lane| lane.holds_at(at).cloned());
                owners_at(holds.into_iter().flatten().collect(), at)
            });
            let name = format::shorten(&format::escape_invisible(&id.key.text()), 48);
            view! { <bdi class="font-mono">{name}</bdi> <span>{owners}</span> }
        });
        view! { <span class="tabular-nums">{format::date_time(at)}</span> {lock} }.into_any()
    };
    view! { <p class="flex min-h-5 flex-wrap gap-x-3 text-xs max-sm:hidden">{text}</p> }
}

/// The owners at a moment, as text.
fn owners_at(holds: Vec<Hold>, at: Timestamp) -> String {
    if holds.is_empty() {
        return t::no_owner_at().to_owned();
    }
    let more = holds.len().saturating_sub(MAX_OWNERS);
    let owner = |hold: &Hold| {
        let name = owner_name(hold.label.as_deref(), &hold.fingerprint);
        let since = format::time_of_day(hold.started_at);
        t::held_by_since(&name, since, format::span(held_ms(hold, at)))
    };
    let named = holds.iter().take(MAX_OWNERS).map(owner);
    let more = (more > 0).then(|| t::more_owners(more));
    punctuation::list(named.chain(more))
}

/// How long the owner had held the lock by then, in milliseconds.
fn held_ms(hold: &Hold, at: Timestamp) -> u64 {
    u64::try_from(at.millis_since(hold.started_at)).unwrap_or(0)
}
