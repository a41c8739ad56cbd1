//! The form of the dialog that acquires a lock.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos::task::spawn_local_scoped_with_cancellation;

use super::DRAFT;
use super::draft::{AcquireDraft, Groups};
use super::times::UNITS;
use crate::domain::{Fault, Format, Mine};
use crate::ui::components::fault_notice::FaultNotice;
use crate::ui::kit::{
    Button, CheckboxField, Choice, DialogHandle, SelectField, TextField, Variant, draft,
};
use crate::ui::live::Live;
use crate::ui::words::act::{self, acquire as words};
use crate::ui::words::told;

/// The fields of the request that the form shows an error at.
const FIELDS: [&str; 6] = ["group", "key", "ttl_ms", "label", "format", "wait_ms"];

/// The formats that locks are acquired in; whether the group's nodes can is for the server to say.
const FORMATS: [Format; 4] = [
    Format::Plain,
    Format::Redisson,
    Format::RedissonFair,
    Format::LegacyTimestamp,
];

#[component]
pub(super) fn AcquireForm(handle: DialogHandle, on_acquired: Callback<Mine>) -> impl IntoView {
    let live = Live::expect();
    // The choice stays as it was when the dialog opened.
    let groups = Groups::of(live);
    let kept = draft::kept(DRAFT);
    let draft = RwSignal::new(kept.unwrap_or_else(|| AcquireDraft::fresh(live, groups.first)));
    draft::keep_changes(DRAFT.to_owned(), draft);
    let sending = RwSignal::new(false);
    let fault = RwSignal::new(None::<Fault>);
    let why_not = Signal::derive(move || match sending.get() {
        true => Some(act::asking().to_owned()),
        false => draft.with(|draft| draft.why_not(live, &groups.why_none)),
    });
    let form = Owner::current().expect("a component has an owner");
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if why_not.with_untracked(Option::is_some) {
            return;
        }
        let Some(acquiring) = draft.with_untracked(AcquireDraft::acquire) else {
            return;
        };
        sending.set(true);
        fault.set(None);
        let acquiring = async move {
            match acquiring.await {
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
        // Who closes the dialog does not wait any longer, and does not get the lock afterwards: an action would go on.
        form.with(|| spawn_local_scoped_with_cancellation(acquiring));
    };
    let error = move |wanted: &'static str| Signal::derive(move || wrong(&fault.read(), wanted));
    view! {
        <form class="flex flex-col gap-4 p-5" on:submit=submit novalidate=true>
            <h2 id="acquire-title" class="text-lg font-semibold">
                {words::title()}
            </h2>
            <SelectField
                id="acquire-group"
                label=words::group()
                value=slice!(draft.group)
                choices=groups.choices
                error=error("group")
            />
            <TextField
                id="acquire-key"
                label=words::lock()
                hint=words::lock_hint()
                value=slice!(draft.key)
                error=error("key")
                mono=true
                autofocus=true
            />
            <Duration draft error=error("ttl_ms") />
            <CheckboxField id="acquire-keep" label=words::keep() hint=words::keep_hint() value=slice!(draft.auto_renew) />
            <FormatAndWait draft format_error=error("format") wait_error=error("wait_ms") />
            <TextField
                id="acquire-label"
                label=words::label()
                hint=words::label_hint()
                value=slice!(draft.label)
                error=error("label")
            />
            {move || elsewhere(fault.get()).map(|fault| view! { <FaultNotice fault /> })}
            <div class="flex justify-end gap-2">
                <Button on_press=move |()| handle.close()>{act::cancel()}</Button>
                <Button variant=Variant::Primary submits=true why_not>
                    {move || if sending.get() { act::asking_nodes() } else { words::acquire() }}
                </Button>
            </div>
        </form>
    }
}

/// For how long.
#[component]
fn Duration(draft: RwSignal<AcquireDraft>, error: Signal<Option<String>>) -> impl IntoView {
    let units = UNITS.map(|(short, long, _)| choice(short, long()));
    view! {
        <div class="grid grid-cols-2 gap-3">
            <TextField id="acquire-ttl" label=words::how_long() value=slice!(draft.amount) error decimal=true />
            <SelectField id="acquire-unit" label=words::unit() value=slice!(draft.unit) choices=units.to_vec() />
        </div>
    }
}

/// In which library's layout, and how long to wait for it.
#[component]
fn FormatAndWait(
    draft: RwSignal<AcquireDraft>,
    format_error: Signal<Option<String>>,
    wait_error: Signal<Option<String>>,
) -> impl IntoView {
    let formats = FORMATS.map(|format| choice(format.slug(), format.slug()));
    view! {
        <div class="grid grid-cols-2 gap-3">
            <SelectField
                id="acquire-format"
                label=words::format()
                value=slice!(draft.format)
                choices=formats.to_vec()
                error=format_error
            />
            <TextField id="acquire-wait" label=words::wait() value=slice!(draft.wait) error=wait_error decimal=true />
        </div>
    }
}

fn choice(value: &str, label: &str) -> Choice {
    Choice {
        value: value.to_owned(),
        label: label.to_owned(),
        why_not: None,
    }
}

/// What is wrong with this field.
fn wrong(fault: &Option<Fault>, wanted: &str) -> Option<String> {
    match fault {
        Some(Fault::Impossible { field, detail, .. }) if field == wanted => {
            Some(told::said(detail))
        }
        Some(_) | None => None,
    }
}

/// A fault that is not about one of the fields: it stands above the buttons.
fn elsewhere(fault: Option<Fault>) -> Option<Fault> {
    let is_of_a_field = |fault: &Fault| matches!(fault, Fault::Impossible { field, .. } if FIELDS.contains(&field.as_str()));
    fault.filter(|fault| !is_of_a_field(fault))
}
