//! Releasing somebody else's lock: the dialog, which follows the lock while it is open and watches what became of it after.

mod confirmation;
mod facts;
mod form;
mod harm;
mod result;
mod standing;

use leptos::prelude::*;

use self::form::ReleaseForm;
use self::harm::ReleaseHarm;
use self::result::ReleaseResult;
use crate::domain::{Fingerprint, GroupView, Lock, Released};
use crate::ui::kit::{Dialog, DialogHandle};

/// What was released, for the part of the dialog that comes after.
#[derive(Clone)]
struct Act {
    lock: Lock,
    fingerprint: Fingerprint,
    released: Released,
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
        let harm = RwSignal::new(seen.format.harm());
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
    view! { <Dialog open labelled_by="release-title" children=content /> }
}
