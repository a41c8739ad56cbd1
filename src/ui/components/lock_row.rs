//! One row of the table of locks. A tick redraws its countdown and nothing else.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

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
use crate::ui::kit::{Badge, Icon, Link, Sign};
use crate::ui::live::Live;
use crate::ui::words::locks as words;
use crate::ui::{format, paths};

/// One lock in the table. It keeps its last state while it is held in place after the lock is gone.
#[component]
pub fn LockRow(
    /// The lock as it was when the row came in.
    lock: Lock,
    /// What the names of other rows begin with.
    #[prop(into)]
    beginnings: Signal<Beginnings>,
    /// Whether the column with the group is there.
    #[prop(into)]
    groups: Signal<bool>,
    /// Which row of the table it is, counted as screen readers do.
    index: Signal<String>,
    /// Where the keyboard is.
    cursor: Cursor,
) -> impl IntoView {
    let live = Live::expect();
    let (id, group) = (lock.id.clone(), lock.id.group.clone());
    let gone = Memo::new({
        let id = id.clone();
        move |_| {
            let is_here = live.with_locks(|locks| locks.contains_key(&id));
            (!is_here).then(|| live.ending(&id).is_some())
        }
    });
    let lock = Memo::new({
        let id = id.clone();
        move |before: Option<&Lock>| {
            live.lock(&id)
                .unwrap_or_else(|| before.unwrap_or(&lock).clone())
        }
    });
    let verdict = move || {
        // Held in place, it may have ended, or may stand elsewhere in the list by now.
        if let Some(has_ended) = gone.get() {
            let said = if has_ended {
                words::not_any_more()
            } else {
                words::moved_or_gone()
            };
            return view! { <Badge>{said}</Badge> }.into_any();
        }
        let lock = lock.read();
        view! { <VerdictBadge verdict=lock.verdict /> <FlagWords flags=telling_flags(&lock) evidence=lock.evidence.clone() /> }
            .into_any()
    };
    let owners = move || {
        let owners = lock.read().owners.clone().into_iter().enumerate();
        let name = |(nth, owner)| view! { {(nth > 0).then_some(" / ")} <OwnerName owner /> };
        owners.map(|owner| name(owner).into_any()).collect_view()
    };
    let times = Times::expect();
    let held = move || {
        if times.0.get() {
            return format::time_of_day(lock.read().acquired_at);
        }
        let span = live.now.get().since(lock.read().acquired_at).as_millis();
        format::clock(u64::try_from(span).unwrap_or(u64::MAX))
    };
    let is_dark = move || !lock.read().nodes.iter().any(|node| node.answer.is_answer());
    let shared = {
        let key = id.key.clone();
        Signal::derive(move || beginnings.read().shared(&key))
    };
    let run = Signal::derive(move || Run::of(&lock.read()));
    let is_gone = Signal::derive(move || gone.get().is_some());
    let (on_phone, group) = (group.clone(), group);
    let format = move || lock.read().format.slug();
    let row = NodeRef::<html::Tr>::new();
    let is_stop = Memo::new({
        let id = id.clone();
        move |_| cursor.is_at(&id)
    });
    Effect::new({
        let id = id.clone();
        move |_| {
            if cursor.calls(&id)
                && let Some(row) = row.get()
            {
                // A row that is not drawn whole any more cannot take it; nothing is lost then.
                let _refused = row.focus();
            }
        }
    });
    let stop = move || if is_stop.get() { "0" } else { "-1" };
    let path = paths::lock(&id);
    let open = StoredValue::new((use_navigate(), path.clone()));
    let (key, copied, here) = (id.key.clone(), id.key.clone(), id);
    view! {
        <tr
            node_ref=row
            role="row"
            class="lock-row group"
            class=("is-gone", is_gone)
            class=("is-dark", move || is_dark())
            aria-rowindex=index
            tabindex=stop
            on:focusin=move |_| cursor.is_here(&here)
            on:keydown=move |event| {
                // Enter on what is in the row means what it says.
                let on_row = event.target() == event.current_target();
                if event.key() == "Enter" && on_row && !event.ctrl_key() && !event.meta_key() {
                    event.prevent_default();
                    open.with_value(|(navigate, path)| navigate(path, NavigateOptions::default()));
                }
            }
        >
            <td role="cell" class="cell-select">
                <SelectBox lock />
            </td>
            <td role="cell" class="cell-verdict">
                <span class="flex items-center gap-x-2 overflow-hidden whitespace-nowrap *:first:shrink-0">
                    {move || verdict()}
                </span>
            </td>
            <td role="cell" class="cell-lock">
                <span class="flex items-center gap-1.5">
                    {move || groups.get().then(|| view! { <span class="shrink-0 text-muted md:hidden">{on_phone.clone()} " · "</span> }.into_any())}
                    <Link href=path class="min-w-0 truncate rounded text-ink underline-offset-2 hover:underline">
                        <LockName key shared />
                    </Link>
                    <CopyName key=copied />
                    <span class="ms-auto hidden shrink-0 text-xs text-muted 2xl:inline">{format}</span>
                </span>
            </td>
            {move || groups.get().then(|| view! { <td role="cell" class="cell-group truncate text-muted" title=group.clone()>{group.clone()}</td> }.into_any())}
            <td role="cell" class="cell-owner truncate">
                {move || owners()}
            </td>
            <td role="cell" class="cell-lease">
                <LeaseBar run gone=is_gone />
            </td>
            <td role="cell" class="cell-held whitespace-nowrap">
                <span class="text-muted md:hidden">{words::held_for()}</span>
                {move || held()}
            </td>
            <td role="cell" class="cell-renewals">
                {move || view! { <Renewed renewals=lock.read().renewals.clone() /> }.into_any()}
            </td>
            <td role="cell" class="cell-nodes">{move || view! { <NodeDots marks=marks(&lock.read()) /> }.into_any()}</td>
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
            tabindex="-1"
            class="shrink-0 rounded p-0.5 text-faint opacity-0 hover:text-ink focus:opacity-100 group-hover:opacity-100 group-focus-within:opacity-100"
            aria-label=words::copy_name()
            title=words::copy_name()
            on:click=copy
        >
            <Icon sign=Sign::Copy />
        </button>
        <span role="status" class="shrink-0 text-xs text-muted">{said}</span>
    }
}
