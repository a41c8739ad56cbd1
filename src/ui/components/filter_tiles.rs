//! How many locks are in which state; a tile is a filter.

use std::collections::BTreeMap;

use leptos::prelude::*;

use crate::domain::{Flag, Verdict};
use crate::ui::kit::{Link, Tone};
use crate::ui::live::Live;
use crate::ui::query::{Only, Query};
use crate::ui::words::locks as words;

const TILES: [(Only, Tone); 14] = [
    (Only::Everything, Tone::Plain),
    (Only::Attention, Tone::Alarm),
    (Only::Verdict(Verdict::Held), Tone::Good),
    (Only::Flag(Flag::Overdue), Tone::Alarm),
    (Only::Flag(Flag::AtRisk), Tone::Warn),
    (Only::Flag(Flag::Split), Tone::Alarm),
    (Only::Flag(Flag::NoExpiry), Tone::Alarm),
    (Only::Flag(Flag::Contended), Tone::Plain),
    (Only::Flag(Flag::Endless), Tone::Warn),
    (Only::Flag(Flag::RestartHazard), Tone::Warn),
    (Only::Flag(Flag::Fragment), Tone::Plain),
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
            // That nobody was noticed who wants a lock does not prove that nobody does.
            let shown = |only: Only| match (only, count(only)) {
                (Only::Flag(Flag::Contended), 0) => "–".to_owned(),
                (_, count) => count.to_string(),
            };
            TILES.map(|(only, _)| shown(only)).to_vec()
        })
    });
    view! {
        <nav aria-label=words::filters() class="-mx-1 flex gap-1.5 overflow-x-auto p-1 sm:flex-wrap sm:overflow-visible">
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
    // What is seldom so takes no room while it is not.
    let is_rare = matches!(
        filter,
        Only::Flag(Flag::Endless | Flag::RestartHazard | Flag::Fragment)
    );
    let is_there = Memo::new(move |_| !is_rare || current.get() || *count.read() != "0");
    // Colour is spent on what needs a person: a count of nothing has none.
    let colour = move || {
        if matches!(count.read().as_str(), "0" | "–") || matches!(tone, Tone::Good | Tone::Plain)
        {
            "text-ink"
        } else {
            tone.text()
        }
    };
    let tile = move || {
        view! {
            <Link
                href
                current
                stays=true
                class="flex shrink-0 flex-col rounded-lg border border-line bg-surface px-3 py-1.5 leading-tight hover:border-line-strong aria-[current]:border-accent aria-[current]:bg-accent-soft sm:min-w-20"
            >
                <span class=move || format!("text-lg font-semibold {}", colour())>{move || count.get()}</span>
                <span class="text-xs text-muted">{words::only(filter)}</span>
            </Link>
        }
    };
    move || is_there.get().then(tile)
}
