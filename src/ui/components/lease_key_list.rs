//! The keys that end with the lease of a lock in etcd.

use leptos::prelude::*;

use super::error_notice::ErrorNotice;
use crate::domain::{LeaseKey, LeaseKeys, OperationError};
use crate::ui::format;
use crate::ui::i18n::lock::raw as raw_text;
use crate::ui::i18n::operations as t;

/// The list of keys.
#[component]
pub fn LeaseKeyList(keys: Vec<LeaseKey>) -> impl IntoView {
    let item = |key: LeaseKey| {
        let name = format::escape_invisible(&key.key.text());
        let text = match key.is_contender {
            true => t::contender_of(&name),
            false => name,
        };
        view! { <li class="wrap-anywhere">{text}</li> }
    };
    view! {
        <ul class="flex list-disc flex-col gap-0.5 ps-5 font-mono text-xs">{keys.into_iter().map(item).collect_view()}</ul>
    }
}

/// The keys that end with the lease, as a section of the raw value. Empty for a lock that is not held.
#[component]
pub fn LeaseKeySection(result: Result<LeaseKeys, OperationError>) -> impl IntoView {
    let content = match result {
        Err(OperationError::NotObserved { .. }) => return ().into_any(),
        Err(error) => view! { <ErrorNotice error /> }.into_any(),
        Ok(LeaseKeys { total: 0, .. }) => {
            view! { <p class="text-muted">{t::no_lease()}</p> }.into_any()
        }
        Ok(keys) => {
            let listed = u32::try_from(keys.keys.len()).unwrap_or(u32::MAX);
            let outside = keys.outside_prefixes;
            let unlisted = keys.total.saturating_sub(listed).saturating_sub(outside);
            let note = |count: u32, text: fn(u32) -> String| {
                (count > 0).then(|| view! { <p class="text-muted">{text(count)}</p> })
            };
            view! {
                <LeaseKeyList keys=keys.keys />
                {note(outside, raw_text::lease_keys_outside)}
                {note(unlisted, raw_text::lease_keys_not_listed)}
            }
            .into_any()
        }
    };
    view! {
        <section>
            <h3 class="font-medium">{raw_text::lease_title()}</h3>
            {content}
        </section>
    }
    .into_any()
}
