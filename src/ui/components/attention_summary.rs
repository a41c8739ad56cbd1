//! What needs attention, with its reasons as filters. Filters without locks are in a menu.

use leptos::either::EitherOf3;
use leptos::prelude::*;

use super::status_chip::StatusChip;
use crate::domain::{Flag, Verdict};
use crate::ui::i18n::{locks as t, shell};
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Icon, IconName, Link, Menu, Tone};
use crate::ui::live::Live;
use crate::ui::locks_query::{LocksQuery, StatusFilter};
use crate::ui::paths;

/// The reasons for attention and contention, shown while there are such locks.
const REASONS: [(StatusFilter, Tone); 9] = [
    (StatusFilter::Flag(Flag::Split), Tone::Alarm),
    (StatusFilter::Flag(Flag::NoExpiry), Tone::Alarm),
    (StatusFilter::Flag(Flag::Overdue), Tone::Alarm),
    (StatusFilter::Flag(Flag::Endless), Tone::Warn),
    (StatusFilter::Flag(Flag::RestartHazard), Tone::Warn),
    (StatusFilter::Verdict(Verdict::Unknown), Tone::Unsure),
    (StatusFilter::Verdict(Verdict::Partial), Tone::Warn),
    (StatusFilter::Flag(Flag::AtRisk), Tone::Warn),
    (StatusFilter::Flag(Flag::Contended), Tone::Plain),
];

/// The filters that are in the menu only.
const OTHERS: [(StatusFilter, Tone); 4] = [
    (StatusFilter::All, Tone::Plain),
    (StatusFilter::Verdict(Verdict::Held), Tone::Plain),
    (StatusFilter::Flag(Flag::Fragment), Tone::Plain),
    (StatusFilter::Possible, Tone::Plain),
];

/// The number of locks that need attention and the reasons, as links that filter the table.
#[component]
pub fn AttentionSummary(
    /// The current query.
    query: Memo<LocksQuery>,
) -> impl IntoView {
    let live = Live::expect();
    let attention = Memo::new(move |_| live.with_counts(|counts| counts.unfiltered.attention));
    let failed_nodes = Memo::new(move |_| live.failed_node_count());
    let is_current =
        Memo::new(move |_| query.with(|query| query.status == StatusFilter::Attention));
    // The number does not depend on the filters, so the link shows all of these locks.
    let href = Signal::derive(move || {
        query.with(|query| match is_current.get() {
            true => query.with_status(StatusFilter::All).path(),
            false => query
                .without_filters()
                .with_status(StatusFilter::Attention)
                .path(),
        })
    });
    let calm = || {
        view! {
            <p class="inline-flex h-6 items-center gap-1.5 px-1 font-semibold text-muted">
                <span class="text-held"><Icon name=IconName::Check /></span>
                {shell::need_no_attention()}
            </p>
        }
    };
    let alarm = move |count| {
        view! {
            <Link
                href
                current=is_current
                no_scroll=true
                class="inline-flex h-6 items-center gap-1.5 rounded-md px-1 font-semibold whitespace-nowrap text-alarm underline-offset-2 hover:underline aria-[current]:bg-accent-soft"
            >
                <Icon name=IconName::Alert />
                {shell::need_attention(count)}
            </Link>
        }
    };
    let headline = move || match attention.get() {
        // Locks on nodes that are not up are not observed.
        0 if failed_nodes.get() > 0 => EitherOf3::A(()),
        0 => EitherOf3::B(calm()),
        count => EitherOf3::C(alarm(count)),
    };
    let nodes = move || {
        let count = failed_nodes.get();
        (count > 0).then(|| {
            view! {
                <Link href=paths::NODES class="inline-flex h-6 items-center rounded-full border border-line px-2.5 font-medium whitespace-nowrap text-alarm hover:border-line-strong">
                    {shell::nodes_down(count)}
                </Link>
            }
        })
    };
    let chip = move |(filter, tone)| view! { <StatusChip query filter tone hides_zero=true /> };
    view! {
        <nav
            aria-label=t::filters()
            class=format!("{CARD} flex min-w-0 grow flex-wrap content-center items-center gap-x-1.5 gap-y-1 px-2.5 py-0.5")
        >
            {headline}
            {nodes}
            // On a phone the reasons are one line below the others.
            <div class="sm:contents max-sm:order-last max-sm:flex max-sm:basis-full max-sm:gap-1.5 max-sm:overflow-x-auto">
                {REASONS.map(chip).collect_view()}
            </div>
            <MoreFilters query />
        </nav>
    }
}

/// All filters with their counts, in a menu.
#[component]
fn MoreFilters(query: Memo<LocksQuery>) -> impl IntoView {
    let chip = move |(filter, tone)| view! { <StatusChip query filter tone hides_zero=false /> };
    view! {
        <Menu label=t::all_filters().to_owned() class="ms-auto text-muted" list_class="is-end w-72 flex-wrap gap-1.5">
            {OTHERS.into_iter().chain(REASONS).map(chip).collect_view()}
        </Menu>
    }
}
