//! What is known about one lock, each fact with how it is known.

use leptos::prelude::*;

use super::lease_bar::{LeaseBar, Run};
use super::owner_name::grouped;
use super::verdict_badge::telling_flags;
use crate::domain::{AcquiredAt, GroupView, Lock, Mode, Owner, Renewals, Timestamp, owners::host};
use crate::ui::kit::Link;
use crate::ui::live::Live;
use crate::ui::words::lock::{self as words, renewed as clause};
use crate::ui::words::{told, verdicts};
use crate::ui::{format, paths};

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
        format::elapsed(lock.read().acquired_at, until)
    };
    let owners = move || {
        let owners = lock.read().owners.clone().into_iter();
        owners
            .map(|owner| view! { <OwnerFact owner /> })
            .collect_view()
    };
    let signs = move || {
        let lock = lock.read();
        let said = contention(&lock, live.group(&lock.id.group).as_ref()).into_iter();
        said.map(|one| view! { <span class="block wrap-anywhere">{one}</span> })
            .collect_view()
    };
    let format = move || {
        let lock = lock.read();
        let shared = match lock.mode {
            Mode::Shared => words::shared(),
            Mode::Exclusive => "",
        };
        format!("{}{shared}", lock.format.slug())
    };
    let flags = move || {
        // What the verdict says already would be said in other words, of a lock that somebody has.
        let flags = telling_flags(&lock.read());
        (!flags.is_empty()).then(|| {
            let told = flags.into_iter().map(words::flag);
            let told = told.map(|one| view! { <span class="mb-1 block">{one}</span> });
            view! {
                <dt>{words::flags()}</dt>
                <dd>{told.collect_view()}</dd>
            }
        })
    };
    view! {
        <dl class="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-2.5 [&_dd]:min-w-0 [&_dt]:whitespace-nowrap [&_dt]:text-muted">
            {move || flags()}
            <dt>{words::lease()}</dt>
            <dd>
                <LeaseBar run gone />
            </dd>
            <dt>{words::held_for()}</dt>
            <dd>
                {move || held()} <Note>{move || meaning(&lock.read())}</Note>
            </dd>
            <dt>{words::owner()}</dt>
            <dd>{move || owners()}</dd>
            <dt>{words::renewals()}</dt>
            <dd>
                {move || renewed(&lock.read().renewals, live.now.get())}
                <Note>{move || words::source(lock.read().renewals.source).to_owned()}</Note>
            </dd>
            <dt>{words::contention()}</dt>
            <dd>{move || signs()}</dd>
            <dt>{words::format()}</dt>
            <dd>
                {move || format()}
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
    let label = match owner.label.as_deref() {
        Some(label) => format::visible(label),
        None => words::no_label().to_owned(),
    };
    let holds = owner
        .holds
        .map(|holds| words::holds_it(&format::counted(holds as usize, "time")));
    // What else it holds: by its own bytes, and by the host that its label names.
    let same = paths::owned_by(&owner.fingerprint.as_str()[..12]);
    let of_host = owner.label.as_deref().map(host).map(|host| {
        let words = words::same_host(&format::shorten(&format::visible(host), 48));
        view! { <Related href=paths::owned_by(host) words /> }
    });
    view! {
        <span class="block wrap-anywhere not-first:mt-2">
            <bdi>{label}</bdi>
        </span>
        <Note>{words::fingerprint()} " " <span class="font-mono select-all text-ink">{grouped(&owner.fingerprint)}</span></Note>
        {holds.map(|holds| view! { <Note>{holds}</Note> })}
        <Related href=same words=words::same_owner().to_owned() />
        {of_host}
    }
}

#[component]
fn Related(href: String, words: String) -> impl IntoView {
    view! {
        <span class="block text-xs wrap-anywhere">
            <Link href class="underline underline-offset-2">
                {words}
            </Link>
        </span>
    }
}

fn meaning(lock: &Lock) -> String {
    let at = format::time_of_day(lock.acquired_at);
    match lock.acquired_at_is {
        AcquiredAt::FirstSeen => words::first_seen(&at),
        AcquiredAt::Claimed => words::claimed(&at),
    }
}

/// How often a lock was renewed, in words: `24 seen, every 10 s, the last 3 s ago`.
pub fn renewed(renewals: &Renewals, now: Timestamp) -> String {
    let hands = renewals.hand_overs_per_minute.map(rounded);
    let hands = hands.map(clause::hands).unwrap_or_default();
    if renewals.count == 0 {
        return format!("{}{hands}", words::none_seen());
    }
    let mut said = clause::seen(renewals.count);
    if let Some(ms) = renewals.every_ms {
        said.push_str(&clause::every(&format::span(ms)));
    }
    if let Some(ms) = renewals.jitter_ms {
        said.push_str(&clause::jitter(&format::span(ms)));
    }
    if let Some(last) = renewals.last_at {
        said.push_str(&clause::last(&format::ago(last, now)));
    }
    if let Some(ms) = renewals.margin_ms {
        said.push_str(&clause::margin(&format::span(ms)));
    }
    if renewals.missed_beats > 0 {
        let beats = format::counted(renewals.missed_beats as usize, "beat");
        said.push_str(&clause::missed(&beats));
    }
    said + &hands
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is a small positive number; formatting floats costs the browser 10 kB"
)]
fn rounded(rate: f64) -> u64 {
    rate.round() as u64
}

/// Each sign of contention, or why there is none.
fn contention(lock: &Lock, group: Option<&GroupView>) -> Vec<String> {
    let mut said: Vec<String> = lock.evidence.iter().map(verdicts::evidence).collect();
    let is_measured = lock.evidence.iter().any(|sign| sign.kind == "idle-touch");
    let of_nodes = || {
        let nodes = group.map_or(&[][..], |group| &group.nodes);
        let mut why = nodes.iter().map(|node| node.unmeasured.as_ref());
        let first = why.next().flatten()?;
        why.all(|why| why.is_some()).then(|| first.clone())
    };
    match lock.unmeasured.clone().or_else(of_nodes) {
        Some(why) if !is_measured => said.push(words::unmeasurable(&told::said(&why))),
        Some(_) | None if said.is_empty() => said.push(words::not_observed().to_owned()),
        Some(_) | None => {}
    }
    said
}
