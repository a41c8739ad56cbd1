//! A configured webhook in the table of webhooks.

use leptos::prelude::*;

use super::error_notice::ErrorNotice;
use crate::domain::{WebhookAttempt, WebhookView};
use crate::ui::calls;
use crate::ui::format;
use crate::ui::i18n::{punctuation, terms, webhooks as t};
use crate::ui::kit::Button;
use crate::ui::live::Live;

/// A row with what is sent, the latest delivery, and a button that sends a test event.
#[component]
pub fn WebhookRow(
    /// The webhook.
    webhook: WebhookView,
) -> impl IntoView {
    const CELL: &str = "px-3 py-2 align-top";
    let test = ServerAction::<calls::TestWebhook>::new();
    let name = webhook.name.clone();
    let send = move |()| {
        test.dispatch(calls::TestWebhook { name: name.clone() });
    };
    let known = webhook.last_attempt.clone();
    let attempt = move || match test.value().get() {
        Some(Ok(attempt)) => Some(attempt),
        Some(Err(_)) | None => known.clone(),
    };
    let status = move || match test.pending().get() {
        true => t::sending().to_owned(),
        false => attempt_text(attempt()),
    };
    let error = move || match test.value().get() {
        Some(Err(error)) => Some(view! { <ErrorNotice error /> }),
        _ => None,
    };
    let disabled_reason = Signal::derive(move || {
        let is_sending = test.pending().get();
        is_sending.then(|| t::sending().to_owned())
    });
    let groups = match &webhook.groups {
        Some(groups) => punctuation::list(groups.iter().cloned()),
        None => t::all_groups().to_owned(),
    };
    view! {
        <tr role="row" class="border-t border-line">
            <th scope="row" role="rowheader" class="px-3 py-2 text-start align-top font-medium">
                {webhook.name.clone()}
            </th>
            <td role="cell" class=CELL>{webhook.format.slug()}</td>
            <td role="cell" class=CELL>{groups}</td>
            <td role="cell" class=CELL>{events(&webhook)}</td>
            <td role="cell" class="px-3 py-2 align-top tabular-nums">{webhook.queue_length}</td>
            <td role="cell" class=CELL>
                <span role="status">{status}</span>
                {error}
            </td>
            <td role="cell" class="needs-script px-3 py-2 text-end align-top">
                <Button on_press=send disabled_reason>
                    {t::test()}
                    <span class="sr-only">{format!(" {}", webhook.name)}</span>
                </Button>
            </td>
        </tr>
    }
}

/// The latest attempt and its age.
fn attempt_text(attempt: Option<WebhookAttempt>) -> String {
    let live = Live::expect();
    let Some(attempt) = attempt else {
        return t::no_attempt().to_owned();
    };
    let ago = format::ago(attempt.at, live.now.get());
    match attempt.error {
        None => t::accepted(&ago),
        Some(error) => t::failed(&ago, &error),
    }
}

/// What is sent.
fn events(webhook: &WebhookView) -> String {
    let flags = webhook.flags.iter();
    let flags = punctuation::list(flags.map(|flag| terms::flag(*flag).to_owned()));
    let delay = format::span(webhook.flag_delay_ms);
    let flags = (!flags.is_empty()).then(|| t::flags_after(&flags, &delay));
    let operations = webhook.operations.iter();
    let operations = operations.map(|kind| terms::operation(*kind).to_owned());
    let lost = webhook.lost_locks.then(|| t::lost_locks().to_owned());
    let all: Vec<String> = flags.into_iter().chain(operations).chain(lost).collect();
    match all.is_empty() {
        true => t::no_events().to_owned(),
        false => punctuation::list(all),
    }
}
