//! One lock acquired from here: how long it may be relied on, and what can be done with it.

use leptos::prelude::*;

use super::copy_token::CopyToken;
use super::fault_notice::FaultNotice;
use super::lease_bar::{LeaseBar, Run};
use super::lock_name::LockName;
use super::node_acts::NodeActs;
use super::owner_name::grouped;
use crate::domain::{Fault, Lease, LockId, Mine, Released};
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
    let held = mine;
    let id = held.with_untracked(|mine| mine.id.clone());
    live.follow(&id);
    let (token_available, fencing) =
        held.with_untracked(|mine| (mine.token_available, mine.fencing_token));
    let extend = ServerAction::<calls::ExtendMine>::new();
    let release = ServerAction::<calls::ReleaseMine>::new();
    let (extending, releasing) = (extend.pending(), release.pending());
    let (extended, released) = (extend.value(), release.value());
    let is_busy = move || extending.get() || releasing.get();

    let run = Signal::derive(move || {
        let mine = held.read();
        let now = mine.acquired_at;
        let began = mine
            .expires_at
            .plus_millis(-i64::try_from(mine.ttl_ms).unwrap_or(0))
            .max(mine.acquired_at);
        Run {
            lease: Lease::until(mine.expires_at, now),
            began,
            outlives: false,
            at_risk: false,
        }
    });
    let is_lost = Memo::new(move |_| held.read().lost.is_some());
    let is_over = Memo::new(move |_| held.read().expires_at <= live.now.get() && !is_lost.get());
    let seen = {
        let id = id.clone();
        move || {
            let Some(lock) = live.lock(&id) else {
                return (words::not_on_board().to_owned(), Tone::Warn);
            };
            let mine = held.read();
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
        }
    };
    let shown = seen.clone();
    let why_not = Signal::derive(move || is_busy().then(|| act::asking().to_owned()));
    let why_not_extend = Signal::derive(move || {
        let lost = || is_lost.get().then(|| words::is_lost().to_owned());
        why_not.get().or_else(lost)
    });
    Effect::new(move || {
        if let Some(Ok(mine)) = extended.get() {
            held.set(mine);
        }
    });
    let ended = id.clone();
    Effect::new(move || {
        if let Some(end) = released.get().filter(is_an_end) {
            on_ended.run((ended.clone(), end));
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
    let press_extend = {
        let id = id.clone();
        move || {
            release.clear();
            extend.dispatch(calls::ExtendMine {
                id: id.clone(),
                ttl_ms: held.with_untracked(|mine| mine.ttl_ms),
            });
        }
    };
    let press_release = {
        let id = id.clone();
        move || {
            extend.clear();
            release.dispatch(calls::ReleaseMine { id: id.clone() });
        }
    };
    let (path, key, group) = (paths::lock(&id), id.key.clone(), id.group.clone());
    let every = move || format::span(held.read().ttl_ms);
    view! {
        <article class="flex flex-col gap-3 rounded-xl border border-line bg-surface p-4 shadow-lift">
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
            {move || held.read().lost.clone().map(|why| view! { <Lost why /> })}
            {move || {
                is_over
                    .get()
                    .then(|| {
                        view! {
                            <p class="text-alarm">
                                {words::lease_over()}
                            </p>
                        }
                    })
            }}
            <p class="text-muted">
                {move || words::taken_for(&every()) + &renewals(&held.read()) + punctuation::comma()}
                <span class=move || seen().1.text()>{move || shown().0}</span>
                {words::fingerprint()} <span class="font-mono text-xs">{move || grouped(&held.read().fingerprint)}</span>
                {fencing.map(words::fence)}
            </p>
            <div class="flex flex-wrap items-center gap-2">
                <Button why_not=why_not_extend on_press=move |()| press_extend()>
                    {move || words::extend_by(&every())}
                </Button>
                <Button why_not on_press=move |()| press_release()>
                    {move || if is_lost.get() { words::what_is_left() } else { act::release() }}
                </Button>
                <CopyToken id available=token_available />
            </div>
            {fault}
            <details>
                <summary class="text-muted">{words::node_acts()}</summary>
                <div class="mt-1.5">{move || view! { <NodeActs acts=held.read().nodes.clone() /> }}</div>
            </details>
        </article>
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
