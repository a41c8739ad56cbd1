//! The part of the dialog before the act: the facts, the reason, and the confirmation.

use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::super::fault_notice::FaultNotice;
use super::super::lock_name::LockName;
use super::super::owner_name::OwnerName;
use super::Act;
use super::confirmation::Confirmation;
use super::draft::Draft;
use super::facts::ReleaseFacts;
use super::reach::Reach;
use super::standing::{Standing, confirmed};
use crate::domain::{Environment, Fault, GroupView, Lock, Released};
use crate::ui::kit::{
    Banner, Button, CopyButton, DialogHandle, Field, Tone, Variant, field::CONTROL,
};
use crate::ui::live::Live;
use crate::ui::reactive::memo;
use crate::ui::words::act as words;
use crate::ui::{calls, format};

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
    let live = Live::expect();
    let (id, since) = (seen.id.clone(), seen.acquired_at);
    let is_harmful = seen.format.harm().is_some();
    let owners = seen.owners.clone();
    let Some(first) = owners.first().map(|owner| owner.fingerprint.clone()) else {
        return view! { <FaultNotice fault=Fault::NotHeld { nodes: Vec::new() } /> }.into_any();
    };
    let draft = Draft::kept(&id);
    // Another hold is not the one that somebody had made up their mind about.
    let is_same = |draft: &Draft| {
        draft.since == since && owners.iter().any(|owner| owner.fingerprint == draft.owner)
    };
    let (chosen, before, typed_before, told) = match draft {
        Some(draft) if is_same(&draft) => (draft.owner, draft.reason, draft.typed, words::kept()),
        Some(draft) => (
            first,
            draft.reason,
            String::new(),
            words::kept_for_another(),
        ),
        None => (first, String::new(), String::new(), ""),
    };
    let fingerprint = RwSignal::new(chosen);
    let reason = RwSignal::new(before);
    let typed = RwSignal::new(typed_before);
    let keep = {
        let id = id.clone();
        move || {
            let draft = Draft {
                owner: fingerprint.get_untracked(),
                since,
                reason: reason.get_untracked(),
                typed: typed.get_untracked(),
            };
            draft.keep(&id);
        }
    };
    let keep_too = keep.clone();
    let sending = RwSignal::new(false);
    let fault = RwSignal::new(None::<Fault>);

    let current = {
        let (id, seen) = (id.clone(), seen.clone());
        memo(move |before: Option<&Lock>| {
            live.lock(&id)
                .unwrap_or_else(|| before.unwrap_or(&seen).clone())
        })
    };
    let confirmed = {
        let (id, seen) = (id.clone(), seen.clone());
        memo(move |before: Option<&Lock>| {
            let now = live.lock(&id);
            let before = before.unwrap_or(&seen);
            fingerprint.with(|owner| confirmed((owner, since), now.as_ref(), before).clone())
        })
    };
    let standing = {
        let id = id.clone();
        memo(move |before: Option<&Standing>| {
            let (lock, gone) = (live.lock(&id), live.ending(&id));
            fingerprint.with(|seen| {
                Standing::now(
                    (seen, since),
                    lock.as_ref(),
                    gone,
                    live.now.get_untracked(),
                    before,
                )
            })
        })
    };
    let is_asked_for = memo(move |_| {
        let environment = group.with(|group| group.as_ref().map(|group| group.environment));
        is_harmful || environment == Some(Environment::Production)
    });
    let confirmation = {
        let key = id.key.clone();
        memo(move |_| {
            is_asked_for
                .get()
                .then(|| fingerprint.with(|fingerprint| Confirmation::of(&key, fingerprint)))
        })
    };
    let obstacle = move || standing.read().why_not(live.now.get());
    let why_not = Signal::derive(move || {
        let confirmed = confirmation.with(|wanted| {
            wanted
                .as_ref()
                .is_none_or(|wanted| typed.with(|typed| wanted.is_met(typed)))
        });
        if sending.get() {
            Some(words::asking().to_owned())
        } else if let Some(why) = obstacle() {
            Some(why)
        } else if reason.with(|reason| reason.trim().is_empty()) {
            Some(words::reason_first().to_owned())
        } else if !confirmed {
            confirmation.get().map(|wanted| words::first(wanted.label))
        } else {
            None
        }
    });
    let submit = {
        let (id, seen) = (id.clone(), seen.clone());
        move |event: ev::SubmitEvent| {
            event.prevent_default();
            if why_not.with_untracked(Option::is_some) {
                return;
            }
            let (id, lock) = (
                id.clone(),
                current.try_get_untracked().unwrap_or_else(|| seen.clone()),
            );
            let wanted = fingerprint.get_untracked();
            let hold = lock.seen_hold(&wanted, since);
            let confirm = is_asked_for
                .get_untracked()
                .then(|| id.key.text().into_owned());
            sending.set(true);
            fault.set(None);
            spawn_local(async move {
                let reason = reason.get_untracked();
                match calls::force_release(id, wanted.clone(), hold, reason, confirm).await {
                    Ok(released) => {
                        Draft::forget(&lock.id);
                        act.set(Some(Act {
                            lock,
                            fingerprint: wanted,
                            released,
                            shortfall: None,
                        }));
                    }
                    Err(Fault::PartlyReleased {
                        released,
                        remaining,
                        quorum,
                        nodes,
                    }) => {
                        Draft::forget(&lock.id);
                        let shortfall = Fault::PartlyReleased {
                            released,
                            remaining,
                            quorum,
                            nodes: nodes.clone(),
                        };
                        act.set(Some(Act {
                            lock,
                            fingerprint: wanted,
                            released: Released {
                                nodes,
                                at: live.now.get_untracked(),
                                holds: None,
                                seen_after: None,
                            },
                            shortfall: Some(shortfall),
                        }));
                    }
                    Err(refused) => {
                        sending.set(false);
                        fault.set(Some(refused));
                    }
                }
            });
        }
    };
    let reach =
        memo(move |_| confirmed.with(|lock| fingerprint.with(|owner| Reach::of(lock, owner))));
    let whereabouts = move || {
        group.with(|group| match group {
            Some(group) => reach.with(|reach| reach.whereabouts(group)),
            None => words::unknown_group().to_owned(),
        })
    };
    let doubt = move || {
        let (away, keeps_a_quorum) = reach.with(Reach::doubt)?;
        let tone = if keeps_a_quorum {
            Tone::Alarm
        } else {
            Tone::Warn
        };
        Some(
            view! {
                <Banner tone announced=false>
                    <p>{away}</p>
                    {keeps_a_quorum.then(|| view! { <p>{words::keeps_a_quorum()}</p> }.into_any())}
                </Banner>
            }
            .into_any(),
        )
    };
    // What was seen stands still once it is another's, and the next owner stands beside it.
    let next = memo(move |_| match &*standing.read() {
        Standing::Changed { to, .. } => Some(to.fingerprint.clone()),
        Standing::AsSeen | Standing::Again | Standing::Gone(_) => None,
    });
    let is_past = memo(move |_| *standing.read() != Standing::AsSeen);
    let beside = move || {
        let next = next.get()?;
        Some(
            view! {
                <section aria-label=words::now() class="flex flex-col gap-1.5 border-s border-line ps-4">
                    <h3 class="font-medium">{words::now()}</h3>
                    <ReleaseFacts lock=current fingerprint=Signal::stored(next) is_past=Signal::stored(false) />
                </section>
            }
            .into_any(),
        )
    };
    let copyable = format::visible(&id.key.text()) == id.key.text() && !id.key.text().is_empty();
    view! {
        <form class="flex flex-col gap-4" on:submit=submit novalidate=true>
            <h2 id="release-title" class="text-lg font-semibold wrap-anywhere">
                {words::release_of()} <LockName key=id.key.clone() most=120 /> {move || whereabouts()}
            </h2>
            {(owners.len() > 1)
                .then(|| {
                    let owners = owners.clone();
                    view! {
                        <fieldset class="flex flex-col gap-1">
                            <legend class="mb-1 font-medium">{words::whose()}</legend>
                            {owners
                                .into_iter()
                                .map(|owner| {
                                    let choice = owner.fingerprint.clone();
                                    let is_chosen = fingerprint.with_untracked(|chosen| *chosen == choice);
                                    view! {
                                        <label class="flex items-center gap-2">
                                            <input
                                                type="radio"
                                                name="owner"
                                                checked=is_chosen
                                                on:change=move |_| fingerprint.set(choice.clone())
                                            />
                                            <OwnerName owner />
                                        </label>
                                    }.into_any()
                                })
                                .collect_view()}
                        </fieldset>
                    }.into_any()
                })}
            {(!told.is_empty()).then(|| view! { <p role="status" class="text-muted">{told}</p> }.into_any())}
            <div class=move || if next.with(Option::is_some) { "grid gap-4 sm:grid-cols-2" } else { "grid gap-4" }>
                <section class="flex flex-col gap-1.5" aria-label=words::what_you_saw()>
                    {move || next.with(Option::is_some).then(|| view! { <h3 class="font-medium text-muted">{words::what_you_saw()}</h3> }.into_any())}
                    <ReleaseFacts lock=confirmed fingerprint is_past />
                </section>
                {move || beside()}
            </div>
            {move || doubt()}
            <Banner tone=Tone::Warn announced=false>
                {words::does_not_stop()}
            </Banner>
            <Field id="release-reason" label=words::reason() hint=words::reason_hint()>
                <input
                    id="release-reason"
                    class=CONTROL
                    autocomplete="off"
                    aria-describedby="release-reason-hint"
                    aria-required="true"
                    prop:value=move || reason.get()
                    on:input=move |event| {
                        reason.set(event_target_value(&event));
                        keep();
                    }
                />
            </Field>
            {move || {
                let keep = keep_too.clone();
                confirmation
                    .get()
                    .map(|wanted| {
                        let name = wanted.expected.clone();
                        view! {
                            <Field id="release-confirm" label=wanted.label hint=wanted.hint>
                                <input
                                    id="release-confirm"
                                    class=format!("{CONTROL} font-mono")
                                    autocomplete="off"
                                    spellcheck="false"
                                    placeholder=format::shorten(&wanted.expected, 48)
                                    aria-describedby="release-confirm-hint"
                                    aria-required="true"
                                    prop:value=move || typed.get()
                                    on:input=move |event| {
                                        typed.set(event_target_value(&event));
                                        keep();
                                    }
                                />
                            </Field>
                            {(copyable && wanted.hint.is_empty() && (name.chars().count() > 40 || !name.is_ascii()))
                                .then(|| view! { <CopyButton text=name label=words::copy_name() /> }.into_any())}
                        }.into_any()
                    })
            }}
            <div class="dialog-told">
                {move || {
                    obstacle().map(|why| {
                            view! {
                                <Banner tone=Tone::Alarm announced=false>
                                    <p class="font-semibold">{why}</p>
                                    <p>{words::nothing_done()}</p>
                                </Banner>
                            }.into_any()
                        })
                }}
                <span class="sr-only" role="alert">
                    {move || match *standing.read() {
                        Standing::AsSeen => String::new(),
                        Standing::Changed { .. } => words::owner_changed().to_owned(),
                        Standing::Again => words::acquired_again().to_owned(),
                        Standing::Gone(_) => words::not_observed().to_owned(),
                    }}
                </span>
            </div>
            {move || fault.get().map(|fault| view! { <FaultNotice fault /> }.into_any())}
            <div class="flex justify-end gap-2">
                <Button autofocus=true on_press=move |()| handle.close()>
                    {words::cancel()}
                </Button>
                <Button variant=Variant::Danger submits=true why_not>
                    {move || if sending.get() { words::asking_nodes() } else { words::release() }}
                </Button>
            </div>
        </form>
    }
    .into_any()
}
