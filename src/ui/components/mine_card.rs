//! One lock acquired from here: how long it may be relied on, and what can be done with it.

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::copy_token::CopyToken;
use super::fault_notice::FaultNotice;
use super::lease_bar::{LeaseBar, Run};
use super::lock_name::LockName;
use super::node_acts::NodeActs;
use super::owner_name::grouped;
use crate::domain::{Fault, Format, Lease, LockId, Mine, Released};
use crate::ui::kit::{Banner, Button, Link, Tone};
use crate::ui::live::Live;
use crate::ui::reactive::memo;
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
    let busy = RwSignal::new(false);
    let fault = RwSignal::new(None::<Fault>);

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
    let is_lost = memo(move |_| held.read().lost.is_some());
    let is_over = memo(move |_| held.read().expires_at <= live.now.get() && !is_lost.get());
    let seen = {
        let id = id.clone();
        move || {
            let Some(lock) = live.lock(&id) else {
                return (words::not_on_board().to_owned(), Tone::Warn);
            };
            let mine = held.read();
            // A value that tells the time is another one after each renewal, which is not heard of everywhere at once.
            let changes = lock.format == Format::LegacyTimestamp && mine.auto_renew;
            let owners = lock.nodes.iter().filter_map(|node| node.answer.owner());
            match owners
                .filter(|owner| changes || owner.fingerprint == mine.fingerprint)
                .count()
            {
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
    let why_not = Signal::derive(move || busy.get().then(|| act::asking().to_owned()));
    let why_not_extend = Signal::derive(move || {
        let lost = || is_lost.get().then(|| words::is_lost().to_owned());
        why_not.get().or_else(lost)
    });
    let extend = {
        let id = id.clone();
        move || {
            let id = id.clone();
            let ttl_ms = held.with_untracked(|mine| mine.ttl_ms);
            busy.set(true);
            fault.set(None);
            spawn_local(async move {
                match calls::extend_mine(id, ttl_ms).await {
                    Ok(mine) => held.set(mine),
                    Err(refused) => fault.set(Some(refused)),
                }
                busy.set(false);
            });
        }
    };
    let release = {
        let id = id.clone();
        move || {
            let id = id.clone();
            busy.set(true);
            fault.set(None);
            spawn_local(async move {
                let end = calls::release_mine(id.clone()).await;
                busy.set(false);
                match end {
                    Err(
                        refused @ (Fault::Unanswered { .. }
                        | Fault::Internal { .. }
                        | Fault::PartlyReleased { .. }
                        | Fault::NoQuorum { .. }),
                    ) => fault.set(Some(refused)),
                    ended => on_ended.run((id, ended)),
                }
            });
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
            {move || held.read().lost.clone().map(|why| view! { <Lost why /> }.into_any())}
            {move || {
                is_over
                    .get()
                    .then(|| {
                        view! {
                            <p class="text-alarm">
                                {words::lease_over()}
                            </p>
                        }.into_any()
                    })
            }}
            <p class="text-muted">
                {move || words::taken_for(&every()) + &renewals(&held.read()) + punctuation::comma()}
                <span class=move || seen().1.text()>{move || shown().0}</span>
                {words::fingerprint()} <span class="font-mono text-xs">{move || grouped(&held.read().fingerprint)}</span>
                {fencing.map(words::fence)}
            </p>
            <div class="flex flex-wrap items-center gap-2">
                <Button why_not=why_not_extend on_press=move |()| extend()>
                    {move || words::extend_by(&every())}
                </Button>
                <Button why_not on_press=move |()| release()>
                    {move || if is_lost.get() { words::what_is_left() } else { act::release() }}
                </Button>
                <CopyToken id available=token_available />
            </div>
            {move || fault.get().map(|fault| view! { <FaultNotice fault /> }.into_any())}
            <details>
                <summary class="text-muted">{words::node_acts()}</summary>
                <div class="mt-1.5">{move || view! { <NodeActs acts=held.read().nodes.clone() /> }.into_any()}</div>
            </details>
        </article>
    }
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
