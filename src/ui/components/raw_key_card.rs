//! The raw key of a lock on each node, read on request: type, TTL, fields and members. Tokens are
//! masked.

use leptos::prelude::*;

use super::error_notice::ErrorNotice;
use super::lease_key_list::LeaseKeySection;
use super::owner_name::format_fingerprint;
use crate::domain::raw::{RawKey, RawNode, RawPart, RawText};
use crate::domain::{GroupKind, GroupView, LockId, Permission, Scope};
use crate::ui::i18n::lock::raw as t;
use crate::ui::i18n::reasons;
use crate::ui::kit::{Button, FoldedCard};
use crate::ui::live::Live;
use crate::ui::{calls, format};

/// A button that reads the key, and the result.
#[component]
pub fn RawKeyCard(
    /// The lock to read.
    id: LockId,
    /// Its group.
    group: Memo<Option<GroupView>>,
) -> impl IntoView {
    let read = ServerAction::<calls::Raw>::new();
    let response = read.value();
    let read_lease_keys = ServerAction::<calls::GetLeaseKeys>::new();
    let lease_keys = read_lease_keys.value();
    let has_leases = move || {
        group.with(|group| {
            group
                .as_ref()
                .is_some_and(|group| group.kind == GroupKind::Etcd)
        })
    };
    let live = Live::expect();
    let lock = id.clone();
    let disabled_reason =
        Signal::derive(move || live.denial_reason(Permission::ReadRaw, Scope::lock(&lock)));
    let on_read = move || {
        read.dispatch(calls::Raw { id: id.clone() });
        if untrack(has_leases) {
            read_lease_keys.dispatch(calls::GetLeaseKeys { id: id.clone() });
        }
    };
    let content = move || match response.get() {
        None => ().into_any(),
        Some(Err(error)) => view! { <ErrorNotice error /> }.into_any(),
        Some(Ok(nodes)) => {
            let nodes = nodes.into_iter();
            nodes
                .map(|node| view! { <NodeKey node /> })
                .collect_view()
                .into_any()
        }
    };
    view! {
        <FoldedCard title=t::title()>
            <p class="text-muted">{t::hint()}</p>
            <Button disabled_reason on_press=move |()| on_read()>{t::read()}</Button>
            <div aria-live="polite" class="flex w-full flex-col gap-3">
                {content}
                {move || lease_keys.get().map(|result| view! { <LeaseKeySection result /> })}
            </div>
        </FoldedCard>
    }
}

#[component]
fn NodeKey(node: RawNode) -> impl IntoView {
    let content = match node.content {
        Err(reason) => {
            view! { <p class="wrap-anywhere text-muted">{reasons::clause(&reason)}</p> }.into_any()
        }
        Ok(None) => view! { <p class="text-muted">{t::absent()}</p> }.into_any(),
        Ok(Some(key)) => view! { <KeyContent key /> }.into_any(),
    };
    view! {
        <section>
            <h3 class="font-medium">{node.node}</h3>
            {content}
        </section>
    }
}

#[component]
fn KeyContent(key: RawKey) -> impl IntoView {
    let kind = key.kind.unwrap_or_else(|| t::too_large().to_owned());
    let ttl = match key.ttl_ms {
        Some(ms) => t::expires_in(&format::span(ms)),
        None => t::no_expiry().to_owned(),
    };
    let part = |part: RawPart| {
        view! {
            <li class="wrap-anywhere">
                {part.name.map(text_or_mask)}
                {part.value.map(|value| view! { " = " {text_or_mask(value)} })}
            </li>
        }
    };
    view! {
        <p class="text-muted">{kind} ", " {ttl}</p>
        <ul class="flex list-disc flex-col gap-0.5 ps-5 font-mono text-xs">{key.parts.into_iter().map(part).collect_view()}</ul>
    }
}

fn text_or_mask(text: RawText) -> AnyView {
    match text {
        RawText::Shown(text) => view! { <bdi>{format::escape_invisible(&text)}</bdi> }.into_any(),
        RawText::Masked { fingerprint, bytes } => {
            let text = t::masked(bytes, &format_fingerprint(&fingerprint));
            view! { <span class="font-sans text-muted">{text}</span> }.into_any()
        }
        RawText::Hidden { bytes } => {
            let text = t::hidden(bytes);
            view! { <span class="font-sans text-muted">{text}</span> }.into_any()
        }
    }
}
