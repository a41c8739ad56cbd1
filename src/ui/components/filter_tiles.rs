//! The number of locks by state. Each tile is a filter.

use std::collections::BTreeMap;

use leptos::prelude::*;

use crate::domain::{Flag, Verdict};
use crate::ui::i18n::locks as t;
use crate::ui::kit::{Link, Tone};
use crate::ui::live::Live;
use crate::ui::locks_query::{LocksQuery, StatusFilter};

const TILES: [(StatusFilter, Tone); 14] = [
    (StatusFilter::All, Tone::Plain),
    (StatusFilter::Attention, Tone::Alarm),
    (StatusFilter::Verdict(Verdict::Held), Tone::Good),
    (StatusFilter::Flag(Flag::Overdue), Tone::Alarm),
    (StatusFilter::Flag(Flag::AtRisk), Tone::Warn),
    (StatusFilter::Flag(Flag::Split), Tone::Alarm),
    (StatusFilter::Flag(Flag::NoExpiry), Tone::Alarm),
    (StatusFilter::Flag(Flag::Contended), Tone::Plain),
    (StatusFilter::Flag(Flag::Endless), Tone::Warn),
    (StatusFilter::Flag(Flag::RestartHazard), Tone::Warn),
    (StatusFilter::Flag(Flag::Fragment), Tone::Plain),
    (StatusFilter::Verdict(Verdict::Partial), Tone::Warn),
    (StatusFilter::Verdict(Verdict::Unknown), Tone::Unsure),
    (StatusFilter::Possible, Tone::Plain),
];

/// The counts as links that filter the table.
#[component]
pub fn FilterTiles(
    /// The current query.
    query: Memo<LocksQuery>,
) -> impl IntoView {
    let live = Live::expect();
    let counts = Memo::new(move |_| {
        live.with_counts(|counts| {
            let count_of = |counts: &BTreeMap<String, u32>, name| counts.get(name).copied();
            let count = |only: StatusFilter| match only {
                StatusFilter::All => counts.all,
                StatusFilter::Attention => counts.attention,
                StatusFilter::Possible => counts.possible,
                StatusFilter::Verdict(verdict) => {
                    count_of(&counts.verdicts, verdict.slug()).unwrap_or(0)
                }
                StatusFilter::Flag(flag) => count_of(&counts.flags, flag.slug()).unwrap_or(0),
            };
            // No observed contention does not prove that there is none, so a dash is shown instead
            // of 0.
            let count_text = |only: StatusFilter| match (only, count(only)) {
                (StatusFilter::Flag(Flag::Contended), 0) => "–".to_owned(),
                (_, count) => count.to_string(),
            };
            TILES.map(|(only, _)| count_text(only)).to_vec()
        })
    });
    view! {
        <nav aria-label=t::filters() class="-mx-1 flex gap-1.5 overflow-x-auto p-1 sm:flex-wrap sm:overflow-visible">
            {TILES
                .iter()
                .enumerate()
                .map(|(nth, (filter, tone))| {
                    let count = Signal::derive(move || counts.read()[nth].clone());
                    view! { <FilterTile query filter=*filter tone=*tone count /> }
                })
                .collect_view()}
        </nav>
    }
}

#[component]
fn FilterTile(
    query: Memo<LocksQuery>,
    filter: StatusFilter,
    tone: Tone,
    count: Signal<String>,
) -> impl IntoView {
    let current = Memo::new(move |_| query.with(|query| query.status == filter));
    // A click on the active filter removes it.
    let href = Signal::derive(move || {
        let next = if current.get() {
            StatusFilter::All
        } else {
            filter
        };
        query.with(|query| query.with_status(next).path())
    });
    // Rare flags are hidden while their count is 0.
    let is_rare = matches!(
        filter,
        StatusFilter::Flag(Flag::Endless | Flag::RestartHazard | Flag::Fragment)
    );
    let is_visible = Memo::new(move |_| !is_rare || current.get() || *count.read() != "0");
    // Only a count that needs attention is coloured.
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
                no_scroll=true
                class="flex shrink-0 flex-col rounded-lg border border-line bg-surface px-3 py-1.5 leading-tight hover:border-line-strong aria-[current]:border-accent aria-[current]:bg-accent-soft sm:min-w-20"
            >
                <span class=move || format!("text-lg font-semibold {}", colour())>{move || count.get()}</span>
                <span class="text-xs text-muted">{t::status_filter(filter)}</span>
            </Link>
        }
    };
    move || is_visible.get().then(tile)
}
