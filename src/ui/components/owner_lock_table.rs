//! The locks that one owner holds, with the advice before a forced release.

use leptos::prelude::*;

use super::advice::tone;
use super::lease_bar::{LeaseBar, LeaseProgress};
use super::lock_name::LockName;
use super::verdict_badge::{FlagBadges, VerdictBadge, extra_flags};
use crate::domain::{OwnedLock, OwnerDetail, OwnerIdentity};
use crate::ui::i18n::{advice as advice_texts, owner as t};
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Badge, Link, Table};
use crate::ui::live::Live;
use crate::ui::{format, paths};

const CELL: &str = "px-3 py-[0.4375rem] align-top";

/// The table, and the link to the bulk release.
#[component]
pub fn OwnerLockTable(
    /// The owner.
    owner: Signal<OwnerDetail>,
) -> impl IntoView {
    // The order of the locks stays, so that only changed rows are rendered again.
    let held = Memo::new(move |_| owner.with(|owner| owner.held.clone()));
    let more = Memo::new(move |_| {
        owner.with(|owner| (owner.held_count as usize).saturating_sub(owner.held.len()))
    });
    let identity = Memo::new(move |_| owner.with(OwnerDetail::identity));
    let titles = || {
        vec![
            t::lock(),
            t::group(),
            t::state(),
            t::held_for(),
            t::lease(),
            t::owner_state(),
        ]
    };
    let rows = move || {
        let rows = held.get().into_iter();
        rows.map(|owned| view! { <HeldLockRow owned /> })
            .collect_view()
    };
    let table = move || {
        match held.with(Vec::is_empty) {
        true => view! { <p class="text-muted">{t::holds_nothing()}</p> }.into_any(),
        false => view! {
            <div class=CARD>
                <Table titles=titles() title_class="px-3 py-2 text-start font-medium whitespace-nowrap text-muted" class="card-table w-full" label=t::locks_held()>
                    {rows}
                </Table>
            </div>
        }
        .into_any(),
    }
    };
    let more = move || {
        let more = more.get();
        (more > 0).then(|| {
            let href = identity.with(|identity| identity.as_ref().map(paths::locks_of_owner));
            view! {
                <p class="mt-2 text-muted">
                    {t::more_held(format::count(more as u64))}
                    <Link href=href.unwrap_or_default() class="text-accent underline underline-offset-2">{t::show_in_list()}</Link>
                </p>
            }
        })
    };
    view! {
        <section aria-labelledby="held-title">
            <div class="mb-2 flex flex-wrap items-baseline gap-x-4 gap-y-1">
                <h2 id="held-title" class="text-base font-semibold">{t::locks_held()}</h2>
                {move || (!held.with(Vec::is_empty)).then(|| identity.get()).flatten().map(|identity| view! { <ReleaseAll identity /> })}
            </div>
            {move || table()}
            {more}
        </section>
    }
}

/// The link that opens the bulk release with all locks of the owner.
#[component]
fn ReleaseAll(identity: OwnerIdentity) -> impl IntoView {
    view! {
        <Link
            href=paths::select_all_of_owner(&identity)
            title=t::release_all_description()
            class="needs-script rounded text-muted underline underline-offset-2 hover:text-ink"
        >
            {t::release_all()}
        </Link>
    }
}

#[component]
fn HeldLockRow(owned: OwnedLock) -> impl IntoView {
    let live = Live::expect();
    let OwnedLock {
        lock,
        owner,
        advice,
    } = owned;
    let since = lock
        .holder(&owner)
        .map_or(lock.acquired_at, |holder| holder.acquired_at);
    let held = move || format::elapsed(since, live.now.get());
    let progress = LeaseProgress::of(&lock);
    let group = format::escape_invisible(&lock.id.group);
    let href = paths::lock(&lock.id);
    let (flags, evidence, verdict) = (extra_flags(&lock), lock.evidence, lock.verdict);
    let tone = tone(advice);
    view! {
        <tr role="row" class="border-line not-first:border-t">
            <td role="cell" class=CELL>
                <Link href class="rounded font-medium underline-offset-2 hover:underline">
                    <LockName key=lock.id.key max_chars=60 />
                </Link>
                <span class="block text-xs text-muted">{lock.format.slug()}</span>
            </td>
            <td role="cell" class=format!("{CELL} wrap-anywhere") data-label=t::group()><bdi>{group}</bdi></td>
            <td role="cell" class=CELL data-label=t::state()>
                <span class="flex flex-wrap items-center gap-1.5">
                    <VerdictBadge verdict />
                    <FlagBadges flags evidence />
                </span>
            </td>
            <td role="cell" class=format!("{CELL} whitespace-nowrap tabular-nums") data-label=t::held_for()>{held}</td>
            <td role="cell" class=format!("{CELL} min-w-32") data-label=t::lease()>
                <LeaseBar progress=Signal::stored(progress) gone=Signal::stored(false) />
            </td>
            <td role="cell" class=CELL data-label=t::owner_state()>
                <Badge tone title=advice_texts::level_meaning(advice)>
                    <span data-level=advice.slug()>{advice_texts::short_level(advice)}</span>
                </Badge>
            </td>
        </tr>
    }
}
