//! How many locks are in which state; a tile is a filter.

use std::collections::BTreeMap;

use leptos::prelude::*;

use crate::domain::{Flag, Verdict};
use crate::ui::kit::{Link, Tone};
use crate::ui::live::Live;
use crate::ui::query::{Only, Query};

const TILES: [(Only, Tone); 10] = [
    (Only::Everything, Tone::Plain),
    (Only::Attention, Tone::Alarm),
    (Only::Verdict(Verdict::Held), Tone::Good),
    // No tile for contention until it is measured: a zero would claim that there is none.
    (Only::Flag(Flag::Overdue), Tone::Alarm),
    (Only::Flag(Flag::AtRisk), Tone::Warn),
    (Only::Flag(Flag::Split), Tone::Alarm),
    (Only::Flag(Flag::NoExpiry), Tone::Alarm),
    (Only::Verdict(Verdict::Partial), Tone::Warn),
    (Only::Verdict(Verdict::Unknown), Tone::Unsure),
    (Only::Possible, Tone::Plain),
];

/// The counts, each of which filters the table.
#[component]
pub fn FilterTiles(
    /// What is shown now.
    query: Memo<Query>,
) -> impl IntoView {
    let live = Live::expect();
    let counts = Memo::new(move |_| {
        live.with_counts(|counts| {
            let named = |counts: &BTreeMap<String, u32>, name| counts.get(name).copied();
            let count = |only: Only| match only {
                Only::Everything => counts.all,
                Only::Attention => counts.attention,
                Only::Possible => counts.possible,
                Only::Verdict(verdict) => named(&counts.verdicts, verdict.slug()).unwrap_or(0),
                Only::Flag(flag) => named(&counts.flags, flag.slug()).unwrap_or(0),
            };
            TILES.map(|(only, _)| count(only).to_string()).to_vec()
        })
    });
    view! {
        <nav aria-label="Filters" class="grid grid-cols-3 gap-1.5 sm:flex sm:flex-wrap">
            {TILES
                .iter()
                .enumerate()
                .map(|(nth, (filter, tone))| {
                    let count = Signal::derive(move || counts.read()[nth].clone());
                    view! { <Tile query filter=*filter tone=*tone count /> }
                })
                .collect_view()}
        </nav>
    }
}

#[component]
fn Tile(query: Memo<Query>, filter: Only, tone: Tone, count: Signal<String>) -> impl IntoView {
    let current = Memo::new(move |_| query.with(|query| query.only == filter));
    // A second press on a filter takes it away again.
    let href = Signal::derive(move || {
        let next = if current.get() {
            Only::Everything
        } else {
            filter
        };
        query.with(|query| query.with_only(next).path())
    });
    // Colour is spent on what needs a person: a count of nothing has none.
    let colour = move || {
        if *count.read() == "0" || matches!(tone, Tone::Good | Tone::Plain) {
            "text-ink"
        } else {
            tone.text()
        }
    };
    view! {
        <Link
            href
            current
            stays=true
            class="flex flex-col rounded-lg border border-line bg-surface px-3 py-1.5 leading-tight hover:border-line-strong aria-[current]:border-accent aria-[current]:bg-accent-soft sm:min-w-20"
        >
            <span class=move || format!("text-lg font-semibold {}", colour())>{count}</span>
            <span class="text-xs text-muted">{filter.words()}</span>
        </Link>
    }
}
