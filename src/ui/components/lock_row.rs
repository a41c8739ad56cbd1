//! One row of the table of locks. A tick redraws its countdown and nothing else.

mod name_cell;

use std::sync::Arc;

use leptos::either::Either;
use leptos::prelude::*;

use self::name_cell::NameCell;
use super::lease_bar::{LeaseBar, Run};
use super::lock_name::Beginnings;
use super::lock_table::Cursor;
use super::node_dots::{NodeDots, marks};
use super::owner_name::OwnerName;
use super::renewed::Renewed;
use super::selection::SelectBox;
use super::times::Times;
use super::verdict_badge::{FlagWords, VerdictBadge, telling_flags};
use crate::domain::{Lock, Owner};
use crate::ui::format;
use crate::ui::kit::Badge;
use crate::ui::live::Live;
use crate::ui::words::locks as words;

/// What a row shows of its lock.
#[derive(Clone)]
struct Seen {
    /// The lock; once it is gone, as it was last.
    lock: Arc<Lock>,
    /// Whether it is gone from the list, and then whether its end was seen.
    gone: Option<bool>,
}

impl Seen {
    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.lock, &other.lock) && self.gone == other.gone
    }

    /// What the row looks like: a lock that no node could be asked about cannot be trusted to be as it is shown.
    fn class(&self) -> &'static str {
        let is_dark = !self.lock.nodes.iter().any(|node| node.answer.is_answer());
        match (self.gone.is_some(), is_dark) {
            (false, false) => "lock-row group",
            (false, true) => "lock-row group is-dark",
            (true, false) => "lock-row group is-gone",
            (true, true) => "lock-row group is-gone is-dark",
        }
    }
}

/// One lock in the table. It keeps its last state while it is held in place after the lock is gone.
///
/// Scrolling makes rows all the time, so a row follows as few things as it can, each of them once; the table listens to clicks
/// and keys for all of its rows.
#[component]
pub fn LockRow(
    /// The lock as it was when the row came in.
    lock: Arc<Lock>,
    /// What the names of other rows begin with.
    beginnings: Memo<Beginnings>,
    /// Whether the column with the group is there.
    groups: bool,
    /// Which row of the table it is, counted as screen readers do.
    index: Signal<usize>,
    /// Where the keyboard is.
    cursor: Cursor,
) -> impl IntoView {
    let live = Live::expect();
    let id = lock.id.clone();
    let look = {
        let id = id.clone();
        move |before: Option<&Seen>| match live.shared(&id) {
            Some(lock) => Seen { lock, gone: None },
            None => Seen {
                lock: Arc::clone(before.map_or(&lock, |before| &before.lock)),
                gone: Some(live.ending(&id).is_some()),
            },
        }
    };
    let seen = Memo::new_with_compare(look, |before, now| match (before, now) {
        (Some(before), Some(now)) => !before.is_same(now),
        (None, None) => false,
        _ => true,
    });
    let times = Times::expect();
    let held = Memo::new(move |_| {
        let acquired_at = seen.read().lock.acquired_at;
        match times.0.get() {
            true => format::time_of_day(acquired_at),
            false => format::elapsed(acquired_at, live.now.get()),
        }
    });
    let run = Signal::derive(move || Run::of(&seen.read().lock));
    let is_gone = Signal::derive(move || seen.read().gone.is_some());
    // What copies the name is made when somebody comes near: few rows are ever copied from.
    // Once only: set again, it would be made anew under the pointer.
    let is_near = RwSignal::new(false);
    let come_near = move || {
        if !is_near.get_untracked() {
            is_near.set(true);
        }
    };
    let group = groups.then(|| id.group.clone());
    let place = id.clone();
    view! {
        <tr
            role="row"
            class=move || seen.read().class()
            aria-rowindex=move || index.get().to_string()
            tabindex="-1"
            on:focusin=move |_| {
                come_near();
                cursor.is_here(&place);
            }
            on:pointermove=move |_| come_near()
        >
            <td role="cell" class="cell-select">
                <SelectBox lock=Signal::derive(move || seen.get().lock) />
            </td>
            <td role="cell" class="cell-verdict">
                <span class="flex items-center gap-x-2 overflow-hidden whitespace-nowrap *:first:shrink-0">
                    {move || view! { <Verdict seen=seen.get() /> }}
                </span>
            </td>
            <td role="cell" class="cell-lock">
                <NameCell id seen beginnings groups is_near />
            </td>
            {group.map(|group| view! { <td role="cell" class="cell-group truncate text-muted" title=group.clone()>{group.clone()}</td> })}
            <td role="cell" class="cell-owner truncate">
                {move || view! { <Owners owners=seen.read().lock.owners.clone() /> }}
            </td>
            <td role="cell" class="cell-lease">
                <LeaseBar run gone=is_gone />
            </td>
            <td role="cell" class="cell-held whitespace-nowrap">
                <span class="text-muted md:hidden">{words::held_for()}</span>
                {held}
            </td>
            {move || {
                let lock = seen.get().lock;
                view! {
                    <td role="cell" class="cell-renewals">
                        <Renewed renewals=lock.renewals.clone() />
                    </td>
                    <td role="cell" class="cell-nodes">
                        <NodeDots marks=marks(&lock) />
                    </td>
                }
            }}
        </tr>
    }
}

/// The verdict and the flags, or what became of a lock that is gone.
#[component]
fn Verdict(seen: Seen) -> impl IntoView {
    let Seen { lock, gone } = seen;
    // Held in place, it may have ended, or may stand elsewhere in the list by now.
    match gone {
        Some(true) => Either::Left(view! { <Badge>{words::not_any_more()}</Badge> }),
        Some(false) => Either::Left(view! { <Badge>{words::moved_or_gone()}</Badge> }),
        None => Either::Right(view! {
            <VerdictBadge verdict=lock.verdict />
            <FlagWords flags=telling_flags(&lock) evidence=lock.evidence.clone() />
        }),
    }
}

/// All owners, in one line.
#[component]
fn Owners(owners: Vec<Owner>) -> impl IntoView {
    let name = |(nth, owner)| view! { {(nth > 0).then_some(" / ")} <OwnerName owner /> };
    owners.into_iter().enumerate().map(name).collect_view()
}
