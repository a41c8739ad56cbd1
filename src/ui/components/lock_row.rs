//! One row of the table of locks. The clock tick updates only its countdown.

mod name_cell;

use std::sync::Arc;

use leptos::either::EitherOf3;
use leptos::prelude::*;

use self::name_cell::NameCell;
use super::demand_history::{DemandHistory, MAX_SAMPLES};
use super::lease_bar::{LeaseBar, LeaseProgress};
use super::lock_name::CommonPrefixes;
use super::lock_table::keyboard::Cursor;
use super::node_dots::{NodeDots, node_marks};
use super::owner_name::OwnerName;
use super::renewal_bars::RenewalBars;
use super::selection::SelectBox;
use super::time_display::TimeDisplay;
use super::verdict_badge::{FlagBadges, VerdictBadge, extra_flags};
use crate::domain::{Demand, Evidence, Flag, GoneReason, Lock, LockId, Owner};
use crate::ui::format;
use crate::ui::i18n::{locks as t, punctuation, terms};
use crate::ui::kit::Badge;
use crate::ui::kit::sparkline::Sparkline;
use crate::ui::live::{Live, LockEnding};

/// The state of a row.
#[derive(Clone)]
struct RowState {
    /// The lock, or its last known state after it was removed.
    lock: Arc<Lock>,
    /// Set if the lock is no longer in the list: its end, if that was observed.
    removal: Option<Option<LockEnding>>,
}

impl RowState {
    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.lock, &other.lock) && self.removal == other.removal
    }

    /// The CSS class. A row is dark if no node replied: its state is not confirmed.
    fn css_class(&self) -> &'static str {
        let is_dark = !self
            .lock
            .nodes
            .iter()
            .any(|node| node.observation.is_reachable());
        match (self.removal.is_some(), is_dark) {
            (false, false) => "lock-row group",
            (false, true) => "lock-row group is-dark",
            (true, false) => "lock-row group is-gone",
            (true, true) => "lock-row group is-gone is-dark",
        }
    }
}

/// One lock in the table. A frozen row keeps its last state after the lock is gone.
///
/// Scrolling creates rows all the time, so a row subscribes to as few signals as possible, and the
/// table handles clicks and keys for all rows.
#[component]
pub fn LockRow(
    /// The lock when the row was created.
    lock: Arc<Lock>,
    /// The prefixes that lock names in the table share.
    prefixes: Memo<CommonPrefixes>,
    /// Whether the table has a group column.
    shows_group: bool,
    /// The ARIA row index.
    index: Signal<usize>,
    /// The focused row of the table.
    cursor: Cursor,
) -> impl IntoView {
    let live = Live::expect();
    let id = lock.id.clone();
    let read_state = {
        let id = id.clone();
        move |before: Option<&RowState>| match live.lock_arc(&id) {
            Some(lock) => RowState {
                lock,
                removal: None,
            },
            None => RowState {
                lock: Arc::clone(before.map_or(&lock, |before| &before.lock)),
                removal: Some(live.ending(&id)),
            },
        }
    };
    let state = Memo::new_with_compare(read_state, |before, now| match (before, now) {
        (Some(before), Some(now)) => !before.is_same(now),
        (None, None) => false,
        _ => true,
    });
    let time_display = TimeDisplay::expect();
    let held = Memo::new(move |_| {
        let acquired_at = state.read().lock.acquired_at;
        match time_display.0.get() {
            // The zone is part of the heading, or of the label on phones.
            true => format::clock_time(acquired_at),
            false => format::elapsed(acquired_at, live.now.get()),
        }
    });
    let held_label = move || match time_display.0.get() {
        true => t::since_in(format::zone_name(state.read_untracked().lock.acquired_at)) + " ",
        false => t::held_for().to_owned(),
    };
    let progress = Signal::derive(move || LeaseProgress::of(&state.read().lock));
    let is_gone = Signal::derive(move || state.read().removal.is_some());
    // The copy button is created on the first hover or focus, because few names are ever copied.
    // Setting the signal again would create it again under the pointer.
    let is_active = RwSignal::new(false);
    let on_active = move || {
        if !is_active.get_untracked() {
            is_active.set(true);
        }
    };
    let group = shows_group.then(|| id.group.clone());
    let focused_id = id.clone();
    view! {
        <tr
            role="row"
            class=move || state.read().css_class()
            aria-rowindex=move || index.get().to_string()
            tabindex="-1"
            on:focusin=move |_| {
                on_active();
                cursor.set_current(&focused_id);
            }
            on:pointermove=move |_| on_active()
        >
            <td role="cell" class="cell-select">
                <SelectBox lock=Signal::derive(move || state.get().lock) />
            </td>
            <td role="cell" class="cell-verdict">
                <span class="flex items-center gap-x-2 overflow-hidden whitespace-nowrap *:first:shrink-0">
                    {move || view! { <Verdict state=state.get() /> }}
                </span>
            </td>
            <td role="cell" class="cell-lock">
                <NameCell id state prefixes shows_group is_active />
            </td>
            {group.map(|group| view! { <td role="cell" class="cell-group truncate text-muted" title=group.clone()>{group.clone()}</td> })}
            <td role="cell" class="cell-owner">
                {move || view! { <Owners owners=state.read().lock.owners.clone() /> }}
            </td>
            <td role="cell" class="cell-lease">
                <LeaseBar progress gone=is_gone />
            </td>
            <td role="cell" class="cell-held whitespace-nowrap">
                <span class="text-muted md:hidden">{held_label}</span>
                {held}
            </td>
            {move || {
                let lock = state.get().lock;
                view! {
                    <td role="cell" class="cell-wanted whitespace-nowrap">
                        <DemandFigure id=lock.id.clone() evidence=lock.evidence.clone() />
                    </td>
                    <td role="cell" class="cell-renewals">
                        <RenewalBars renewals=lock.renewals.clone() />
                    </td>
                    <td role="cell" class="cell-nodes">
                        <NodeDots node_marks=node_marks(&lock) />
                    </td>
                }
            }}
        </tr>
    }
}

/// The verdict and the flags, or a note that the lock is gone.
#[component]
fn Verdict(state: RowState) -> impl IntoView {
    let RowState { lock, removal } = state;
    // A frozen row whose lock left the loaded range may have ended or moved in the list.
    match removal {
        Some(Some(ending)) => EitherOf3::A(view! { <EndNote ending /> }),
        Some(None) => EitherOf3::B(view! { <Badge>{t::moved_or_gone()}</Badge> }),
        None => EitherOf3::C(view! {
            <VerdictBadge verdict=lock.verdict />
            <RowFlags lock />
        }),
    }
}

/// How and when a lock ended.
#[component]
fn EndNote(ending: LockEnding) -> impl IntoView {
    let live = Live::expect();
    let text = move || {
        let ago = format::ago(ending.at, live.now.get());
        match ending.ending {
            GoneReason::Released => t::released_ago(ago),
            GoneReason::Expired => t::expired_ago(ago),
            GoneReason::Unknown => t::not_observed().to_owned(),
        }
    };
    view! { <span class="truncate text-muted">{text}</span> }
}

/// The flags of a lock. Contention has a column of its own, where the table is wide enough for it.
#[component]
fn RowFlags(lock: Arc<Lock>) -> impl IntoView {
    let (contended, flags): (Vec<Flag>, Vec<Flag>) = extra_flags(&lock)
        .into_iter()
        .partition(|flag| *flag == Flag::Contended);
    let contended = (!contended.is_empty()).then(|| {
        view! {
            <span class="badge-contended">
                <FlagBadges flags=contended evidence=lock.evidence.clone() />
            </span>
        }
    });
    view! {
        <FlagBadges flags evidence=Vec::new() />
        {contended}
    }
}

/// The attempts or waiters, if there is evidence of them, and the attempts of the last minutes.
#[component]
fn DemandFigure(id: LockId, evidence: Vec<Evidence>) -> impl IntoView {
    Demand::of(&evidence).map(|demand| {
        let title = evidence.iter().map(terms::evidence);
        let title = title.collect::<Vec<_>>().join(punctuation::comma());
        let line = move || {
            let values = DemandHistory::rates(&id);
            (values.len() > 1).then(|| {
                view! { <Sparkline values capacity=MAX_SAMPLES size="wanted-line h-4 w-10" /> }
            })
        };
        view! {
            <span class="flex items-center justify-between gap-1.5" title=title>
                {t::demand(demand)}
                {line}
            </span>
        }
    })
}

/// All owners in one line, with their number if there are several.
#[component]
fn Owners(owners: Vec<Owner>) -> impl IntoView {
    let count = owners.len();
    let is_in_list = count > 1;
    let count = is_in_list.then(|| {
        view! { <span class="shrink-0 text-muted">{t::owner_count(count)}</span> }
    });
    let name = |owner| view! { <OwnerName owner is_short=true is_linked=true is_in_list /> " " };
    view! {
        <span class="flex min-w-0 items-baseline gap-1.5">
            {count}
            // Names without space are left out, and an ellipsis follows the last one.
            <span class="min-w-0 truncate">{owners.into_iter().map(name).collect_view()}</span>
        </span>
    }
}
