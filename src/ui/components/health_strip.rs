//! A node's last hour as a strip of minutes, and as a table. The height shows the state, and the
//! colour repeats it.

use leptos::prelude::*;

use super::group_strips::state_tone;
use crate::domain::node_history::{HealthInterval, HealthMinute, HealthTimeline, MINUTES};
use crate::domain::{NodeState, Timestamp};
use crate::ui::format;
use crate::ui::i18n::{nodes as t, punctuation, terms};
use crate::ui::kit::{Table, Tone};

/// The width of a minute and of its bar, in SVG units.
const MINUTE_WIDTH: usize = 5;
const BAR_WIDTH: usize = 4;
/// The height of the strip, in SVG units.
const HEIGHT: usize = 24;

/// The last hour of a node.
#[component]
pub fn HealthStrip(
    /// The node's state per minute.
    timeline: HealthTimeline,
) -> impl IntoView {
    let rows = timeline
        .intervals()
        .iter()
        .rev()
        .map(interval_row)
        .collect_view();
    view! {
        <figure class="flex flex-col gap-1">
            <figcaption class="text-xs text-muted">{t::last_hour()}</figcaption>
            <HealthBars timeline />
            <details class="text-xs">
                <summary class="text-muted">{t::as_a_table()}</summary>
                <Table
                    titles=vec![t::hour_from(), t::hour_minutes(), t::hour_state(), t::hour_slowest()]
                    title_class="pe-3 text-start font-medium text-muted"
                    class="mt-1 w-full"
                >
                    {rows}
                </Table>
            </details>
        </figure>
    }
}

/// The last hour of a node as bars, without the table.
#[component]
pub fn HealthBars(
    /// The node's state per minute.
    timeline: HealthTimeline,
) -> impl IntoView {
    let minutes = timeline.minutes();
    let label = summary(&minutes);
    let bars = minutes.iter().enumerate().map(minute_bar).collect_view();
    view! {
        <svg
            class="h-5 w-full"
            viewBox=format!("0 0 {} {HEIGHT}", MINUTE_WIDTH * MINUTES)
            preserveAspectRatio="none"
            role="img"
            aria-label=label
        >
            {bars}
        </svg>
    }
}

/// A full bar for a minute in which the node was up, half a bar if it was unreachable for a part, a
/// low bar if it was unreachable, a dash if its state is unknown.
fn minute_bar((index, minute): (usize, &HealthMinute)) -> impl IntoView + use<> {
    let (tone, height) = match (minute.worst, minute.replied) {
        (None, _) => (Tone::Plain, 2),
        (Some(NodeState::Up), _) => (Tone::Good, HEIGHT - 4),
        (Some(state), true) => (state_tone(state), HEIGHT / 2),
        (Some(state), false) => (state_tone(state), 6),
    };
    let x = (index * MINUTE_WIDTH).to_string();
    let y = (HEIGHT - height).to_string();
    view! { <rect class=tone.text() fill="currentColor" x=x y=y width=BAR_WIDTH.to_string() height=height.to_string()></rect> }
}

fn interval_row(interval: &HealthInterval) -> impl IntoView + use<> {
    let state = match (interval.worst, interval.replied) {
        (None, _) => t::no_data().to_owned(),
        (Some(NodeState::Up), _) => terms::up().to_owned(),
        (Some(state), true) => t::partly(terms::node_state(state)),
        (Some(state), false) => terms::node_state(state).to_owned(),
    };
    let slowest = interval.slowest_us.map(latency);
    let at = interval.at;
    view! {
        <tr>
            <td class="pe-3">{move || hour_and_minute(at)}</td>
            <td class="pe-3">{interval.minute_count}</td>
            <td class="pe-3">{state}</td>
            <td>{slowest.unwrap_or_else(|| "–".to_owned())}</td>
        </tr>
    }
}

/// The start of a minute: `03:07 UTC`.
fn hour_and_minute(at: Timestamp) -> String {
    let time = format::clock_time(at);
    let zone = format::zone_name(at);
    format!("{} {zone}", time.get(..5).unwrap_or(&time))
}

/// The strip as a sentence, for screen readers.
fn summary(minutes: &[HealthMinute]) -> String {
    let count = |which: &dyn Fn(&HealthMinute) -> bool| {
        minutes.iter().filter(|minute| which(minute)).count()
    };
    let up = count(&|minute| minute.worst == Some(NodeState::Up));
    let partly = count(&|minute| minute.replied && minute.worst != Some(NodeState::Up));
    let unreachable = count(&|minute| !minute.replied && minute.worst.is_some());
    let unknown = count(&|minute| minute.worst.is_none());
    let parts = [
        (up, t::hour_up as fn(usize) -> String),
        (partly, t::hour_partly),
        (unreachable, t::hour_down),
        (unknown, t::hour_unknown),
    ];
    let parts = parts
        .into_iter()
        .filter(|(index, _)| *index > 0)
        .map(|(index, message)| message(index));
    let slowest = minutes.iter().filter_map(|minute| minute.slowest_us).max();
    let slowest = slowest.map(|us| t::slowest(latency(us)));
    let parts: Vec<String> = parts.chain(slowest).collect();
    punctuation::labelled(t::last_hour(), &parts.join(punctuation::comma()))
}

fn latency(us: u32) -> String {
    format::latency(f64::from(us) / 1e3)
}
