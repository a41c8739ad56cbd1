//! One row of the table of locks. A tick redraws its countdown and nothing else.

use leptos::prelude::*;

use super::lease_bar::{LeaseBar, Run};
use super::lock_name::{Beginnings, LockName};
use super::node_dots::{NodeDots, marks};
use super::owner_name::OwnerName;
use super::verdict_badge::{FlagWords, VerdictBadge, telling_flags};
use crate::domain::Lock;
use crate::ui::kit::{Badge, Link};
use crate::ui::live::Live;
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
) -> impl IntoView {
    let live = Live::expect();
    let (id, group) = (lock.id.clone(), lock.id.group.clone());
    let gone = Memo::new({
        let id = id.clone();
        move |_| live.with_locks(|locks| !locks.contains_key(&id))
    });
    let now = Memo::new({
        let id = id.clone();
        move |before: Option<&Lock>| {
            live.lock(&id)
                .unwrap_or_else(|| before.unwrap_or(&lock).clone())
        }
    });
    let verdict = Memo::new(move |_| now.with(|lock| lock.verdict));
    let flags = Memo::new(move |_| now.with(telling_flags));
    let owners = Memo::new(move |_| now.with(|lock| lock.owners.clone()));
    let run = Memo::new(move |_| now.with(Run::of));
    let dots = Memo::new(move |_| now.with(marks));
    let since = Memo::new(move |_| now.with(|lock| lock.acquired_at));
    let held = move || {
        let span = live.now.get().since(since.get()).as_millis();
        format::clock(u64::try_from(span).unwrap_or(u64::MAX))
    };
    let shared = {
        let key = id.key.clone();
        Memo::new(move |_| beginnings.with(|beginnings| beginnings.shared(&key)))
    };
    view! {
        <tr role="row" class=("is-gone", gone)>
            <td role="cell" class="cell-verdict">
                <span class="flex flex-wrap items-center gap-x-2 gap-y-1 md:flex-nowrap">
                    {move || match gone.get() {
                        true => view! { <Badge>"not observed any more"</Badge> }.into_any(),
                        false => view! { <VerdictBadge verdict=verdict.get() /> <FlagWords flags=flags.get() /> }.into_any(),
                    }}
                </span>
            </td>
            <td role="cell" class="cell-lock">
                {
                    let group = group.clone();
                    move || groups.get().then(|| view! { <span class="text-muted md:hidden">{group.clone()} " · "</span> })
                }
                <Link href=paths::lock(&id) class="rounded text-ink underline-offset-2 hover:underline">
                    <LockName key=id.key shared />
                </Link>
            </td>
            {move || groups.get().then(|| view! { <td role="cell" class="cell-group text-muted">{group.clone()}</td> })}
            <td role="cell" class="cell-owner">
                {move || {
                    owners
                        .get()
                        .into_iter()
                        .enumerate()
                        .map(|(nth, owner)| view! { {(nth > 0).then_some(" / ")} <OwnerName owner /> })
                        .collect_view()
                }}
            </td>
            <td role="cell" class="cell-lease">
                <LeaseBar run gone />
            </td>
            <td role="cell" class="cell-held whitespace-nowrap">
                <span class="text-muted md:hidden">"held "</span>
                {move || held()}
            </td>
            <td role="cell" class="cell-nodes">{move || view! { <NodeDots marks=dots.get() /> }}</td>
        </tr>
    }
}
