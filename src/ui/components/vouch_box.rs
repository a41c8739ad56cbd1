//! A person vouches for a node that takes no new locks because it may have lost some.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;

use super::fault_notice::FaultNotice;
use crate::domain::{GroupView, NodeView, Place, Verb};
use crate::ui::calls;
use crate::ui::kit::field::CONTROL;
use crate::ui::kit::{Button, Variant};
use crate::ui::live::Live;
use crate::ui::words::nodes as words;

/// The form: a reason, and in production the node's name.
#[component]
pub fn VouchBox(
    /// The node.
    #[prop(into)]
    node: Signal<NodeView>,
    /// Its group.
    #[prop(into)]
    group: Signal<Option<GroupView>>,
) -> impl IntoView {
    let live = Live::expect();
    let (reason, typed) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let vouch = ServerAction::<calls::VouchForNode>::new();
    let (is_sending, end) = (vouch.pending(), vouch.value());
    let name = node.with_untracked(|node| node.name.clone());
    let group_name = move || group.with(|group| group.as_ref().map(|group| group.name.clone()));
    let is_production = move || {
        group.with(|group| {
            let group = group.as_ref();
            group.is_some_and(|group| group.environment.asks_to_confirm())
        })
    };
    let why_not = Signal::derive(move || {
        let is_read_only = group.with(|group| group.as_ref().is_some_and(|group| group.read_only));
        let group = group_name()?;
        let place = Place::group(&group).read_only(is_read_only);
        let refused = live.why_not(Verb::Vouch, place);
        refused.or_else(|| is_sending.get().then(|| words::vouching().to_owned()))
    });
    let submit = {
        let name = name.clone();
        move |event: SubmitEvent| {
            event.prevent_default();
            let Some(group) = group_name().filter(|_| why_not.get_untracked().is_none()) else {
                return;
            };
            let (node, reason) = (name.clone(), reason.get_untracked());
            let confirm = is_production().then(|| typed.get_untracked());
            vouch.dispatch(calls::VouchForNode {
                group,
                node,
                reason,
                confirm,
            });
        }
    };
    let fault = move || match (is_sending.get(), end.get()) {
        (false, Some(Err(fault))) => Some(view! { <FaultNotice fault /> }),
        _ => None,
    };
    view! {
        <details class="text-sm">
            <summary class="text-muted">{words::vouch_title()}</summary>
            <form class="mt-2 flex flex-col gap-3" on:submit=submit novalidate=true>
                <p class="text-muted">{words::vouch_hint()}</p>
                <label class="flex flex-col gap-1">
                    <span class="font-medium">{words::vouch_reason()}</span>
                    <input
                        class=CONTROL
                        autocomplete="off"
                        aria-required="true"
                        prop:value=move || reason.get()
                        on:input=move |event| reason.set(event_target_value(&event))
                    />
                </label>
                {move || {
                    is_production()
                        .then(|| {
                            view! {
                                <label class="flex flex-col gap-1">
                                    <span class="font-medium">{words::vouch_confirm(&name)}</span>
                                    <input
                                        class=format!("{CONTROL} font-mono")
                                        autocomplete="off"
                                        spellcheck="false"
                                        aria-required="true"
                                        prop:value=move || typed.get()
                                        on:input=move |event| typed.set(event_target_value(&event))
                                    />
                                </label>
                            }
                        })
                }}
                {fault}
                <div>
                    <Button variant=Variant::Danger submits=true why_not>
                        {move || if is_sending.get() { words::vouching() } else { words::vouch() }}
                    </Button>
                </div>
            </form>
        </details>
    }
}
