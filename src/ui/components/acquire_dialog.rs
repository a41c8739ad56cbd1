//! Acquiring a lock by hand: which group, which name, for how long.

mod times;

use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local_scoped_with_cancellation;

use self::times::{UNITS, in_ms, wait_ms};
use super::fault_notice::FaultNotice;
use crate::domain::{Environment, Fault, Format, LockId, LockKey, Mine, Place, Verb};
use crate::ui::kit::{Button, Dialog, DialogHandle, Field, Variant, draft, field::CONTROL};
use crate::ui::later::{later, part};
use crate::ui::live::Live;
use crate::ui::reactive::effect_since;
use crate::ui::words::act::{self, acquire as words};
use crate::ui::words::{told, verdicts};
use crate::ui::{calls, wire};

/// The dialog that acquires a lock.
#[component]
pub fn AcquireDialog(
    /// Whether it is open.
    open: RwSignal<bool>,
    /// Called with what was acquired.
    #[prop(into)]
    on_acquired: Callback<Mine>,
) -> impl IntoView {
    let content = Callback::new(move |handle: DialogHandle| {
        later(move || Box::pin(form(handle, on_acquired)))
    });
    // As with a release: who was signed out in the middle goes on where they were.
    effect_since(move |was_open: Option<bool>| {
        let is_open = open.get();
        match was_open {
            None if draft::kept(DRAFT).is_some() => open.set(true),
            Some(true) if !is_open => draft::forget(DRAFT),
            None | Some(_) => {}
        }
        is_open
    });
    view! { <Dialog open labelled_by="acquire-title" children=content /> }
}

/// Under which name it is kept what was filled in.
const DRAFT: &str = "lockkeeper-acquire";

/// What was filled in: group, lock, amount, unit, label, format, wait, and whether it is kept.
type Filled = (String, String, String, String, String, String, String, bool);

part! { dialogs: fn form(handle: DialogHandle, on_acquired: Callback<Mine>) -> view! { <AcquireForm handle on_acquired /> } }

#[component]
fn AcquireForm(handle: DialogHandle, on_acquired: Callback<Mine>) -> impl IntoView {
    let live = Live::expect();
    // The choice stays as it was when the dialog opened.
    let groups = untrack(|| {
        live.with_groups(|groups| {
            groups
                .iter()
                .map(|group| {
                    let place = Place::group(&group.name).read_only(group.read_only);
                    let refused = live.why_not(Verb::Acquire, place);
                    (group.name.clone(), group.environment, refused)
                })
                .collect::<Vec<_>>()
        })
    });
    // What is only being tried does not begin in production.
    let allowed = groups.iter().filter(|(_, _, refused)| refused.is_none());
    let first = allowed
        .min_by_key(|(_, environment, _)| *environment == Environment::Production)
        .map(|(name, _, _)| name.clone())
        .unwrap_or_default();
    // Of several groups the first one's reason: mostly it is the same.
    let none = groups
        .iter()
        .find_map(|(_, _, refused)| refused.clone())
        .unwrap_or_else(|| words::no_group().to_owned());
    let fresh = || {
        let (group, key) = (first.clone(), suggestion(live, &first));
        let (amount, unit) = ("30".to_owned(), "s".to_owned());
        let (label, wait) = (String::new(), "0".to_owned());
        let format = Format::Plain.slug().to_owned();
        (group, key, amount, unit, label, format, wait, false)
    };
    let kept = draft::kept(DRAFT).and_then(|text| wire::read::<Filled>(&text).ok());
    let filled = kept.unwrap_or_else(fresh);
    let first = filled.0.clone();
    let group = RwSignal::new(filled.0);
    let key = RwSignal::new(filled.1);
    let amount = RwSignal::new(filled.2);
    let first_unit = filled.3.clone();
    let unit = RwSignal::new(filled.3);
    let label = RwSignal::new(filled.4);
    let first_format = filled.5.parse().unwrap_or(Format::Plain);
    let format = RwSignal::new(first_format);
    let wait = RwSignal::new(filled.6);
    let keeps = RwSignal::new(filled.7);
    effect_since(move |before: Option<Filled>| {
        let slug = format.get().slug().to_owned();
        let (group, key, amount, unit) = (group.get(), key.get(), amount.get(), unit.get());
        let filled = (
            group,
            key,
            amount,
            unit,
            label.get(),
            slug,
            wait.get(),
            keeps.get(),
        );
        if before.is_some_and(|before| before != filled)
            && let Ok(text) = serde_json::to_string(&filled)
        {
            draft::keep(DRAFT, &text);
        }
        filled
    });
    let sending = RwSignal::new(false);
    let fault = RwSignal::new(None::<Fault>);

    let form = Owner::current().expect("a component has an owner");
    let ttl_ms = move || in_ms(&amount.get(), &unit.get());
    let wrong = move |wanted: &'static str| {
        fault.with(|fault| match fault {
            Some(Fault::Impossible { field, detail, .. }) if field == wanted => {
                Some(told::said(detail))
            }
            _ => None,
        })
    };
    // A fault about one of the fields stands beside that field; every other one above the buttons.
    let other = move || {
        fault.get().filter(|fault| !matches!(fault, Fault::Impossible { field, .. } if FIELDS.contains(&field.as_str())))
    };
    let why_not = Signal::derive(move || {
        if sending.get() {
            Some(act::asking().to_owned())
        } else if group.with(String::is_empty) {
            Some(none.clone())
        } else if ttl_ms().is_none() {
            Some(words::how_long_first().to_owned())
        } else if wait_ms(&wait.read()).is_none() {
            Some(words::wait_first().to_owned())
        } else {
            let id = LockId {
                group: group.get(),
                key: LockKey::from(key.read().as_str()),
            };
            live.why_not(Verb::Acquire, Place::lock(&id))
        }
    });
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        let Some(ttl_ms) = ttl_ms().filter(|_| why_not.with_untracked(Option::is_none)) else {
            return;
        };
        sending.set(true);
        fault.set(None);
        let acquiring = async move {
            let name = key.with_untracked(|key| LockKey::from(key.as_str()));
            let label = label.get_untracked();
            let label = Some(label.trim().to_owned()).filter(|label| !label.is_empty());
            let (group, format) = (group.get_untracked(), format.get_untracked());
            let wait_ms = wait_ms(&wait.read_untracked()).unwrap_or(0);
            let keeps = keeps.get_untracked();
            match calls::acquire(group, name, format, ttl_ms, wait_ms, label, keeps).await {
                Ok(mine) => {
                    on_acquired.run(mine);
                    handle.close();
                }
                Err(refused) => {
                    sending.set(false);
                    fault.set(Some(refused));
                }
            }
        };
        // Who closes the dialog does not wait any longer, and does not get the lock afterwards.
        form.with(|| spawn_local_scoped_with_cancellation(acquiring));
    };
    view! {
        <form class="flex flex-col gap-4 p-5" on:submit=submit novalidate=true>
            <h2 id="acquire-title" class="text-lg font-semibold">
                {words::title()}
            </h2>
            <Field id="acquire-group" label=words::group() error=Signal::derive(move || wrong("group"))>
                <select
                    id="acquire-group"
                    class=CONTROL
                    aria-describedby="acquire-group-hint"
                    on:change=move |event| group.set(event_target_value(&event))
                >
                    {groups
                        .into_iter()
                        .map(|(name, environment, refused)| {
                            let is_out = refused.is_some();
                            let called = verdicts::environment(environment);
                            let (is_first, words) = (name == first, format!("{name} · {called}"));
                            view! {
                                <option value=name disabled=is_out title=refused selected=is_first>
                                    {words}
                                </option>
                            }.into_any()
                        })
                        .collect_view()}
                </select>
            </Field>
            <Field
                id="acquire-key"
                label=words::lock()
                hint=words::lock_hint()
                error=Signal::derive(move || wrong("key"))
            >
                <input
                    id="acquire-key"
                    class=format!("{CONTROL} font-mono")
                    autofocus=true
                    autocomplete="off"
                    spellcheck="false"
                    aria-describedby="acquire-key-hint"
                    aria-invalid=move || wrong("key").map(|_| "true")
                    prop:value=move || key.get()
                    on:input=move |event| key.set(event_target_value(&event))
                />
            </Field>
            <div class="grid grid-cols-2 gap-3">
                <Field id="acquire-ttl" label=words::how_long() error=Signal::derive(move || wrong("ttl_ms"))>
                    <input
                        id="acquire-ttl"
                        class=CONTROL
                        inputmode="decimal"
                        autocomplete="off"
                        aria-describedby="acquire-ttl-hint"
                        aria-invalid=move || wrong("ttl_ms").map(|_| "true")
                        prop:value=move || amount.get()
                        on:input=move |event| amount.set(event_target_value(&event))
                    />
                </Field>
                <Field id="acquire-unit" label=words::unit()>
                    <select
                        id="acquire-unit"
                        class=CONTROL
                        aria-describedby="acquire-unit-hint"
                        on:change=move |event| unit.set(event_target_value(&event))
                    >
                        {UNITS
                            .map(|(short, long, _)| view! { <option value=short selected=short == first_unit>{long()}</option> }.into_any())
                            .collect_view()}
                    </select>
                </Field>
            </div>
            <div class="flex gap-2">
                <input
                    id="acquire-keep"
                    type="checkbox"
                    class="mt-1 size-4 shrink-0 accent-accent"
                    aria-describedby="acquire-keep-hint"
                    checked=keeps.get_untracked()
                    on:change=move |event| keeps.set(event_target_checked(&event))
                />
                <div>
                    <label for="acquire-keep" class="font-medium">
                        {words::keep()}
                    </label>
                    <p id="acquire-keep-hint" class="text-xs text-muted">
                        {words::keep_hint()}
                    </p>
                </div>
            </div>
            <div class="grid grid-cols-2 gap-3">
                <Field id="acquire-format" label=words::format() error=Signal::derive(move || wrong("format"))>
                    <select
                        id="acquire-format"
                        class=CONTROL
                        aria-describedby="acquire-format-hint"
                        on:change=move |event| format.set(event_target_value(&event).parse().unwrap_or(Format::Plain))
                    >
                        {FORMATS
                            .map(|format| view! { <option value=format.slug() selected=format == first_format>{format.slug()}</option> }.into_any())
                            .collect_view()}
                    </select>
                </Field>
                <Field id="acquire-wait" label=words::wait() error=Signal::derive(move || wrong("wait_ms"))>
                    <input
                        id="acquire-wait"
                        class=CONTROL
                        inputmode="decimal"
                        autocomplete="off"
                        aria-describedby="acquire-wait-hint"
                        aria-invalid=move || wrong("wait_ms").map(|_| "true")
                        prop:value=move || wait.get()
                        on:input=move |event| wait.set(event_target_value(&event))
                    />
                </Field>
            </div>
            <Field
                id="acquire-label"
                label=words::label()
                hint=words::label_hint()
                error=Signal::derive(move || wrong("label"))
            >
                <input
                    id="acquire-label"
                    class=CONTROL
                    autocomplete="off"
                    aria-describedby="acquire-label-hint"
                    aria-invalid=move || wrong("label").map(|_| "true")
                    prop:value=move || label.get()
                    on:input=move |event| label.set(event_target_value(&event))
                />
            </Field>
            {move || other().map(|fault| view! { <FaultNotice fault /> }.into_any())}
            <div class="flex justify-end gap-2">
                <Button on_press=move |()| handle.close()>{act::cancel()}</Button>
                <Button variant=Variant::Primary submits=true why_not>
                    {move || if sending.get() { act::asking_nodes() } else { words::acquire() }}
                </Button>
            </div>
        </form>
    }
}

const FIELDS: [&str; 6] = ["group", "key", "ttl_ms", "label", "format", "wait_ms"];

/// The formats that locks are acquired in; whether the group's nodes can is for the server to say.
const FORMATS: [Format; 4] = [
    Format::Plain,
    Format::Redisson,
    Format::RedissonFair,
    Format::LegacyTimestamp,
];

/// A name that the group's own patterns will find, so that a test lock shows up in the table.
fn suggestion(live: Live, group: &str) -> String {
    let patterns = untrack(|| live.group(group))
        .map(|group| group.coverage.patterns)
        .unwrap_or_default();
    let prefix = patterns.iter().find_map(|pattern| {
        let prefix = pattern.strip_suffix('*')?;
        (!prefix.is_empty() && !prefix.contains(['*', '?', '[', '\\'])).then(|| prefix.to_owned())
    });
    format!("{}test", prefix.unwrap_or_else(|| "lock:".to_owned()))
}
