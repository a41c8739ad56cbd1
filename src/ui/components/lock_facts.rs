//! The facts about one lock, each with its source.

use std::time::Duration;

use leptos::prelude::*;

use super::lease_bar::{LeaseBar, LeaseProgress};
use super::owner_name::format_fingerprint;
use super::verdict_badge::extra_flags;
use crate::domain::{
    AcquiredAtSource, GroupView, Lock, Mode, Owner, OwnerIdentity, RenewalStats, Timestamp,
    owners::{container_address, host},
};
use crate::ui::i18n::lock::{self as t, renewed as clause};
use crate::ui::i18n::{punctuation, reasons, terms};
use crate::ui::kit::Link;
use crate::ui::live::Live;
use crate::ui::{format, paths};

/// The facts about a lock.
#[component]
pub fn LockFacts(
    /// The lock, updated live.
    #[prop(into)]
    lock: Signal<Lock>,
    /// When the lock was observed to be gone. The countdowns stop then.
    #[prop(into)]
    ended: Signal<Option<Timestamp>>,
) -> impl IntoView {
    let live = Live::expect();
    let progress = Signal::derive(move || LeaseProgress::of(&lock.read()));
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
    let format = move || {
        let lock = lock.read();
        let shared = match lock.mode {
            Mode::Shared => t::shared(),
            Mode::Exclusive => "",
        };
        format!("{}{shared}", lock.format.slug())
    };
    let flags = move || {
        // Flags that the verdict implies would repeat it.
        let flags = extra_flags(&lock.read());
        (!flags.is_empty()).then(|| {
            let flag_lines = flags.into_iter().map(t::flag);
            let flag_lines =
                flag_lines.map(|line| view! { <span class="mb-1 block">{line}</span> });
            view! {
                <dt>{t::flags()}</dt>
                <dd>{flag_lines.collect_view()}</dd>
            }
        })
    };
    view! {
        <dl class="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-2.5 [&_dd]:min-w-0 [&_dt]:whitespace-nowrap [&_dt]:text-muted">
            {move || flags()}
            <dt>{t::lease()}</dt>
            <dd>
                <LeaseBar progress gone />
            </dd>
            <dt>{t::held_for()}</dt>
            <dd>
                {move || held()} <Note>{move || acquired_at_note(&lock.read())}</Note>
            </dd>
            <dt>{t::owner()}</dt>
            <dd>{move || owners()}</dd>
            <dt>{t::renewals()}</dt>
            <dd>
                {move || renewals_sentence(&lock.read().renewals, live.now.get())}
                <Note>{move || t::source(lock.read().renewals.source).to_owned()}</Note>
            </dd>
            <dt>{t::format()}</dt>
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
        Some(label) => format::escape_invisible(label),
        None => t::no_label().to_owned(),
    };
    let container = owner.label.as_deref().and_then(container_address);
    let container = container.map(|address| t::container(&address.to_string()));
    let holds = owner.hold_count.map(t::hold_count);
    // Links to other locks of the same fingerprint, and of the host in the label.
    let same = paths::search_locks(&owner.fingerprint.as_str()[..12]);
    let of_host = owner.label.as_deref().map(host).map(|host| {
        let label = t::locks_on_host(&format::shorten(&format::escape_invisible(host), 48));
        view! { <RelatedLocksLink href=paths::search_locks(host) label /> }
    });
    let page = paths::owner(&OwnerIdentity::of(
        owner.label.as_deref(),
        &owner.fingerprint,
    ));
    view! {
        <span class="block wrap-anywhere not-first:mt-2">
            <Link href=page class="rounded underline underline-offset-2">
                <bdi>{label}</bdi>
            </Link>
        </span>
        <Note>{t::fingerprint()} " " <span class="font-mono select-all text-ink">{format_fingerprint(&owner.fingerprint)}</span></Note>
        {container.map(|container| view! { <Note>{container}</Note> })}
        {holds.map(|holds| view! { <Note>{holds}</Note> })}
        <RelatedLocksLink href=same label=t::locks_of_owner().to_owned() />
        {of_host}
    }
}

#[component]
fn RelatedLocksLink(href: String, label: String) -> impl IntoView {
    view! {
        <span class="block text-xs wrap-anywhere">
            <Link href class="underline underline-offset-2">
                {label}
            </Link>
        </span>
    }
}

fn acquired_at_note(lock: &Lock) -> String {
    let at = format::time_of_day(lock.acquired_at);
    match lock.acquired_at_source {
        AcquiredAtSource::FirstSeen => t::first_observed(&at),
        AcquiredAtSource::Claimed => t::claimed_since(&at),
    }
}

/// Describes the renewals of a lock: `24 in total, every 10 s, last 3 s ago`.
pub fn renewals_sentence(renewals: &RenewalStats, now: Timestamp) -> String {
    let changes = renewals.ownership_changes_per_minute.map(rounded);
    let changes = changes.map(clause::ownership_changes);
    if renewals.count == 0 {
        let none = Some(t::none_seen().to_owned());
        return punctuation::list(none.into_iter().chain(changes));
    }
    let every = renewals.interval_ms.map(format::span);
    let every = every.map(|every| match renewals.jitter_ms {
        Some(ms) => clause::every_with_jitter(&every, &format::span(ms)),
        None => clause::every(&every),
    });
    let last = renewals.last_at.map(|last| format::ago(last, now));
    let last = last.map(|ago| match renewals.margin_ms {
        Some(ms) => clause::last_with_margin(&ago, &format::span(ms)),
        None => clause::last(&ago),
    });
    let missed = (renewals.missed_renewals > 0).then(|| clause::missed(renewals.missed_renewals));
    let count = Some(clause::count(renewals.count));
    punctuation::list([count, every, last, missed, changes].into_iter().flatten())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is a small positive number; formatting floats costs the browser 10 kB"
)]
fn rounded(rate: f64) -> u64 {
    rate.round() as u64
}

/// A hold that is younger than this may not have been measured yet.
const UNMEASURED_HOLD: Duration = Duration::from_secs(10);

/// Describes each sign of contention, or why there is none.
pub fn contention_lines(lock: &Lock, group: Option<&GroupView>, now: Timestamp) -> Vec<String> {
    let mut lines: Vec<String> = lock.evidence.iter().map(terms::evidence).collect();
    let is_measured = lock.evidence.iter().any(|sign| sign.kind == "idle-touch");
    let of_nodes = || {
        let nodes = group.map_or(&[][..], |group| &group.nodes);
        let mut reason = nodes
            .iter()
            .map(|node| node.contention_unavailable_reason.as_ref());
        let first = reason.next().flatten()?;
        reason.all(|reason| reason.is_some()).then(|| first.clone())
    };
    match lock.contention_unavailable_reason.clone().or_else(of_nodes) {
        Some(reason) if !is_measured => {
            lines.push(t::contention_unavailable(&reasons::clause(&reason)));
        }
        Some(_) | None if lines.is_empty() => {
            let is_new = now.since(lock.acquired_at) < UNMEASURED_HOLD;
            lines.push(match is_new {
                true => t::not_observed_yet().to_owned(),
                false => t::not_observed().to_owned(),
            });
        }
        Some(_) | None => {}
    }
    lines
}
