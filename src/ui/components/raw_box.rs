//! A lock as its nodes have it, read on request: type, time to live, fields and members. Tokens are masked.

use leptos::prelude::*;

use super::fault_notice::FaultNotice;
use super::owner_name::grouped;
use crate::domain::raw::{RawKey, RawNode, RawPart, RawText};
use crate::domain::{LockId, Place, Verb};
use crate::ui::kit::{Button, FoldedCard};
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
    let read = ServerAction::<calls::Raw>::new();
    let answer = read.value();
    let live = Live::expect();
    let place = id.clone();
    let why_not = Signal::derive(move || live.why_not(Verb::ReadRaw, Place::lock(&place)));
    let ask = move || {
        read.dispatch(calls::Raw { id: id.clone() });
    };
    let shown = move || match answer.get() {
        None => ().into_any(),
        Some(Err(fault)) => view! { <FaultNotice fault /> }.into_any(),
        Some(Ok(nodes)) => {
            let nodes = nodes.into_iter();
            nodes
                .map(|node| view! { <OnNode node /> })
                .collect_view()
                .into_any()
        }
    };
    view! {
        <FoldedCard title=words::title()>
            <p class="text-muted">{words::hint()}</p>
            <Button why_not on_press=move |()| ask()>{words::read()}</Button>
            <div aria-live="polite" class="flex w-full flex-col gap-3">{shown}</div>
        </FoldedCard>
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
                {part.value.map(|value| view! { " = " {text(value)} })}
            </li>
        }
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
