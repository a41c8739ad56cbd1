//! What somebody should know before they release a lock.

use leptos::prelude::*;

use super::super::lock_facts::renewed;
use super::super::owner_name::grouped;
use crate::domain::{Fingerprint, Format, Lock};
use crate::ui::format::{self, LeaseWords};
use crate::ui::live::Live;

/// Owner, age, renewals, lease, and what the library does next; kept up to date while the dialog is open.
#[component]
pub fn ReleaseFacts(
    /// The lock, as up to date as it is known.
    #[prop(into)]
    lock: Signal<Lock>,
    /// Whose hold would be released.
    #[prop(into)]
    fingerprint: Signal<Fingerprint>,
) -> impl IntoView {
    let live = Live::expect();
    let owner = Memo::new(move |_| {
        lock.with(|lock| {
            let label = lock
                .owners
                .iter()
                .find(|owner| fingerprint.with(|wanted| owner.fingerprint == *wanted));
            label
                .and_then(|owner| owner.label.as_deref().map(format::visible))
                .unwrap_or_else(|| "no readable part".to_owned())
        })
    });
    let held = move || {
        let since = lock.with(|lock| lock.acquired_at);
        format::clock(u64::try_from(live.now.get().since(since).as_millis()).unwrap_or(u64::MAX))
    };
    let renewals = move || lock.with(|lock| renewed(&lock.renewals, live.now.get()));
    let ends = move || {
        let (lease, outlives) =
            lock.with(|lock| (lock.lease, lock.format == Format::LegacyTimestamp));
        match format::lease(lease, outlives, live.now.get()) {
            LeaseWords::None => "does not expire by itself".to_owned(),
            LeaseWords::Left(left) => format!("expires by itself in {left}"),
            LeaseWords::Over => "its lease is over; it should be gone any moment".to_owned(),
            LeaseWords::Past(since) => {
                format!("past its own time for {since}; the key does not expire by itself")
            }
        }
    };
    let library = Memo::new(move |_| lock.with(|lock| lock.format));
    view! {
        <dl class="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 [&_dd]:wrap-anywhere [&_dt]:text-muted">
            <dt>"Owner"</dt>
            <dd>
                <bdi>{owner}</bdi>
            </dd>
            <dt>"Fingerprint"</dt>
            <dd class="font-mono select-all">{move || fingerprint.with(grouped)}</dd>
            <dt>"Held for"</dt>
            <dd>{move || held()}"; renewals: "{move || renewals()}</dd>
            <dt>"Lease"</dt>
            <dd class="font-medium">{move || ends()}</dd>
            <dt>"This library"</dt>
            <dd>{move || library.get().slug()}": "{move || library.get().after_release()}</dd>
        </dl>
    }
}
