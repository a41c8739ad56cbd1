//! The choice to revoke the lease of a lock in etcd, offered after its keys were displayed.

use leptos::prelude::*;

use super::super::error_notice::ErrorNotice;
use super::super::lease_key_list::LeaseKeyList;
use crate::domain::{Fingerprint, GroupKind, GroupView, LeaseKeys, LockId};
use crate::ui::calls;
use crate::ui::i18n::operations as t;
use crate::ui::kit::{Button, CheckboxField};

/// A button that reads the keys of the lease, the list of them, and a checkbox. Empty for other
/// services.
#[component]
pub(super) fn LeaseChoice(
    id: LockId,
    group: Signal<Option<GroupView>>,
    /// The fingerprint of the displayed keys, if their lease is to be revoked.
    chosen: (
        Signal<Option<Fingerprint>>,
        SignalSetter<Option<Fingerprint>>,
    ),
) -> impl IntoView {
    let has_leases = move || {
        group.with(|group| {
            let group = group.as_ref();
            group.is_some_and(|group| group.kind == GroupKind::Etcd)
        })
    };
    let read = ServerAction::<calls::GetLeaseKeys>::new();
    let response = read.value();
    let id = StoredValue::new(id);
    let on_read = move |()| {
        chosen.1.set(None);
        read.dispatch(calls::GetLeaseKeys { id: id.get_value() });
    };
    let content = move || match response.get() {
        None => ().into_any(),
        Some(Err(error)) => view! { <ErrorNotice error /> }.into_any(),
        Some(Ok(keys)) => view! { <KeysOfLease keys chosen /> }.into_any(),
    };
    move || {
        has_leases().then(|| {
            view! {
                <div class="flex flex-col items-start gap-2">
                    <Button on_press=on_read>{t::lease_keys()}</Button>
                    <div aria-live="polite" class="flex w-full flex-col gap-2">
                        {content}
                    </div>
                </div>
            }
        })
    }
}

#[component]
fn KeysOfLease(
    keys: LeaseKeys,
    chosen: (
        Signal<Option<Fingerprint>>,
        SignalSetter<Option<Fingerprint>>,
    ),
) -> impl IntoView {
    let LeaseKeys {
        keys,
        total,
        outside_prefixes,
        fingerprint,
    } = keys;
    let choice = match fingerprint {
        Some(fingerprint) => {
            let (is_chosen, choose) = chosen;
            let is_checked = Signal::derive(move || is_chosen.with(Option::is_some));
            let on_change = SignalSetter::map(move |is_checked: bool| {
                choose.set(is_checked.then_some(fingerprint));
            });
            view! {
                <CheckboxField
                    id="release-revoke-lease"
                    label=t::revoke_lease(total)
                    hint=t::revoke_lease_hint()
                    value=(is_checked, on_change)
                />
            }
            .into_any()
        }
        None if outside_prefixes > 0 => {
            view! { <p class="text-muted">{t::keys_outside(outside_prefixes)}</p> }.into_any()
        }
        None if total > 0 => {
            view! { <p class="text-muted">{t::too_many_keys(total)}</p> }.into_any()
        }
        None => view! { <p class="text-muted">{t::no_lease()}</p> }.into_any(),
    };
    view! {
        {choice}
        <LeaseKeyList keys />
    }
}
