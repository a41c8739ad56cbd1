//! A node's last hour as a strip of minutes, and the same as a table. Height tells states apart; colour repeats it.

use leptos::prelude::*;

use super::node_strip::state_tone;
use crate::domain::NodeState;
use crate::domain::node_past::{Hour, MINUTES, Minute, Stretch};
use crate::ui::format;
use crate::ui::kit::{Table, Tone};
use crate::ui::words::{nodes as words, punctuation, verdicts};

/// The width of a minute, and of the bar in it.
const STEP: usize = 5;
const BAR: usize = 4;
/// The height of the strip.
const HEIGHT: usize = 24;

/// The last hour of a node.
#[component]
pub fn HealthStrip(
    /// Its minutes.
    hour: Hour,
) -> impl IntoView {
    let minutes = hour.minutes();
    let label = sentence(&minutes);
    let bars = minutes.iter().enumerate().map(bar).collect_view();
    let rows = hour.stretches().iter().rev().map(row).collect_view();
    view! {
        <figure class="flex flex-col gap-1">
            <figcaption class="text-xs text-muted">{words::last_hour()}</figcaption>
            <svg
                class="h-6 w-full"
                viewBox=format!("0 0 {} {HEIGHT}", STEP * MINUTES)
                preserveAspectRatio="none"
                role="img"
                aria-label=label
            >
                {bars}
            </svg>
            <details class="text-xs">
                <summary class="text-muted">{words::as_a_table()}</summary>
                <Table
                    titles=vec![words::hour_from(), words::hour_minutes(), words::hour_state(), words::hour_slowest()]
                    title_class="pe-3 text-start font-medium text-muted"
                    class="mt-1 w-full"
                >
                    {rows}
                </Table>
            </details>
        </figure>
    }
}

/// A full bar while it is up, half of one where it was away for a part, a low one while it was away, a dash where nobody knows.
fn bar((n, minute): (usize, &Minute)) -> impl IntoView + use<> {
    let (tone, height) = match (minute.worst, minute.answered) {
        (None, _) => (Tone::Plain, 2),
        (Some(NodeState::Up), _) => (Tone::Good, HEIGHT - 4),
        (Some(state), true) => (state_tone(state), HEIGHT / 2),
        (Some(state), false) => (state_tone(state), 6),
    };
    let x = (n * STEP).to_string();
    let y = (HEIGHT - height).to_string();
    view! { <rect class=tone.text() fill="currentColor" x=x y=y width=BAR.to_string() height=height.to_string()></rect> }
}

fn row(stretch: &Stretch) -> impl IntoView + use<> {
    let state = match (stretch.worst, stretch.answered) {
        (None, _) => words::not_looked_at().to_owned(),
        (Some(NodeState::Up), _) => verdicts::up().to_owned(),
        (Some(state), true) => words::partly(verdicts::node_state(state)),
        (Some(state), false) => verdicts::node_state(state).to_owned(),
    };
    let slowest = stretch.slowest_us.map(latency);
    view! {
        <tr>
            <td class="pe-3">{format::time_of_day(stretch.at)[..5].to_owned()}</td>
            <td class="pe-3">{stretch.minutes}</td>
            <td class="pe-3">{state}</td>
            <td>{slowest.unwrap_or_else(|| "–".to_owned())}</td>
        </tr>
    }
}

/// The whole strip in a sentence.
fn sentence(minutes: &[Minute]) -> String {
    let many = |which: &dyn Fn(&Minute) -> bool| minutes.iter().filter(|one| which(one)).count();
    let up = many(&|one| one.worst == Some(NodeState::Up));
    let partly = many(&|one| one.answered && one.worst != Some(NodeState::Up));
    let away = many(&|one| !one.answered && one.worst.is_some());
    let unknown = many(&|one| one.worst.is_none());
    let told = [
        (up, words::hour_up as fn(usize) -> String),
        (partly, words::hour_partly),
        (away, words::hour_away),
        (unknown, words::hour_unknown),
    ];
    let told = told
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, say)| say(n));
    let slowest = minutes.iter().filter_map(|one| one.slowest_us).max();
    let slowest = slowest.map(|us| words::slowest(latency(us)));
    let told: Vec<String> = told.chain(slowest).collect();
    punctuation::told(words::last_hour(), &told.join(punctuation::comma()))
}

fn latency(us: u32) -> String {
    format::latency(f64::from(us) / 1e3)
}
