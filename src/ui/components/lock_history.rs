//! The history of a lock: its holds with start, end and reason, and the usual hold duration.

use leptos::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::chart_format::hold_tone;
use super::hold_histogram::HoldHistogram;
use super::lease_chart::LeaseChart;
use super::owners_chart::OwnersChart;
use super::resource_view::ResourceView;
use crate::domain::{
    Fingerprint, History, Hold, HoldStats, LockId, Retention, StartSource, StatsScope, Timestamp,
};
use crate::ui::i18n::lock::{self as t, renewed};
use crate::ui::i18n::punctuation;
use crate::ui::kit::{Badge, Card};
use crate::ui::live::Live;
use crate::ui::live::ServerResource;
use crate::ui::{calls, format};

/// The number of holds shown before the list is expanded.
const INITIAL_HOLDS: usize = 8;

/// Loads the history of a lock, and reloads it when its owner changes.
///
/// Must not be called inside a `Suspense`: the server renders its content several times, so that
/// hydration would use the result of another request. Its content may also be created just after
/// the change that should reload it.
pub fn load(id: &LockId) -> ServerResource<History> {
    let lock = id.clone();
    let loading = ServerResource::new(move || calls::history(lock.clone()));
    reload_on_owner_change(id, loading);
    reload_on_missed_renewals(id, loading);
    loading
}

/// Reloads when the page missed a renewal, during hydration or while the tab was in the background.
/// The chart would have a gap.
fn reload_on_missed_renewals(id: &LockId, loading: ServerResource<History>) {
    let (live, id) = (Live::expect(), id.clone());
    let count = Memo::new(move |_| live.lock(&id).map(|lock| lock.renewals.count));
    Effect::new(move |before: Option<Option<u32>>| {
        let now = count.get();
        if let (Some(Some(before)), Some(now)) = (before, now)
            && now > before.saturating_add(1)
        {
            loading.refetch();
        }
        now
    });
}

/// Reloads when the lock gets another owner or is gone.
pub fn reload_on_owner_change<T>(id: &LockId, loading: ServerResource<T>)
where
    T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    let (live, id) = (Live::expect(), id.clone());
    let owners = Memo::new(move |_| {
        let owners = live.lock(&id).map(|lock| lock.owners);
        (
            owners.map(|owners| owners.into_iter().map(|owner| owner.fingerprint).collect()),
            live.ending(&id).map(|gone| gone.at),
        )
    });
    Effect::new(
        move |before: Option<(Option<Vec<Fingerprint>>, Option<Timestamp>)>| {
            let now = owners.get();
            if before.is_some_and(|before| before != now) {
                loading.refetch();
            }
            now
        },
    );
}

/// The history of one lock.
#[component]
pub fn LockHistory(
    /// The lock.
    id: LockId,
    /// The recorded history of the lock.
    history: ServerResource<History>,
) -> impl IntoView {
    let show = Callback::new(move |history: History| {
        view! { <LockHistoryContent history id=id.clone() /> }.into_any()
    });
    view! {
        <Card id="history" title=t::history()>
            <ResourceView loading=history show />
        </Card>
    }
}

#[component]
fn LockHistoryContent(history: History, id: LockId) -> impl IntoView {
    let live = Live::expect();
    let retention = {
        let retention = history.retention.clone();
        Signal::derive(move || retention_sentence(&retention))
    };
    let hold_stats = hold_stats_sentence(history.hold_stats.as_ref());
    let has_several_nodes = {
        let group = untrack(|| live.group(&id.group));
        group.is_some_and(|group| group.nodes.len() > 1)
    };
    let lease = {
        let (id, history) = (id.clone(), history.clone());
        view! { <LeaseChart id history has_several_nodes /> }.into_any()
    };
    if history.holds.is_empty() {
        return view! {
            {lease}
            <p>{if has_several_nodes { t::no_quorum_observed() } else { t::no_owner_observed() }}</p>
            <p class="mt-2 text-xs text-muted">{retention}</p>
        }
        .into_any();
    }
    let gaps = history.gaps_ms();
    let (holds, renewals) = (history.holds.clone(), history.renewals);
    let all_holds = holds.clone();
    let items = history.holds.into_iter().zip(gaps);
    let mut items: Vec<_> = items
        .map(|(hold, gap)| view! { <HoldItem hold gap id=id.clone() /> })
        .collect();
    let earlier = items.split_off(INITIAL_HOLDS.min(items.len()));
    let earlier = (!earlier.is_empty()).then(|| {
        let summary = format::earlier_hold_count(earlier.len());
        view! {
            <details class="mt-2">
                <summary class="text-muted">{summary}</summary>
                <ol class="mt-2 flex flex-col gap-2">{earlier}</ol>
            </details>
        }
    });
    view! {
        {lease}
        <OwnersChart holds renewals />
        <p class="mb-3">{hold_stats}</p>
        <HoldHistogram holds=all_holds />
        <ol class="flex flex-col gap-2" aria-label=t::holds()>
            {items}
        </ol>
        {earlier}
        <p class="mt-3 text-xs text-muted">{retention}</p>
    }
    .into_any()
}

#[component]
fn HoldItem(hold: Hold, gap: Option<u64>, id: LockId) -> impl IntoView {
    let live = Live::expect();
    let digits = hold.fingerprint.short().to_owned();
    let title = format!("{} {}", t::fingerprint(), hold.fingerprint);
    let label = hold.label.as_deref().map(format::escape_invisible);
    let span = {
        let hold = hold.clone();
        move || {
            let from = start_time(&hold);
            match hold.ended_at.map(format::time_of_day) {
                Some(until) => t::from_until(&from, &until),
                None => t::since(&from),
            }
        }
    };
    let renewals = {
        let (is_current, recorded) = (hold.ended_at.is_none(), hold.renewal_count);
        move || {
            // The recorded count does not change. For a hold in progress the index has the current
            // one.
            let now = is_current.then(|| live.lock(&id)).flatten();
            let count = now.map_or(recorded, |lock| lock.renewals.count);
            (count > 0)
                .then(|| punctuation::comma().to_owned() + &format::renewal_count(count as usize))
        }
    };
    let end_reason = hold.end_reason;
    let duration = move || format::span(hold.duration_ms(live.now.get()) / 100 * 100);
    view! {
        {gap
            .map(|ms| {
                view! { <li class="ps-3 text-xs text-muted">{t::gap(&format::span(ms))}</li> }
            })}
        <li class="flex flex-wrap items-baseline gap-x-2 border-s-2 border-line ps-3">
            <span title=title>
                {label.map(|label| view! { <bdi class="font-medium wrap-anywhere">{label}</bdi> " " })}
                <span class="font-mono text-xs text-muted">{digits}"…"</span>
            </span>
            <Badge tone=hold_tone(end_reason)>{t::ended(end_reason)}</Badge>
            <span class="text-muted tabular-nums">{span}{punctuation::comma()}{duration}{renewals}</span>
        </li>
    }
}

/// The start of a hold, marked where it is not exact.
fn start_time(hold: &Hold) -> String {
    let time = match hold.ended_at {
        // The end of the hold has the zone.
        Some(_) => format::clock_time(hold.started_at),
        None => format::time_of_day(hold.started_at),
    };
    match (hold.started_at_source, hold.started_at_uncertainty_ms) {
        (StartSource::Claimed, _) | (StartSource::Appeared, Some(0..1_000)) => time,
        (StartSource::Appeared, Some(_) | None) => renewed::about(&time),
        (StartSource::FirstSeen, _) => renewed::before(&time),
    }
}

fn hold_stats_sentence(hold_stats: Option<&HoldStats>) -> String {
    let Some(hold_stats) = hold_stats else {
        return t::no_hold_stats().to_owned();
    };
    let holds = format::hold_count(hold_stats.count as usize);
    let scope = match (&hold_stats.scope, &hold_stats.pattern) {
        (StatsScope::Pattern, Some(pattern)) => {
            t::of_pattern(&holds, &format::escape_invisible(pattern))
        }
        (StatsScope::Pattern | StatsScope::Lock, _) => t::of_this_lock(&holds),
    };
    t::hold_stats(
        &format::span(hold_stats.p50_ms),
        &format::span(hold_stats.p90_ms),
        &format::span(hold_stats.p99_ms),
        &format::span(hold_stats.max_ms),
        &scope,
    )
}

fn retention_sentence(retention: &Retention) -> String {
    t::retention(
        &format::time_of_day(retention.since),
        retention.max_holds,
        &format::span(retention.max_age_ms),
    )
}
