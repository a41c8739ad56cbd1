//! "Who wants it": evidence of contention, the wait queue, and a sample of attempts.

use leptos::prelude::*;

use super::lock_facts::contention_lines;
use super::lock_waiters::LockWaiters;
use super::monitor_card::MonitorSampler;
use crate::domain::{GroupView, Lock, LockId, WaitForGraph};
use crate::ui::i18n::lock as t;
use crate::ui::kit::Card;
use crate::ui::live::{Live, ServerResource};

/// Everything that is known about the clients that want a lock.
#[component]
pub fn ContentionCard(
    /// The lock.
    id: LockId,
    /// The lock, updated live.
    #[prop(into)]
    lock: Signal<Lock>,
    /// The lock's group.
    #[prop(into)]
    group: Signal<Option<GroupView>>,
    /// The wait queues.
    waits: ServerResource<WaitForGraph>,
) -> impl IntoView {
    let live = Live::expect();
    let evidence =
        Memo::new(move |_| contention_lines(&lock.read(), group.read().as_ref(), live.now.get()));
    let can_sample = Memo::new(move |_| {
        let group = group.read();
        let kind = group.as_ref().map(|group| group.kind);
        kind.is_none_or(|kind| kind.capabilities().can_sample_requests)
    });
    let lines = move || {
        let lines = evidence.get().into_iter();
        lines
            .map(|line| view! { <li class="wrap-anywhere">{line}</li> })
            .collect_view()
    };
    view! {
        <Card id="waiters" title=t::wanted()>
            <p class="text-xs text-muted">{t::contention()}</p>
            <ul class="mb-3" aria-label=t::contention()>
                {lines}
            </ul>
            <p class="text-xs text-muted">{t::waits()}</p>
            <LockWaiters id waits />
            {move || can_sample.get().then(|| view! { <MonitorSampler lock group /> })}
        </Card>
    }
}
