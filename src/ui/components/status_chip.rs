//! A filter of the lock list with the number of its locks.

use std::collections::BTreeMap;

use leptos::prelude::*;

use crate::domain::{Flag, LockCounts};
use crate::ui::i18n::locks as t;
use crate::ui::kit::{Link, Tone};
use crate::ui::live::Live;
use crate::ui::locks_query::{LocksQuery, StatusFilter};

/// A filter and the number of its locks, as a link that sets or removes the filter.
#[component]
pub fn StatusChip(
    /// The current query.
    query: Memo<LocksQuery>,
    /// The filter.
    filter: StatusFilter,
    /// The colour while there are such locks.
    tone: Tone,
    /// Whether the chip is hidden while there are no such locks and the filter is not set.
    hides_zero: bool,
) -> impl IntoView {
    let live = Live::expect();
    let count = Memo::new(move |_| live.with_counts(|counts| filtered_count(counts, filter)));
    let current = Memo::new(move |_| query.with(|query| query.status == filter));
    let is_visible = Memo::new(move |_| !hides_zero || current.get() || count.get() > 0);
    // A click on the active filter removes it.
    let href = Signal::derive(move || {
        let next = match current.get() {
            true => StatusFilter::All,
            false => filter,
        };
        query.with(|query| query.with_status(next).path())
    });
    let colour = move || match (count.get(), tone) {
        (0, _) | (_, Tone::Good | Tone::Plain) => "text-ink",
        _ => tone.text(),
    };
    // No observed contention does not prove that there is none, so a dash is shown instead of 0.
    let figure = move || match (filter, count.get()) {
        (StatusFilter::Flag(Flag::Contended), 0) => "–".to_owned(),
        (_, count) => t::figure(count),
    };
    let chip = move || {
        view! {
            <Link
                href
                current
                no_scroll=true
                class="inline-flex h-6 items-center gap-1.5 rounded-full border border-line px-2 whitespace-nowrap hover:border-line-strong aria-[current]:border-accent aria-[current]:bg-accent-soft"
            >
                <span class="text-muted">{t::status_filter(filter)}</span>
                <span class=move || format!("font-semibold {}", colour())>{figure}</span>
            </Link>
        }
    };
    move || is_visible.get().then(chip)
}

/// The number of locks that a filter selects.
fn filtered_count(counts: &LockCounts, filter: StatusFilter) -> u32 {
    let by_slug = |counts: &BTreeMap<String, u32>, slug: &str| counts.get(slug).copied();
    match filter {
        StatusFilter::All => counts.all,
        StatusFilter::Attention => counts.attention,
        StatusFilter::Possible => counts.possible,
        StatusFilter::Verdict(verdict) => by_slug(&counts.verdicts, verdict.slug()).unwrap_or(0),
        StatusFilter::Flag(flag) => by_slug(&counts.flags, flag.slug()).unwrap_or(0),
    }
}
