//! Releasing somebody else's lock: the dialog, which follows the lock while it is open and watches what became of it after.

mod confirmation;
mod draft;
mod facts;
mod form;
mod harm;
mod reach;
mod result;
mod standing;

use leptos::prelude::*;

use self::draft::Draft;
use self::form::ReleaseForm;
use self::harm::ReleaseHarm;
use self::result::ReleaseResult;
use crate::domain::{Confidence, Fault, Fingerprint, GroupView, Lock, Released};
use crate::ui::kit::{Dialog, DialogHandle};
use crate::ui::reactive::effect_since;
use crate::ui::words::libraries;

/// Why a lock like this is never released for its owner.
pub fn why_never(lock: &Lock) -> Option<&'static str> {
    if lock.confidence == Confidence::Possible {
        Some(libraries::could_be_anything())
    } else {
        libraries::why_not_releasable(lock.format)
    }
}

/// What was released, for the part of the dialog that comes after.
#[derive(Clone)]
struct Act {
    lock: Lock,
    fingerprint: Fingerprint,
    released: Released,
    /// Why it is not released everywhere where it has to be.
    shortfall: Option<Fault>,
}

/// The dialog that releases a lock by force.
#[component]
pub fn ReleaseDialog(
    /// Whether it is open.
    open: RwSignal<bool>,
    /// The lock as it is on screen now.
    #[prop(into)]
    lock: Signal<Lock>,
    /// Its group.
    #[prop(into)]
    group: Signal<Option<GroupView>>,
) -> impl IntoView {
    let content = Callback::new(move |handle: DialogHandle| {
        let act = RwSignal::new(None::<Act>);
        let seen = lock.get_untracked();
        let harm = RwSignal::new(libraries::harm(seen.format));
        view! {
            <div class="p-5">
                {move || match (act.get(), harm.get()) {
                    (Some(act), _) => view! { <ReleaseResult act handle /> }.into_any(),
                    (None, Some(told)) => {
                        view! { <ReleaseHarm lock=seen.clone() harm=told handle on_accept=move |()| harm.set(None) /> }
                            .into_any()
                    }
                    (None, None) => view! { <ReleaseForm seen=seen.clone() group handle act /> }.into_any(),
                }}
            </div>
        }
        .into_any()
    });
    // Whoever signed in again, or loaded the page again in the middle, goes on where they were; whoever closes the dialog is done.
    effect_since(move |was_open: Option<bool>| {
        let is_open = open.get();
        let id = lock.with_untracked(|lock| lock.id.clone());
        match was_open {
            None if Draft::kept(&id).is_some() => open.set(true),
            Some(true) if !is_open => Draft::forget(&id),
            None | Some(_) => {}
        }
        is_open
    });
    view! { <Dialog open labelled_by="release-title" children=content /> }
}
