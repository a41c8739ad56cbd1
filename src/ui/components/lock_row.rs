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
    let lock = Memo::new({
        let id = id.clone();
        move |before: Option<&Lock>| {
            live.lock(&id)
                .unwrap_or_else(|| before.unwrap_or(&lock).clone())
        }
    });
    let verdict = move || {
        if gone.get() {
            return view! { <Badge>"not observed any more"</Badge> }.into_any();
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
    let held = move || {
        let span = live.now.get().since(lock.read().acquired_at).as_millis();
        format::clock(u64::try_from(span).unwrap_or(u64::MAX))
    };
    let is_dark = move || !lock.read().nodes.iter().any(|node| node.answer.is_answer());
    let shared = {
        let key = id.key.clone();
        Signal::derive(move || beginnings.read().shared(&key))
    };
    let run = Signal::derive(move || Run::of(&lock.read()));
    let (on_phone, group) = (group.clone(), group);
    view! {
        <tr role="row" class=("is-gone", gone) class=("is-dark", move || is_dark())>
            <td role="cell" class="cell-verdict">
                <span class="flex flex-wrap items-center gap-x-2 gap-y-1 md:flex-nowrap">
                    {move || verdict()}
                </span>
            </td>
            <td role="cell" class="cell-lock">
                {move || groups.get().then(|| view! { <span class="text-muted md:hidden">{on_phone.clone()} " · "</span> }.into_any())}
                <Link href=paths::lock(&id) class="rounded text-ink underline-offset-2 hover:underline">
                    <LockName key=id.key shared />
                </Link>
            </td>
            {move || groups.get().then(|| view! { <td role="cell" class="cell-group text-muted">{group.clone()}</td> }.into_any())}
            <td role="cell" class="cell-owner">
                {move || owners()}
            </td>
            <td role="cell" class="cell-lease">
                <LeaseBar run gone />
            </td>
            <td role="cell" class="cell-held whitespace-nowrap">
                <span class="text-muted md:hidden">"held "</span>
                {move || held()}
            </td>
            <td role="cell" class="cell-nodes">{move || view! { <NodeDots marks=marks(&lock.read()) /> }.into_any()}</td>
        </tr>
    }
}
