//! What is known about one lock, each fact with how it is known.

use leptos::prelude::*;

use super::lease_bar::{LeaseBar, Run};
use super::owner_name::grouped;
use crate::domain::{
    AcquiredAt, Evidence, GroupView, Lock, Mode, Owner, Renewals, Source, Timestamp,
};
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
    let signs = move || {
        let lock = lock.read();
        let said = contention(&lock, live.group(&lock.id.group).as_ref()).into_iter();
        said.map(|one| view! { <span class="block wrap-anywhere">{one}</span> }.into_any())
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
            <dd>{move || signs()}</dd>
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
    let jitter = renewals
        .jitter_ms
        .map(|ms| format!(" (± {})", format::span(ms)))
        .unwrap_or_default();
    let margin = renewals
        .margin_ms
        .map(|ms| format!(", with {} of the lease left", format::span(ms)))
        .unwrap_or_default();
    let missed = match renewals.missed_beats {
        0 => String::new(),
        missed => format!(", {} missed", format::counted(missed as usize, "beat")),
    };
    let hand_overs = renewals
        .hand_overs_per_minute
        .map(|each| {
            format!(
                "; changes hands {} times a minute, too fast to look at each",
                each.round()
            )
        })
        .unwrap_or_default();
    match renewals.count {
        0 => format!("none seen{hand_overs}"),
        count => format!("{count} seen{every}{jitter}{last}{margin}{missed}{hand_overs}"),
    }
}

fn source(source: Source) -> &'static str {
    match source {
        Source::Feed => "every change was told by the servers",
        Source::Poll => "by looking again and again: renewals between two looks count once",
        Source::Api => "the renewals went through this console",
    }
}

/// Each sign of contention, or why there is none.
fn contention(lock: &Lock, group: Option<&GroupView>) -> Vec<String> {
    let mut said: Vec<String> = lock.evidence.iter().map(Evidence::sentence).collect();
    let is_measured = lock.evidence.iter().any(|sign| sign.kind == "idle-touch");
    let of_nodes = || {
        let nodes = group.map_or(&[][..], |group| &group.nodes);
        let mut why = nodes.iter().map(|node| node.unmeasured.as_ref());
        let first = why.next().flatten()?;
        why.all(|why| why.is_some()).then(|| first.clone())
    };
    match lock.unmeasured.clone().or_else(of_nodes) {
        Some(why) if !is_measured => said.push(format!("touches not measurable now: {why}")),
        Some(_) | None if said.is_empty() => said.push("not observed".to_owned()),
        Some(_) | None => {}
    }
    said
}
