//! What is known about one lock, each fact with how it is known.

use leptos::prelude::*;

use super::lease_bar::{LeaseBar, Run};
use super::owner_name::grouped;
use crate::domain::{AcquiredAt, Evidence, Lock, Mode, Owner, Renewals, Source, Timestamp};
use crate::ui::format;
use crate::ui::live::Live;

/// The facts about a lock.
#[component]
pub fn LockFacts(
    /// The lock.
    #[prop(into)]
    lock: Signal<Lock>,
    /// When it was seen to be gone: from then on nothing counts any more.
    #[prop(into)]
    ended: Signal<Option<Timestamp>>,
) -> impl IntoView {
    let live = Live::expect();
    let run = Signal::derive(move || Run::of(&lock.read()));
    let gone = Signal::derive(move || ended.read().is_some());
    let held = move || {
        let until = ended.get().unwrap_or_else(|| live.now.get());
        let span = until.since(lock.read().acquired_at).as_millis();
        format::clock(u64::try_from(span).unwrap_or(u64::MAX))
    };
    let owners = move || {
        let owners = lock.read().owners.clone().into_iter();
        owners
            .map(|owner| view! { <OwnerFact owner /> }.into_any())
            .collect_view()
    };
    let format = move || {
        let lock = lock.read();
        let shared = if lock.mode == Mode::Shared {
            ", shared"
        } else {
            ""
        };
        format!("{}{shared}", lock.format.slug())
    };
    let after = move || {
        let what = lock.read().format.after_release();
        format!("When somebody else releases it: {what}.")
    };
    view! {
        <dl class="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-2.5 [&_dd]:min-w-0 [&_dt]:whitespace-nowrap [&_dt]:text-muted">
            <dt>"Lease"</dt>
            <dd>
                <LeaseBar run gone />
            </dd>
            <dt>"Held for"</dt>
            <dd>
                {move || held()} <Note>{move || meaning(&lock.read())}</Note>
            </dd>
            <dt>"Owner"</dt>
            <dd>{move || owners()}</dd>
            <dt>"Renewals"</dt>
            <dd>
                {move || renewed(&lock.read().renewals, live.now.get())}
                <Note>{move || source(lock.read().renewals.source).to_owned()}</Note>
            </dd>
            <dt>"Contention"</dt>
            <dd>{move || contention(&lock.read().evidence)}</dd>
            <dt>"Format"</dt>
            <dd>
                {move || format()} <Note>{move || after()}</Note>
            </dd>
        </dl>
    }
}

#[component]
fn Note(children: Children) -> impl IntoView {
    view! { <span class="block text-xs text-muted">{children()}</span> }
}

#[component]
fn OwnerFact(owner: Owner) -> impl IntoView {
    let label = owner
        .label
        .as_deref()
        .map_or_else(|| "no readable part".to_owned(), format::visible);
    let holds = owner
        .holds
        .map(|holds| format!("holds it {}", format::counted(holds as usize, "time")));
    view! {
        <span class="block wrap-anywhere">
            <bdi>{label}</bdi>
        </span>
        <Note>"fingerprint " <span class="font-mono select-all text-ink">{grouped(&owner.fingerprint)}</span></Note>
        {holds.map(|holds| view! { <Note>{holds}</Note> }.into_any())}
    }
}

fn meaning(lock: &Lock) -> String {
    let at = format::time_of_day(lock.acquired_at);
    match lock.acquired_at_is {
        AcquiredAt::FirstSeen => format!("first seen at {at}; an earlier start cannot be excluded"),
        AcquiredAt::Claimed => {
            format!("since {at} by the owner's own time stamp: when it asked for the lock")
        }
    }
}

/// How often a lock was renewed, in words: `24 seen, every 10 s, the last 3 s ago`.
pub fn renewed(renewals: &Renewals, now: Timestamp) -> String {
    let every = renewals
        .every_ms
        .map(|ms| format!(", every {}", format::span(ms)))
        .unwrap_or_default();
    let last = renewals
        .last_at
        .map(|last| format!(", the last {}", format::ago(last, now)))
        .unwrap_or_default();
    match renewals.count {
        0 => "none seen".to_owned(),
        count => format!("{count} seen{every}{last}"),
    }
}

fn source(source: Source) -> &'static str {
    match source {
        Source::Feed => "every change was told by the servers",
        Source::Poll => "by looking again and again: renewals between two looks count once",
        Source::Api => "the renewals went through this console",
    }
}

fn contention(evidence: &[Evidence]) -> String {
    if evidence.is_empty() {
        return "not observed".to_owned();
    }
    let figures = evidence.iter().map(|sign| {
        format!(
            "{} {} (last {})",
            sign.value,
            sign.kind,
            format::span(sign.window_ms)
        )
    });
    figures.collect::<Vec<_>>().join(", ")
}
