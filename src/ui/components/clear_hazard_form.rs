//! The confirmation that a restarted node lost no locks, which makes it eligible for quorums again.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;

use super::error_notice::ErrorNotice;
use crate::domain::{GroupView, NodeView, Permission, Scope};
use crate::ui::calls;
use crate::ui::i18n::nodes as t;
use crate::ui::kit::field::CONTROL;
use crate::ui::kit::{Button, Variant};
use crate::ui::live::Live;

/// A form with a reason and, in production, the node's name.
#[component]
pub fn ClearHazardForm(
    /// The node whose restart hazard is cleared.
    #[prop(into)]
    node: Signal<NodeView>,
    /// The node's group.
    #[prop(into)]
    group: Signal<Option<GroupView>>,
) -> impl IntoView {
    let live = Live::expect();
    let (reason, typed) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let action = ServerAction::<calls::ClearRestartHazard>::new();
    let (is_sending, response) = (action.pending(), action.value());
    let name = node.with_untracked(|node| node.name.clone());
    let group_name = move || group.with(|group| group.as_ref().map(|group| group.name.clone()));
    let is_production = move || {
        group.with(|group| {
            let group = group.as_ref();
            group.is_some_and(|group| group.environment.requires_confirmation())
        })
    };
    let disabled_reason = Signal::derive(move || {
        let is_read_only = group.with(|group| group.as_ref().is_some_and(|group| group.read_only));
        let group = group_name()?;
        let scope = Scope::group(&group).with_read_only(is_read_only);
        let denied = live.denial_reason(Permission::ClearRestartHazard, scope);
        denied.or_else(|| is_sending.get().then(|| t::clearing_hazard().to_owned()))
    });
    let submit = {
        let name = name.clone();
        move |event: SubmitEvent| {
            event.prevent_default();
            let Some(group) = group_name().filter(|_| disabled_reason.get_untracked().is_none())
            else {
                return;
            };
            let (node, reason) = (name.clone(), reason.get_untracked());
            let confirm = is_production().then(|| typed.get_untracked());
            action.dispatch(calls::ClearRestartHazard {
                group,
                node,
                reason,
                confirm,
            });
        }
    };
    let error = move || match (is_sending.get(), response.get()) {
        (false, Some(Err(error))) => Some(view! { <ErrorNotice error /> }),
        _ => None,
    };
    view! {
        <details class="text-sm">
            <summary class="text-muted">{t::clear_hazard_title()}</summary>
            <form class="mt-2 flex flex-col gap-3" on:submit=submit novalidate=true>
                <p class="text-muted">{t::clear_hazard_hint()}</p>
                <label class="flex flex-col gap-1">
                    <span class="font-medium">{t::clear_hazard_reason()}</span>
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
                                    <span class="font-medium">{t::clear_hazard_confirm(&name)}</span>
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
                {error}
                <div>
                    <Button variant=Variant::Danger submits=true disabled_reason>
                        {move || if is_sending.get() { t::clearing_hazard() } else { t::clear_hazard() }}
                    </Button>
                </div>
            </form>
        </details>
    }
}
