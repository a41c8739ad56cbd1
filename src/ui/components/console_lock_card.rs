//! A lock acquired in the console: its remaining lease and its operations.

use leptos::prelude::*;

use super::copy_token::CopyToken;
use super::error_notice::ErrorNotice;
use super::lease_bar::{LeaseBar, LeaseProgress};
use super::lock_name::LockName;
use super::node_outcomes::NodeOutcomes;
use super::owner_name::format_fingerprint;
use crate::domain::reason::Reason;
use crate::domain::{ConsoleLock, Lease, LockId, OperationError, ReleaseResult};
use crate::ui::i18n::lock::name as owner_name;
use crate::ui::i18n::operations::{self, mine as t};
use crate::ui::i18n::{punctuation, reasons};
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Banner, Button, Link, Tone};
use crate::ui::live::Live;
use crate::ui::{calls, format, paths};

/// The response to the release of a lock acquired in the console.
pub type ConsoleReleaseResult = (LockId, Result<ReleaseResult, OperationError>);

/// A lock acquired in the console.
#[component]
pub fn ConsoleLockCard(
    /// The lock and its auto-renewal.
    lock: RwSignal<ConsoleLock>,
    /// Called after a release, also if other holds of the same owner remain, or if the lock was no
    /// longer held.
    #[prop(into)]
    on_ended: Callback<ConsoleReleaseResult>,
) -> impl IntoView {
    let live = Live::expect();
    let id = lock.with_untracked(|lock| lock.id.clone());
    live.pin(&id);
    let progress = Signal::derive(move || lease_progress(&lock.read()));
    let is_lost = Memo::new(move |_| lock.read().lost_reason.is_some());
    let is_expired = Memo::new(move |_| lock.read().expires_at <= live.now.get() && !is_lost.get());
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
                <span class="whitespace-nowrap text-muted">{t::valid_for()}</span>
                <LeaseBar progress gone=is_lost />
            </div>
            {move || lock.read().lost_reason.clone().map(|reason| view! { <RenewalFailedBanner reason /> })}
            {move || is_expired.get().then(|| view! { <p class="text-alarm">{t::lease_expired()}</p> })}
            <ConsoleLockFacts lock />
            <ConsoleLockActions lock is_lost on_ended />
            <details>
                <summary class="text-muted">{t::result_per_node()}</summary>
                <div class="mt-1.5">{move || view! { <NodeOutcomes outcomes=lock.read().nodes.clone() /> }}</div>
            </details>
        </article>
    }
}

/// The lease for the bar.
fn lease_progress(lock: &ConsoleLock) -> LeaseProgress {
    let acquired_at = lock.acquired_at;
    let ttl_ms = i64::try_from(lock.ttl_ms).unwrap_or(0);
    LeaseProgress {
        lease: Lease::until(lock.expires_at, acquired_at),
        started_at: lock.expires_at.plus_millis(-ttl_ms).max(acquired_at),
        outlives_lease: false,
        at_risk: false,
        is_held: true,
    }
}

/// The lease duration, the number of renewals, the nodes that show the lock, and its owner.
#[component]
fn ConsoleLockFacts(lock: RwSignal<ConsoleLock>) -> impl IntoView {
    let live = Live::expect();
    let nodes_text = Memo::new(move |_| {
        let lock = lock.read();
        let Some(observed) = live.lock(&lock.id) else {
            return (t::not_in_index().to_owned(), Tone::Warn);
        };
        match lock.count_nodes_holding(&observed) {
            0 => {
                let owner = observed.owners.first().map(owner_name).unwrap_or_default();
                (t::held_by_other(&owner), Tone::Alarm)
            }
            count => {
                let nodes = format::node_count(observed.nodes.len());
                (t::observed_on(count, &nodes), Tone::Plain)
            }
        }
    });
    let label = Memo::new(move |_| {
        let lock = lock.read();
        let owners = live.lock(&lock.id)?.owners;
        let mut owners = owners.into_iter();
        let owner = owners.find(|owner| owner.fingerprint == lock.fingerprint)?;
        owner.label.as_deref().map(format::escape_invisible)
    });
    let label = move || {
        let label = label.get()?;
        Some(view! { {t::observed_label()} <bdi class="text-ink wrap-anywhere">{label}</bdi> })
    };
    view! {
        <p class="text-muted">
            {move || {
                let lock = lock.read();
                acquisition_facts(&lock) + punctuation::comma()
            }}
            <span class=move || nodes_text.read().1.text()>{move || nodes_text.get().0}</span>
            {label} {t::fingerprint()} <span class="font-mono text-xs">{move || format_fingerprint(&lock.read().fingerprint)}</span>
            {lock.with_untracked(|lock| lock.fencing_token).map(t::fencing_token)}
        </p>
    }
}

/// The buttons that extend and release the lock.
#[component]
fn ConsoleLockActions(
    lock: RwSignal<ConsoleLock>,
    is_lost: Memo<bool>,
    on_ended: Callback<ConsoleReleaseResult>,
) -> impl IntoView {
    let id = StoredValue::new(lock.with_untracked(|lock| lock.id.clone()));
    let available = lock.with_untracked(|lock| lock.token_available);
    let extend = ServerAction::<calls::ExtendMine>::new();
    let release = ServerAction::<calls::ReleaseMine>::new();
    let (extended, released) = (extend.value(), release.value());
    let (extending, releasing) = (extend.pending(), release.pending());
    let is_busy = move || extending.get() || releasing.get();
    let disabled_reason =
        Signal::derive(move || is_busy().then(|| operations::querying().to_owned()));
    let extend_disabled_reason = Signal::derive(move || {
        let lost = || is_lost.get().then(|| t::lock_lost().to_owned());
        disabled_reason.get().or_else(lost)
    });
    Effect::new(move || {
        if let Some(Ok(renewed)) = extended.get() {
            lock.set(renewed);
        }
    });
    Effect::new(move || {
        if let Some(response) = released.get().filter(ends_hold) {
            on_ended.run((id.get_value(), response));
        }
    });
    let error = move || {
        let not_extended = extended.get().and_then(Result::err);
        let not_released = released.get().filter(|response| !ends_hold(response));
        let error = not_released.and_then(Result::err).or(not_extended);
        error
            .filter(|_| !is_busy())
            .map(|error| view! { <ErrorNotice error /> })
    };
    let on_extend = move |()| {
        release.clear();
        extend.dispatch(calls::ExtendMine {
            id: id.get_value(),
            ttl_ms: lock.with_untracked(|lock| lock.ttl_ms),
        });
    };
    let on_release = move |()| {
        extend.clear();
        release.dispatch(calls::ReleaseMine { id: id.get_value() });
    };
    view! {
        <div class="flex flex-wrap items-center gap-2">
            <Button disabled_reason=extend_disabled_reason on_press=on_extend>
                {move || t::extend_to(&format::span(lock.read().ttl_ms))}
            </Button>
            <Button disabled_reason on_press=on_release>
                {move || if is_lost.get() { t::release_rest() } else { operations::release() }}
            </Button>
            <CopyToken id=id.get_value() available />
        </div>
        {error}
    }
}

/// Whether the response ends a hold. After any other response a retry makes sense.
fn ends_hold(response: &Result<ReleaseResult, OperationError>) -> bool {
    !matches!(
        response,
        Err(OperationError::NoResponse { .. }
            | OperationError::Internal { .. }
            | OperationError::PartlyReleased { .. }
            | OperationError::NoQuorum { .. })
    )
}

/// Reports that auto-renewal failed, and the consequences.
#[component]
fn RenewalFailedBanner(reason: Reason) -> impl IntoView {
    view! {
        <Banner tone=Tone::Alarm>
            <p class="font-semibold">{t::lost_reason(&reasons::clause(&reason))}</p>
            <p>{t::lost_advice()}</p>
        </Banner>
    }
}

/// Describes the lease, auto-renewal and the number of renewals.
fn acquisition_facts(lock: &ConsoleLock) -> String {
    let lease = Some(t::lease(&format::span(lock.ttl_ms)));
    let renewals = (lock.extensions > 0).then(|| t::renewed(lock.extensions));
    let items = match &lock.renewal_stopped_reason {
        Some(limit) => {
            let limit = reasons::renewal_limit(*limit);
            [lease, renewals, Some(t::renewal_limit_reached(&limit))]
        }
        None if lock.auto_renew => [lease, Some(t::auto_renewed().to_owned()), renewals],
        None => [lease, renewals, None],
    };
    punctuation::list(items.into_iter().flatten())
}
