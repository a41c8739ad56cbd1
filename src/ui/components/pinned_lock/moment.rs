//! Who held a lock at a time, and the flags and outages at that time.

use leptos::prelude::*;

use crate::domain::{FlagPeriod, Hold, NodeOutage, RecordedState, StartSource, Timestamp};
use crate::ui::format;
use crate::ui::i18n::{activity, lock, pinned as t, punctuation, terms};

/// The number of holds, flags and outages that are listed.
const MAX_LISTED: usize = 20;

/// Who held the lock, or why that is not known.
#[component]
pub fn MomentState(
    /// The recorded state.
    state: RecordedState,
    /// The time.
    at: Timestamp,
) -> impl IntoView {
    let sentence = move |text: &dyn Fn() -> String| {
        view! { <p class="text-base font-semibold">{text()}</p> }.into_any()
    };
    let content = move || match &state {
        RecordedState::Held { holds } => {
            let holds = holds.iter().take(MAX_LISTED);
            let items = holds.map(|hold| view! { <HoldAt hold=hold.clone() at /> });
            view! { <ul class="flex flex-col gap-2">{items.collect_view()}</ul> }.into_any()
        }
        RecordedState::NoOwner => sentence(&|| t::no_owner().to_owned()),
        RecordedState::Future => sentence(&|| t::future().to_owned()),
        RecordedState::NotRecorded => sentence(&|| t::not_recorded().to_owned()),
        RecordedState::BeforeRecording { since } => {
            sentence(&|| t::before_recording(&format::date_time(*since)))
        }
        RecordedState::Gap { gap } => sentence(&|| {
            let (from, cause) = (format::date_time(gap.from), activity::gap_cause(gap.cause));
            match gap.to {
                Some(to) => t::in_gap(&from, &format::date_time(to), cause),
                None => t::in_open_gap(&from, cause),
            }
        }),
    };
    view! { {move || content()} }
}

/// One hold at the time.
#[component]
fn HoldAt(hold: Hold, at: Timestamp) -> impl IntoView {
    let name = match &hold.label {
        Some(label) => format::shorten(&format::escape_invisible(label), 60),
        None => hold.fingerprint.short().to_owned(),
    };
    let held_ms = u64::try_from(at.millis_since(hold.started_at)).unwrap_or(0);
    let sentence = t::held_by(&name, &format::span(held_ms));
    let fingerprint = hold.fingerprint.to_string();
    let times = move || {
        let start = start_time(&hold);
        let end = hold.ended_at.map(|ended_at| {
            let time = format::date_time(ended_at);
            t::ended_later(&time, lock::ended(hold.end_reason))
        });
        punctuation::list(std::iter::once(start).chain(end))
    };
    view! {
        <li>
            <p class="text-base font-semibold wrap-anywhere">{sentence}</p>
            <p class="text-muted tabular-nums">
                {times} " " <span class="font-mono text-xs">{fingerprint}</span>
            </p>
        </li>
    }
}

/// The start of a hold, marked where it is not exact.
fn start_time(hold: &Hold) -> String {
    let time = format::date_time(hold.started_at);
    match (hold.started_at_source, hold.started_at_uncertainty_ms) {
        (StartSource::Claimed, _) | (StartSource::Appeared, Some(0..1_000)) => t::hold_since(&time),
        (StartSource::Appeared, Some(_) | None) => t::hold_about(&time),
        (StartSource::FirstSeen, _) => t::hold_before(&time),
    }
}

/// The flags and the outages at the time.
#[component]
pub fn MomentConditions(
    /// The flags.
    flags: Vec<FlagPeriod>,
    /// The nodes that were not up.
    outages: Vec<NodeOutage>,
) -> impl IntoView {
    let flags = flags.into_iter().take(MAX_LISTED).map(|period| {
        let text = move || {
            let since = t::hold_since(&format::date_time(period.from));
            terms::flag(period.flag).to_owned() + &punctuation::in_parentheses(&since)
        };
        view! { <li>{text}</li> }
    });
    let flags: Vec<_> = flags.collect();
    let no_flags = flags.is_empty().then(t::no_flags);
    let outages = outages.into_iter().take(MAX_LISTED).map(|outage| {
        let node = format::escape_invisible(&outage.node);
        let text = move || {
            let state = terms::node_state(outage.state);
            let since = t::hold_since(&format::date_time(outage.from));
            punctuation::labelled(&node, state) + &punctuation::in_parentheses(&since)
        };
        view! { <li class="wrap-anywhere">{text}</li> }
    });
    let outages: Vec<_> = outages.collect();
    let no_outages = outages.is_empty().then(t::no_outages);
    view! {
        <dl class="mt-3 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 [&_dt]:text-muted">
            <dt>{t::flags()}</dt>
            <dd>
                {no_flags}
                <ul>{flags}</ul>
            </dd>
            <dt>{t::outages()}</dt>
            <dd>
                {no_outages}
                <ul>{outages}</ul>
            </dd>
        </dl>
    }
}
