//! Banners about nodes that came back: how long they were away, and which locks are not on them.

use leptos::prelude::*;

use crate::domain::{GroupKind, NodeRecovery, Timestamp};
use crate::ui::format;
use crate::ui::i18n::{outages as t, shell};
use crate::ui::kit::{Banner, Button, Tone};
use crate::ui::live::Live;

/// How long a recovery is shown, in milliseconds.
const SHOWN_FOR_MS: u128 = 600_000;

/// A banner for each node that came back while the page was open.
#[component]
pub fn NodeRecoveries() -> impl IntoView {
    let live = Live::expect();
    let recent = Memo::new(move |_| {
        let now = live.now.get();
        let is_recent = |up_at: Timestamp| now.since(up_at).as_millis() < SHOWN_FOR_MS;
        live.recoveries.with(|all| {
            let all = all.iter();
            all.filter(|recovery| is_recent(recovery.up_at) && is_notable(live, recovery))
                .cloned()
                .collect::<Vec<_>>()
        })
    });
    view! {
        <For each=move || recent.get() key=|recovery| (recovery.group.clone(), recovery.node.clone(), recovery.up_at) let:recovery>
            <RecoveryBanner recovery />
        </For>
    }
}

/// Whether an operator should know: the node had an outage, or lacks locks.
fn is_notable(live: Live, recovery: &NodeRecovery) -> bool {
    let lacks_any = || live.with_locks(|locks| locks.values().any(|lock| recovery.lacks(lock)));
    recovery.is_outage() || lacks_any()
}

#[component]
fn RecoveryBanner(recovery: NodeRecovery) -> impl IntoView {
    let live = Live::expect();
    let span = recovery.up_at.since(recovery.down_at).as_millis();
    let span = format::span(u64::try_from(span).unwrap_or(u64::MAX));
    let sentence = t::back_after(&recovery.node, &recovery.group, span);
    // In other kinds of groups a lock is not on every node.
    let is_redlock = untrack(|| live.group(&recovery.group))
        .is_some_and(|group| group.kind == GroupKind::Redlock);
    let dismissed = recovery.clone();
    let dismiss = move |()| {
        live.recoveries
            .update(|all| all.retain(|known| *known != dismissed));
    };
    let lacking = Memo::new(move |_| {
        live.with_locks(|locks| locks.values().filter(|lock| recovery.lacks(lock)).count())
    });
    let is_complete = Memo::new(move |_| live.has_every_lock());
    let missing = move || match (is_redlock, lacking.get(), is_complete.get()) {
        (false, ..) | (true, 0, false) => ".".to_owned(),
        (true, 0, true) => t::lacks_no_lock().to_owned(),
        (true, count, true) => t::lacks(count) + t::lacks_advice(),
        (true, count, false) => t::lacks_at_least(count) + t::lacks_advice(),
    };
    view! {
        <Banner tone=Tone::Plain announced=false>
            <div class="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
                <p class="min-w-0 text-ink" role="status">
                    <span class="font-semibold">{sentence}</span>
                    {missing}
                </p>
                <Button on_press=dismiss>{shell::dismiss()}</Button>
            </div>
        </Banner>
    }
}
