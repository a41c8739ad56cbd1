//! The first part of the dialog: facts, reason and confirmation.

use leptos::either::Either;
use leptos::ev::SubmitEvent;
use leptos::prelude::*;

use super::super::advice::AdviceSource;
use super::super::error_notice::ErrorNotice;
use super::super::lock_name::LockName;
use super::ReleaseOutcome;
use super::cancel_choice::CancelChoice;
use super::confirmation::Confirmation;
use super::confirmation_field::ConfirmationField;
use super::draft::ReleaseDraft;
use super::lease_choice::LeaseChoice;
use super::node_coverage::NodeCoverage;
use super::owner_choice::OwnerChoice;
use super::target::TrackedHold;
use super::target_view::{TargetAdvice, TargetChangedBanner, TargetFacts};
use super::unreachable_notice::UnreachableNodesNotice;
use crate::domain::{Fingerprint, GroupView, Lock, LockKey, OperationError};
use crate::ui::calls;
use crate::ui::i18n::operations as t;
use crate::ui::kit::{Banner, Button, DialogHandle, TextField, Tone, Variant};
use crate::ui::live::Live;

/// Requires a reason and a confirmation, and releases the lock if its owner is still the displayed
/// one.
#[component]
pub fn ReleaseForm(
    /// The lock when the dialog was opened.
    displayed: Lock,
    /// The lock's group.
    group: Signal<Option<GroupView>>,
    /// The facts of the advice that are not part of the lock.
    advice: AdviceSource,
    /// The dialog's handle.
    handle: DialogHandle,
    /// Set after the release.
    outcome: RwSignal<Option<ReleaseOutcome>>,
) -> impl IntoView {
    let Some(first) = displayed.owners.first().map(|owner| owner.fingerprint) else {
        // A lock without an owner has no hold to release.
        return Either::Left(
            view! { <ErrorNotice error=OperationError::NotHeld { nodes: Vec::new() } /> },
        );
    };
    let live = Live::expect();
    let (draft, restored_notice) = ReleaseDraft::restore(&displayed, first);
    let draft = RwSignal::new(draft);
    ReleaseDraft::save_changes(draft, &displayed.id);
    let target = TrackedHold::new(live, &displayed, draft);
    let (key, format) = (displayed.id.key.clone(), displayed.format);
    let confirmation = Memo::new(move |_| {
        let environment = group.with(|group| group.as_ref().map(|group| group.environment));
        let is_required = format.requires_confirmation(environment);
        is_required.then(|| target.owner.with(|owner| Confirmation::of(&key, owner)))
    });
    let release = ServerAction::<calls::ForceRelease>::new();
    let (is_sending, response) = (release.pending(), release.value());
    let disabled_reason = Signal::derive(move || {
        let pending = is_sending.get().then(|| t::querying().to_owned());
        pending.or_else(|| target.blocked_reason(live)).or_else(|| {
            confirmation.with(|confirmation| {
                draft.with(|draft| missing_input(draft, confirmation.as_ref()))
            })
        })
    });
    let requested = StoredValue::new(None::<(Lock, Fingerprint)>);
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if disabled_reason.with_untracked(Option::is_some) {
            return;
        }
        let (lock, draft) = (target.current.get_untracked(), draft.get_untracked());
        requested.set_value(Some((lock.clone(), draft.owner)));
        let is_confirmed = confirmation.with_untracked(Option::is_some);
        release.dispatch(draft.request(lock, is_confirmed));
    };
    Effect::new(move || {
        let (Some(result), Some((lock, owner))) = (response.get(), requested.get_value()) else {
            return;
        };
        if let Some(result) = ReleaseOutcome::of(lock, owner, result, live.now.get_untracked()) {
            ReleaseDraft::delete(&result.lock.id);
            outcome.set(Some(result));
        }
    });
    let coverage = Memo::new(move |_| target.node_coverage());
    let error = move || match (is_sending.get(), response.get()) {
        (false, Some(Err(error))) => Some(view! { <ErrorNotice error /> }),
        _ => None,
    };
    Either::Right(view! {
        <form class="flex flex-col gap-4" on:submit=submit novalidate=true>
            <ReleaseHeading key=displayed.id.key.clone() group coverage />
            <OwnerChoice owners=displayed.owners chosen=slice!(draft.owner) />
            {(!restored_notice.is_empty()).then(|| view! { <p role="status" class="text-muted">{restored_notice}</p> })}
            <TargetAdvice target source=advice />
            <TargetFacts target />
            <UnreachableNodesNotice coverage />
            <LeaseChoice id=displayed.id.clone() group chosen=slice!(draft.revoke_lease) />
            <CancelChoice target source=advice chosen=slice!(draft.cancel_statement) />
            <Banner tone=Tone::Warn announced=false>
                {t::process_keeps_running()}
            </Banner>
            <TextField
                id="release-reason"
                label=t::reason()
                hint=t::reason_hint()
                value=slice!(draft.reason)
                required=true
            />
            <ConfirmationField confirmation key=displayed.id.key typed=slice!(draft.typed) />
            <TargetChangedBanner target />
            {error}
            <div class="flex justify-end gap-2">
                <Button autofocus=true on_press=move |()| handle.close()>
                    {t::cancel()}
                </Button>
                <Button variant=Variant::Danger submits=true disabled_reason>
                    {move || if is_sending.get() { t::querying_nodes() } else { t::release() }}
                </Button>
            </div>
        </form>
    })
}

/// The lock's name, and the nodes on which it would be released.
#[component]
fn ReleaseHeading(
    key: LockKey,
    group: Signal<Option<GroupView>>,
    coverage: Memo<NodeCoverage>,
) -> impl IntoView {
    let location = move || {
        group.with(|group| match group {
            Some(group) => coverage.with(|coverage| coverage.location_suffix(group)),
            None => t::unknown_group().to_owned(),
        })
    };
    view! {
        <h2 id="release-title" class="text-lg font-semibold wrap-anywhere">
            {t::release_of()} <LockName key max_chars=120 /> {location}
        </h2>
    }
}

/// Returns which input is missing.
fn missing_input(draft: &ReleaseDraft, confirmation: Option<&Confirmation>) -> Option<String> {
    if draft.reason.trim().is_empty() {
        return Some(t::reason_required().to_owned());
    }
    confirmation
        .filter(|confirmation| !confirmation.is_met(&draft.typed))
        .map(|confirmation| t::do_first(confirmation.label))
}
