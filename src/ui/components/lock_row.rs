//! One row of the table of locks. The clock tick updates only its countdown.

mod name_cell;

use std::sync::Arc;

use leptos::either::Either;
use leptos::prelude::*;

use self::name_cell::NameCell;
use super::lease_bar::{LeaseBar, LeaseProgress};
use super::lock_name::CommonPrefixes;
use super::lock_table::keyboard::Cursor;
use super::node_dots::{NodeDots, node_marks};
use super::owner_name::OwnerName;
use super::renewal_bars::RenewalBars;
use super::selection::SelectBox;
use super::time_display::TimeDisplay;
use super::verdict_badge::{FlagBadges, VerdictBadge, extra_flags};
use crate::domain::{Lock, Owner};
use crate::ui::format;
use crate::ui::i18n::locks as t;
use crate::ui::kit::Badge;
use crate::ui::live::Live;

/// The state of a row.
#[derive(Clone)]
struct RowState {
    /// The lock, or its last known state after it was removed.
    lock: Arc<Lock>,
    /// Set if the lock is no longer in the list: whether its end was observed.
    removal: Option<bool>,
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
                removal: Some(live.ending(&id).is_some()),
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
            true => format::time_of_day(acquired_at),
            false => format::elapsed(acquired_at, live.now.get()),
        }
    });
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
            <td role="cell" class="cell-owner truncate">
                {move || view! { <Owners owners=state.read().lock.owners.clone() /> }}
            </td>
            <td role="cell" class="cell-lease">
                <LeaseBar progress gone=is_gone />
            </td>
            <td role="cell" class="cell-held whitespace-nowrap">
                <span class="text-muted md:hidden">{t::held_for()}</span>
                {held}
            </td>
            {move || {
                let lock = state.get().lock;
                view! {
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
        Some(true) => Either::Left(view! { <Badge>{t::not_observed()}</Badge> }),
        Some(false) => Either::Left(view! { <Badge>{t::moved_or_gone()}</Badge> }),
        None => Either::Right(view! {
            <VerdictBadge verdict=lock.verdict />
            <FlagBadges flags=extra_flags(&lock) evidence=lock.evidence.clone() />
        }),
    }
}

/// All owners in one line.
#[component]
fn Owners(owners: Vec<Owner>) -> impl IntoView {
    let name = |(nth, owner)| view! { {(nth > 0).then_some(" / ")} <OwnerName owner /> };
    owners.into_iter().enumerate().map(name).collect_view()
}
