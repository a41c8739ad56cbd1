//! A lock as its nodes have it, read on request: type, time to live, fields and members. Tokens are masked.

use leptos::prelude::*;

use super::fault_notice::FaultNotice;
use super::owner_name::grouped;
use crate::domain::raw::{RawKey, RawNode, RawPart, RawText};
use crate::domain::{Fault, LockId, Place, Verb};
use crate::ui::kit::Button;
use crate::ui::live::Live;
use crate::ui::words::lock::raw as words;
use crate::ui::words::told;
use crate::ui::{calls, format};

/// Reads the key and shows it.
#[component]
pub fn RawBox(
    /// Which lock.
    id: LockId,
) -> impl IntoView {
    let read: RwSignal<Option<Result<Vec<RawNode>, Fault>>> = RwSignal::new(None);
    let live = Live::expect();
    let place = id.clone();
    let why_not = Signal::derive(move || live.why_not(Verb::ReadRaw, Place::lock(&place)));
    let ask = move || {
        let (group, key) = (id.group.clone(), id.key.encoded());
        leptos::task::spawn_local(async move {
            let told = calls::raw(group, key).await;
            // The page may have gone away meanwhile.
            read.try_set(Some(told.and_then(|told| told.read())));
        });
    };
    let shown = move || match read.get() {
        None => ().into_any(),
        Some(Err(fault)) => view! { <FaultNotice fault /> }.into_any(),
        Some(Ok(nodes)) => {
            let nodes = nodes.into_iter();
            nodes
                .map(|node| view! { <OnNode node /> }.into_any())
                .collect_view()
                .into_any()
        }
    };
    view! {
        <details class="rounded-xl border border-line bg-surface shadow-lift">
            <summary class="px-4 py-2.5 font-medium">{words::title()}</summary>
            <div class="flex flex-col items-start gap-3 border-t border-line px-4 py-3">
                <p class="text-muted">{words::hint()}</p>
                <Button why_not on_press=move |()| ask()>{words::read()}</Button>
                <div aria-live="polite" class="flex w-full flex-col gap-3">{shown}</div>
            </div>
        </details>
    }
}

#[component]
fn OnNode(node: RawNode) -> impl IntoView {
    let shown = match node.shown {
        Err(why) => view! { <p class="wrap-anywhere text-muted">{told::said(&why)}</p> }.into_any(),
        Ok(None) => view! { <p class="text-muted">{words::absent()}</p> }.into_any(),
        Ok(Some(key)) => view! { <Key key /> }.into_any(),
    };
    view! {
        <section>
            <h3 class="font-medium">{node.node}</h3>
            {shown}
        </section>
    }
}

#[component]
fn Key(key: RawKey) -> impl IntoView {
    let kind = key.kind.unwrap_or_else(|| words::too_large().to_owned());
    let ttl = match key.ttl_ms {
        Some(ms) => words::lives(&format::span(ms)),
        None => words::lives_on().to_owned(),
    };
    let part = |part: RawPart| {
        view! {
            <li class="wrap-anywhere">
                {part.name.map(text)}
                {part.value.map(|value| view! { " = " {text(value)} }.into_any())}
            </li>
        }
        .into_any()
    };
    view! {
        <p class="text-muted">{kind} ", " {ttl}</p>
        <ul class="flex list-disc flex-col gap-0.5 ps-5 font-mono text-xs">{key.parts.into_iter().map(part).collect_view()}</ul>
    }
}

fn text(text: RawText) -> AnyView {
    match text {
        RawText::Shown(text) => view! { <bdi>{format::visible(&text)}</bdi> }.into_any(),
        RawText::Masked { fingerprint, bytes } => {
            let words = words::masked(bytes, &grouped(&fingerprint));
            view! { <span class="font-sans text-muted">{words}</span> }.into_any()
        }
        RawText::Hidden { bytes } => {
            let words = words::hidden(bytes);
            view! { <span class="font-sans text-muted">{words}</span> }.into_any()
        }
    }
}
