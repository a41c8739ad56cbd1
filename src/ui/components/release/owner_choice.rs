//! The choice of the hold to release, if the lock has several owners.

use leptos::prelude::*;

use super::super::owner_name::OwnerName;
use crate::domain::{Fingerprint, Owner};
use crate::ui::i18n::operations as t;

/// Radio buttons for the owners. Empty if there is only one.
#[component]
pub(super) fn OwnerChoice(
    owners: Vec<Owner>,
    chosen: (Signal<Fingerprint>, SignalSetter<Fingerprint>),
) -> impl IntoView {
    let (chosen, choose) = chosen;
    let choice = move |owner: Owner| {
        let fingerprint = owner.fingerprint;
        let is_chosen = chosen.with_untracked(|chosen| *chosen == fingerprint);
        view! {
            <label class="flex items-center gap-2">
                <input
                    type="radio"
                    name="owner"
                    checked=is_chosen
                    on:change=move |_| choose.set(fingerprint)
                />
                <OwnerName owner />
            </label>
        }
    };
    (owners.len() > 1).then(|| {
        view! {
            <fieldset class="flex flex-col gap-1">
                <legend class="mb-1 font-medium">{t::choose_owner()}</legend>
                {owners.into_iter().map(choice).collect_view()}
            </fieldset>
        }
    })
}
