//! The part of the dialog before the act: the facts, the reason, and the confirmation.

use leptos::either::Either;
use leptos::ev::SubmitEvent;
use leptos::prelude::*;

use super::super::fault_notice::FaultNotice;
use super::super::lock_name::LockName;
use super::Act;
use super::confirmation::Confirmation;
use super::confirmation_field::ConfirmationField;
use super::doubt::Doubt;
use super::draft::ReleaseDraft;
use super::owner_choice::OwnerChoice;
use super::reach::Reach;
use super::target::Target;
use super::target_changed::{TargetChanged, TargetFacts};
use crate::domain::{Fault, Fingerprint, GroupView, Lock, LockKey};
use crate::ui::calls;
use crate::ui::kit::{Banner, Button, DialogHandle, TextField, Tone, Variant};
use crate::ui::live::Live;
use crate::ui::words::act as words;

/// Asks for a reason and a confirmation, and releases the lock while its owner is still the one that was seen.
#[component]
pub fn ReleaseForm(
    /// The lock as it was when the dialog opened.
    seen: Lock,
    /// Its group.
    group: Signal<Option<GroupView>>,
    /// Closes the dialog.
    handle: DialogHandle,
    /// Set when it was done.
    act: RwSignal<Option<Act>>,
) -> impl IntoView {
    let Some(first) = seen.owners.first().map(|owner| owner.fingerprint.clone()) else {
        // Beside the form: a lock that nobody holds has nothing to be released.
        return Either::Left(view! { <FaultNotice fault=Fault::NotHeld { nodes: Vec::new() } /> });
    };
    let live = Live::expect();
    let (draft, told) = ReleaseDraft::restore(&seen, first);
    let draft = RwSignal::new(draft);
    ReleaseDraft::keep_changes(draft, &seen.id);
    let target = Target::follow(live, &seen, draft);
    let (key, format) = (seen.id.key.clone(), seen.format);
    let confirmation = Memo::new(move |_| {
        let environment = group.with(|group| group.as_ref().map(|group| group.environment));
        let is_asked_for = format.asks_to_confirm(environment);
        is_asked_for.then(|| target.owner.with(|owner| Confirmation::of(&key, owner)))
    });
    let release = ServerAction::<calls::ForceRelease>::new();
    let (is_sending, end) = (release.pending(), release.value());
    let why_not = Signal::derive(move || {
        let asking = is_sending.get().then(|| words::asking().to_owned());
        asking.or_else(|| target.obstacle(live)).or_else(|| {
            confirmation.with(|wanted| draft.with(|draft| missing(draft, wanted.as_ref())))
        })
    });
    let asked_for = StoredValue::new(None::<(Lock, Fingerprint)>);
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if why_not.with_untracked(Option::is_some) {
            return;
        }
        let (lock, draft) = (target.current.get_untracked(), draft.get_untracked());
        asked_for.set_value(Some((lock.clone(), draft.owner.clone())));
        let is_confirmed = confirmation.with_untracked(Option::is_some);
        release.dispatch(draft.request(lock, is_confirmed));
    };
    Effect::new(move || {
        let (Some(answer), Some((lock, owner))) = (end.get(), asked_for.get_value()) else {
            return;
        };
        if let Some(done) = Act::of(lock, owner, answer, live.now.get_untracked()) {
            ReleaseDraft::forget(&done.lock.id);
            act.set(Some(done));
        }
    });
    let reach = Memo::new(move |_| target.reach());
    let fault = move || match (is_sending.get(), end.get()) {
        (false, Some(Err(fault))) => Some(view! { <FaultNotice fault /> }),
        _ => None,
    };
    Either::Right(view! {
        <form class="flex flex-col gap-4" on:submit=submit novalidate=true>
            <Heading key=seen.id.key.clone() group reach />
            <OwnerChoice owners=seen.owners chosen=slice!(draft.owner) />
            {(!told.is_empty()).then(|| view! { <p role="status" class="text-muted">{told}</p> })}
            <TargetFacts target />
            <Doubt reach />
            <Banner tone=Tone::Warn announced=false>
                {words::does_not_stop()}
            </Banner>
            <TextField
                id="release-reason"
                label=words::reason()
                hint=words::reason_hint()
                value=slice!(draft.reason)
                required=true
            />
            <ConfirmationField confirmation key=seen.id.key typed=slice!(draft.typed) />
            <TargetChanged target />
            {fault}
            <div class="flex justify-end gap-2">
                <Button autofocus=true on_press=move |()| handle.close()>
                    {words::cancel()}
                </Button>
                <Button variant=Variant::Danger submits=true why_not>
                    {move || if is_sending.get() { words::asking_nodes() } else { words::release() }}
                </Button>
            </div>
        </form>
    })
}

/// Which lock, and on which of the group's nodes it is released.
#[component]
fn Heading(key: LockKey, group: Signal<Option<GroupView>>, reach: Memo<Reach>) -> impl IntoView {
    let whereabouts = move || {
        group.with(|group| match group {
            Some(group) => reach.with(|reach| reach.whereabouts(group)),
            None => words::unknown_group().to_owned(),
        })
    };
    view! {
        <h2 id="release-title" class="text-lg font-semibold wrap-anywhere">
            {words::release_of()} <LockName key most=120 /> {whereabouts}
        </h2>
    }
}

/// What has to be typed before it can be sent.
fn missing(draft: &ReleaseDraft, confirmation: Option<&Confirmation>) -> Option<String> {
    if draft.reason.trim().is_empty() {
        return Some(words::reason_first().to_owned());
    }
    confirmation
        .filter(|wanted| !wanted.is_met(&draft.typed))
        .map(|wanted| words::first(wanted.label))
}
