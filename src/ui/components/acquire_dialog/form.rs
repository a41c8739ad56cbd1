//! The form of the dialog that acquires a lock.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos::task::spawn_local_scoped_with_cancellation;

use super::DRAFT;
use super::draft::{AcquireDraft, GroupChoices};
use super::durations::UNITS;
use crate::domain::{ConsoleLock, GroupKind, OperationError};
use crate::ui::components::error_notice::ErrorNotice;
use crate::ui::i18n::error_causes;
use crate::ui::i18n::operations::{self, acquire as t};
use crate::ui::kit::{
    Button, CheckboxField, DialogHandle, SelectField, SelectOption, TextField, Variant, draft,
};
use crate::ui::live::Live;

/// The request fields whose errors are shown beside a form field.
const FIELDS: [&str; 6] = ["group", "key", "ttl_ms", "label", "format", "wait_ms"];

#[component]
pub(super) fn AcquireForm(
    handle: DialogHandle,
    on_acquired: Callback<ConsoleLock>,
) -> impl IntoView {
    let live = Live::expect();
    // Untracked: the choices do not change while the dialog is open.
    let groups = GroupChoices::of(live);
    let saved = draft::load(DRAFT);
    let draft = RwSignal::new(saved.unwrap_or_else(|| AcquireDraft::new(live, groups.initial)));
    draft::autosave(DRAFT.to_owned(), draft);
    let is_sending = RwSignal::new(false);
    let error = RwSignal::new(None::<OperationError>);
    let disabled_reason = Signal::derive(move || match is_sending.get() {
        true => Some(operations::querying().to_owned()),
        false => draft.with(|draft| draft.disabled_reason(live, &groups.unavailable_reason)),
    });
    let form = Owner::current().expect("a component has an owner");
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if disabled_reason.with_untracked(Option::is_some) {
            return;
        }
        let Some(request) = draft.with_untracked(AcquireDraft::start_acquire) else {
            return;
        };
        is_sending.set(true);
        error.set(None);
        let request = async move {
            match request.await {
                Ok(lock) => {
                    on_acquired.run(lock);
                    handle.close();
                }
                Err(refused) => {
                    is_sending.set(false);
                    error.set(Some(refused));
                }
            }
        };
        // Closing the dialog cancels the request, so that the lock is not acquired afterwards. A
        // `ServerAction` would continue.
        form.with(|| spawn_local_scoped_with_cancellation(request));
    };
    let error_of = move |field_name: &'static str| {
        Signal::derive(move || field_error(&error.read(), field_name))
    };
    view! {
        <form class="flex flex-col gap-4 p-5" on:submit=submit novalidate=true>
            <h2 id="acquire-title" class="text-lg font-semibold">
                {t::title()}
            </h2>
            <SelectField
                id="acquire-group"
                label=t::group()
                value=slice!(draft.group)
                choices=groups.choices
                error=error_of("group")
            />
            <TextField
                id="acquire-key"
                label=t::lock()
                hint=t::lock_hint()
                value=slice!(draft.key)
                error=error_of("key")
                mono=true
                autofocus=true
            />
            <DurationFields draft error=error_of("ttl_ms") />
            <CheckboxField id="acquire-keep" label=t::auto_renew() hint=t::auto_renew_hint() value=slice!(draft.auto_renew) />
            <FormatAndWaitFields draft format_error=error_of("format") wait_error=error_of("wait_ms") />
            <TextField
                id="acquire-label"
                label=t::label()
                hint=t::label_hint()
                value=slice!(draft.label)
                error=error_of("label")
            />
            {move || general_error(error.get()).map(|error| view! { <ErrorNotice error /> })}
            <div class="flex justify-end gap-2">
                <Button on_press=move |()| handle.close()>{operations::cancel()}</Button>
                <Button variant=Variant::Primary submits=true disabled_reason>
                    {move || if is_sending.get() { operations::querying_nodes() } else { t::acquire() }}
                </Button>
            </div>
        </form>
    }
}

/// The lease duration and its unit.
#[component]
fn DurationFields(draft: RwSignal<AcquireDraft>, error: Signal<Option<String>>) -> impl IntoView {
    let units = UNITS.map(|(short, long, _)| choice(short, long()));
    view! {
        <div class="grid grid-cols-2 gap-3">
            <TextField id="acquire-ttl" label=t::lease() value=slice!(draft.amount) error decimal=true />
            <SelectField id="acquire-unit" label=t::unit() value=slice!(draft.unit) choices=units.to_vec() />
        </div>
    }
}

/// The format and the wait time.
#[component]
fn FormatAndWaitFields(
    draft: RwSignal<AcquireDraft>,
    format_error: Signal<Option<String>>,
    wait_error: Signal<Option<String>>,
) -> impl IntoView {
    let live = Live::expect();
    let formats = Memo::new(move |_| {
        let kind = live.group(&draft.read().group).map(|group| group.kind);
        let kind = kind.unwrap_or(GroupKind::Standalone);
        kind.capabilities().acquire_formats
    });
    // Another group may be of another service, whose formats are others.
    Effect::new(move || {
        let formats = formats.get();
        let is_offered = |slug: &str| formats.iter().any(|format| format.slug() == slug);
        if let [default, ..] = formats
            && !draft.with_untracked(|draft| is_offered(&draft.format))
        {
            draft.update(|draft| draft.format = default.slug().to_owned());
        }
    });
    let choices = move || {
        let formats = formats.get().iter();
        formats
            .map(|format| choice(format.slug(), format.slug()))
            .collect::<Vec<_>>()
    };
    view! {
        <div class="grid grid-cols-2 gap-3">
            {move || view! {
                <SelectField
                    id="acquire-format"
                    label=t::format()
                    value=slice!(draft.format)
                    choices=choices()
                    error=format_error
                />
            }}
            <TextField id="acquire-wait" label=t::max_wait() value=slice!(draft.wait) error=wait_error decimal=true />
        </div>
    }
}

fn choice(value: &str, label: &str) -> SelectOption {
    SelectOption {
        value: value.to_owned(),
        label: label.to_owned(),
        disabled_reason: None,
    }
}

/// The error of a field.
fn field_error(error: &Option<OperationError>, field_name: &str) -> Option<String> {
    match error {
        Some(OperationError::Impossible { field, cause, .. }) if field == field_name => {
            Some(error_causes::invalid_value(cause))
        }
        Some(_) | None => None,
    }
}

/// An error that concerns no single field. It is shown above the buttons.
fn general_error(error: Option<OperationError>) -> Option<OperationError> {
    let is_of_a_field = |error: &OperationError| matches!(error, OperationError::Impossible { field, .. } if FIELDS.contains(&field.as_str()));
    error.filter(|error| !is_of_a_field(error))
}
