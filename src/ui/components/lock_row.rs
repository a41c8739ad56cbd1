//! One row of the table of locks. A tick redraws its countdown and nothing else.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::lease_bar::{LeaseBar, Run};
use super::lock_name::{Beginnings, LockName};
use super::lock_table::Cursor;
use super::node_dots::{NodeDots, marks};
use super::owner_name::OwnerName;
use super::renewed::Renewed;
use super::selection::SelectBox;
use super::times::Times;
use super::verdict_badge::{FlagWords, VerdictBadge, telling_flags};
use crate::domain::{Lock, LockKey};
use crate::ui::kit::copy::to_clipboard;
use crate::ui::kit::{Badge, Icon, Sign};
use crate::ui::live::Live;
use crate::ui::words::locks as words;
use crate::ui::{format, paths};

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
    let verdict = move || {
        let Seen { lock, gone } = seen.get();
        // Held in place, it may have ended, or may stand elsewhere in the list by now.
        if let Some(has_ended) = gone {
            let said = if has_ended {
                words::not_any_more()
            } else {
                words::moved_or_gone()
            };
            return view! { <Badge>{said}</Badge> }.into_any();
        }
        view! { <VerdictBadge verdict=lock.verdict /> <FlagWords flags=telling_flags(&lock) evidence=lock.evidence.clone() /> }
            .into_any()
    };
    let owners = move || {
        let owners = seen.read().lock.owners.clone().into_iter().enumerate();
        let name = |(nth, owner)| view! { {(nth > 0).then_some(" / ")} <OwnerName owner /> };
        owners.map(|owner| name(owner).into_any()).collect_view()
    };
    let times = Times::expect();
    let held = Memo::new(move |_| {
        let acquired_at = seen.read().lock.acquired_at;
        if times.0.get() {
            return format::time_of_day(acquired_at);
        }
        let span = live.now.get().since(acquired_at).as_millis();
        format::clock(u64::try_from(span).unwrap_or(u64::MAX))
    });
    let tail = move || {
        let lock = seen.get().lock;
        view! {
            <td role="cell" class="cell-renewals">
                <Renewed renewals=lock.renewals.clone() />
            </td>
            <td role="cell" class="cell-nodes">
                <NodeDots marks=marks(&lock) />
            </td>
        }
    };
    let shared = {
        let key = id.key.clone();
        Signal::derive(move || beginnings.read().shared(&key))
    };
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
    let path = paths::lock(&id);
    let (key, copied, group) = (id.key.clone(), id.key.clone(), id.group.clone());
    let (on_phone, group) = groups.then(|| (group.clone(), group)).unzip();
    view! {
        <tr
            role="row"
            class=move || seen.read().class()
            aria-rowindex=move || index.get().to_string()
            tabindex="-1"
            on:focusin=move |_| {
                come_near();
                cursor.is_here(&id);
            }
            on:pointermove=move |_| come_near()
        >
            <td role="cell" class="cell-select">
                <SelectBox lock=Signal::derive(move || seen.get().lock) />
            </td>
            <td role="cell" class="cell-verdict">
                <span class="flex items-center gap-x-2 overflow-hidden whitespace-nowrap *:first:shrink-0">
                    {verdict}
                </span>
            </td>
            <td role="cell" class="cell-lock">
                <span class="flex items-center gap-1.5">
                    {on_phone.map(|group| view! { <span class="shrink-0 text-muted md:hidden">{group} " · "</span> })}
                    <a href=path class="min-w-0 truncate rounded text-ink underline-offset-2 hover:underline">
                        <LockName key shared />
                    </a>
                    {move || match is_near.get() {
                        true => view! { <CopyName key=copied.clone() /> }.into_any(),
                        false => view! { <span class="w-5 shrink-0"></span> }.into_any(),
                    }}
                    <span class="ms-auto hidden min-w-0 shrink-[999] truncate text-xs text-muted min-[88rem]:inline">{move || seen.read().lock.format.slug()}</span>
                </span>
            </td>
            {group.map(|group| view! { <td role="cell" class="cell-group truncate text-muted" title=group.clone()>{group.clone()}</td> })}
            <td role="cell" class="cell-owner truncate">
                {move || owners()}
            </td>
            <td role="cell" class="cell-lease">
                <LeaseBar run gone=is_gone />
            </td>
            <td role="cell" class="cell-held whitespace-nowrap">
                <span class="text-muted md:hidden">{words::held_for()}</span>
                {held}
            </td>
            {tail}
        </tr>
    }
}

/// Copies a lock's name; seen when the row is pointed at or has the focus.
#[component]
fn CopyName(key: LockKey) -> impl IntoView {
    let said = RwSignal::new("");
    let copy = move |_| {
        let text = key.text().into_owned();
        spawn_local(async move {
            let copied = to_clipboard(&text, None).await;
            said.try_set(if copied {
                words::copied()
            } else {
                words::cannot_copy()
            });
        });
    };
    view! {
        <button
            type="button"
            class="shrink-0 rounded p-0.5 text-faint opacity-0 hover:text-ink focus:opacity-100 group-hover:opacity-100 group-focus-within:opacity-100"
            aria-label=words::copy_name()
            title=words::copy_name()
            on:click=copy
        >
            <Icon sign=Sign::Copy />
        </button>
        <span role="status" class="shrink-0 text-xs text-muted">{move || said.get()}</span>
    }
}
