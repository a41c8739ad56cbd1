//! One lock acquired from here: how long it may be relied on, and what can be done with it.

use leptos::prelude::*;

use super::copy_token::CopyToken;
use super::fault_notice::FaultNotice;
use super::lease_bar::{LeaseBar, Run};
use super::lock_name::LockName;
use super::node_acts::NodeActs;
use super::owner_name::grouped;
use crate::domain::{Fault, Lease, LockId, Mine, Released};
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Banner, Button, Link, Tone};
use crate::ui::live::Live;
use crate::ui::words::act::{self, mine as words};
use crate::ui::words::lock::name as owner_name;
use crate::ui::words::{punctuation, told};
use crate::ui::{calls, format, paths};

/// How a release of one of our locks ended.
pub type Ended = (LockId, Result<Released, Fault>);

/// One lock acquired from here.
#[component]
pub fn MineCard(
    /// The lock, as it stands.
    mine: RwSignal<Mine>,
    /// Called when it was released, also where that was once of several times, or turned out not to be ours any more.
    #[prop(into)]
    on_ended: Callback<Ended>,
) -> impl IntoView {
    let live = Live::expect();
    let id = mine.with_untracked(|mine| mine.id.clone());
    live.follow(&id);
    let run = Signal::derive(move || run(&mine.read()));
    let is_lost = Memo::new(move |_| mine.read().lost.is_some());
    let is_over = Memo::new(move |_| mine.read().expires_at <= live.now.get() && !is_lost.get());
    let (path, key, group) = (paths::lock(&id), id.key, id.group);
    view! {
        <article class=format!("flex flex-col gap-3 p-4 {CARD}")>
            <header class="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
                <h2 class="min-w-0 text-base font-semibold">
                    <Link href=path class="rounded underline-offset-2 hover:underline">
                        <LockName key />
                    </Link>
                </h2>
                <span class="text-muted">{group}</span>
            </header>
            <div class="flex max-w-md items-center gap-3">
                <span class="whitespace-nowrap text-muted">{words::valid_for()}</span>
                <LeaseBar run gone=is_lost />
            </div>
            {move || mine.read().lost.clone().map(|why| view! { <Lost why /> })}
            {move || is_over.get().then(|| view! { <p class="text-alarm">{words::lease_over()}</p> })}
            <Facts mine />
            <Actions mine is_lost on_ended />
            <details>
                <summary class="text-muted">{words::node_acts()}</summary>
                <div class="mt-1.5">{move || view! { <NodeActs acts=mine.read().nodes.clone() /> }}</div>
            </details>
        </article>
    }
}

/// The lease, as its bar shows it.
fn run(mine: &Mine) -> Run {
    let now = mine.acquired_at;
    let whole_ms = i64::try_from(mine.ttl_ms).unwrap_or(0);
    Run {
        lease: Lease::until(mine.expires_at, now),
        began: mine.expires_at.plus_millis(-whole_ms).max(now),
        outlives: false,
        at_risk: false,
    }
}

/// For how long it was acquired, how often it was renewed, and whether the nodes show it.
#[component]
fn Facts(mine: RwSignal<Mine>) -> impl IntoView {
    let live = Live::expect();
    let seen = Memo::new(move |_| {
        let mine = mine.read();
        let Some(lock) = live.lock(&mine.id) else {
            return (words::not_on_board().to_owned(), Tone::Warn);
        };
        match mine.nodes_that_show_it(&lock) {
            0 => {
                let owner = lock.owners.first().map(owner_name).unwrap_or_default();
                (words::somebody_else(&owner), Tone::Alarm)
            }
            on => {
                let nodes = format::counted(lock.nodes.len(), "node");
                (words::seen_on(on, &nodes), Tone::Plain)
            }
        }
    });
    view! {
        <p class="text-muted">
            {move || {
                let mine = mine.read();
                words::taken_for(&format::span(mine.ttl_ms)) + &renewals(&mine) + punctuation::comma()
            }}
            <span class=move || seen.read().1.text()>{move || seen.get().0}</span>
            {words::fingerprint()} <span class="font-mono text-xs">{move || grouped(&mine.read().fingerprint)}</span>
            {mine.with_untracked(|mine| mine.fencing_token).map(words::fence)}
        </p>
    }
}

/// Extends the lock and releases it.
#[component]
fn Actions(mine: RwSignal<Mine>, is_lost: Memo<bool>, on_ended: Callback<Ended>) -> impl IntoView {
    let id = StoredValue::new(mine.with_untracked(|mine| mine.id.clone()));
    let available = mine.with_untracked(|mine| mine.token_available);
    let extend = ServerAction::<calls::ExtendMine>::new();
    let release = ServerAction::<calls::ReleaseMine>::new();
    let (extended, released) = (extend.value(), release.value());
    let (extending, releasing) = (extend.pending(), release.pending());
    let is_busy = move || extending.get() || releasing.get();
    let why_not = Signal::derive(move || is_busy().then(|| act::asking().to_owned()));
    let why_not_extend = Signal::derive(move || {
        let lost = || is_lost.get().then(|| words::is_lost().to_owned());
        why_not.get().or_else(lost)
    });
    Effect::new(move || {
        if let Some(Ok(now)) = extended.get() {
            mine.set(now);
        }
    });
    Effect::new(move || {
        if let Some(end) = released.get().filter(is_an_end) {
            on_ended.run((id.get_value(), end));
        }
    });
    let fault = move || {
        let not_extended = extended.get().and_then(Result::err);
        let not_released = released.get().filter(|end| !is_an_end(end));
        let fault = not_released.and_then(Result::err).or(not_extended);
        fault
            .filter(|_| !is_busy())
            .map(|fault| view! { <FaultNotice fault /> })
    };
    let press_extend = move |()| {
        release.clear();
        extend.dispatch(calls::ExtendMine {
            id: id.get_value(),
            ttl_ms: mine.with_untracked(|mine| mine.ttl_ms),
        });
    };
    let press_release = move |()| {
        extend.clear();
        release.dispatch(calls::ReleaseMine { id: id.get_value() });
    };
    view! {
        <div class="flex flex-wrap items-center gap-2">
            <Button why_not=why_not_extend on_press=press_extend>
                {move || words::extend_by(&format::span(mine.read().ttl_ms))}
            </Button>
            <Button why_not on_press=press_release>
                {move || if is_lost.get() { words::what_is_left() } else { act::release() }}
            </Button>
            <CopyToken id=id.get_value() available />
        </div>
        {fault}
    }
}

/// Whether the lock is not this console's any more, or is so once less; after any other end another try makes sense.
fn is_an_end(end: &Result<Released, Fault>) -> bool {
    !matches!(
        end,
        Err(Fault::Unanswered { .. }
            | Fault::Internal { .. }
            | Fault::PartlyReleased { .. }
            | Fault::NoQuorum { .. })
    )
}

/// What has become of a lock that was kept, and what that means.
#[component]
fn Lost(why: String) -> impl IntoView {
    view! {
        <Banner tone=Tone::Alarm>
            <p class="font-semibold">{words::lost(&told::said(&why))}</p>
            <p>{words::lost_advice()}</p>
        </Banner>
    }
}

/// Whether it is renewed, and how often it was.
fn renewals(mine: &Mine) -> String {
    let times = match mine.extensions {
        0 => String::new(),
        1 => words::renewed_once().to_owned(),
        times => words::renewed(times),
    };
    match &mine.rests {
        Some(limit) => format!("{times}{}", words::no_more(limit)),
        None if mine.auto_renew => format!("{}{times}", words::kept()),
        None => times,
    }
}
