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
    let run = Memo::new(move |_| lock.with(Run::of));
    let owners = Memo::new(move |_| lock.with(|lock| lock.owners.clone()));
    let format = Memo::new(move |_| lock.with(|lock| lock.format));
    let since = Memo::new(move |_| lock.with(|lock| (lock.acquired_at, lock.acquired_at_is)));
    let renewals = Memo::new(move |_| lock.with(|lock| lock.renewals.clone()));
    let evidence = Memo::new(move |_| lock.with(|lock| lock.evidence.clone()));
    let shared = Memo::new(move |_| lock.with(|lock| lock.mode == Mode::Shared));
    let gone = Memo::new(move |_| ended.with(Option::is_some));
    let held = move || {
        let until = ended.get().unwrap_or_else(|| live.now.get());
        format::clock(u64::try_from(until.since(since.get().0).as_millis()).unwrap_or(u64::MAX))
    };
    view! {
        <dl class="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-2.5 [&_dd]:min-w-0 [&_dt]:whitespace-nowrap [&_dt]:text-muted">
            <dt>"Lease"</dt>
            <dd>
                <LeaseBar run gone />
            </dd>
            <dt>"Held for"</dt>
            <dd>
                {move || held()} <Note>{move || meaning(since.get())}</Note>
            </dd>
            <dt>{move || if owners.with(Vec::len) > 1 { "Owners" } else { "Owner" }}</dt>
            <dd>{move || owners.get().into_iter().map(|owner| view! { <OwnerFact owner /> }).collect_view()}</dd>
            <dt>"Renewals"</dt>
            <dd>
                {move || renewals.with(|renewals| renewed(renewals, live.now.get()))}
                <Note>{move || renewals.with(|renewals| source(renewals.source))}</Note>
            </dd>
            <dt>"Contention"</dt>
            <dd>{move || evidence.with(|evidence| contention(evidence))}</dd>
            <dt>"Format"</dt>
            <dd>
                {move || format.get().slug()}{move || shared.get().then_some(", shared")}
                <Note>"When somebody else releases it: "{move || format.get().after_release()}"."</Note>
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
        {holds.map(|holds| view! { <Note>{holds}</Note> })}
    }
}

fn meaning((since, is): (Timestamp, AcquiredAt)) -> String {
    let at = format::time_of_day(since);
    match is {
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
