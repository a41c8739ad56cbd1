//! Releasing somebody else's lock: the dialog, which follows the lock while it is open and watches what became of it after.

mod confirmation;
mod confirmation_field;
mod doubt;
mod draft;
mod facts;
mod form;
mod harm;
mod owner_choice;
mod reach;
mod result;
mod standing;
mod target;
mod target_changed;

use leptos::prelude::*;

use self::draft::ReleaseDraft;
use self::form::ReleaseForm;
use self::harm::ReleaseHarm;
use self::result::ReleaseResult;
use crate::domain::{Confidence, Fault, Fingerprint, GroupView, Lock, Released, Timestamp};
use crate::ui::kit::{Dialog, DialogHandle};
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

impl Act {
    /// What a release of this hold came to; nothing where nothing was released.
    fn of(
        lock: Lock,
        fingerprint: Fingerprint,
        end: Result<Released, Fault>,
        now: Timestamp,
    ) -> Option<Self> {
        let (released, shortfall) = match end {
            Ok(released) => (released, None),
            Err(Fault::PartlyReleased { ref nodes, .. }) => {
                let released = Released {
                    nodes: nodes.clone(),
                    at: now,
                    holds: None,
                    seen_after: None,
                };
                (released, end.err())
            }
            Err(_) => return None,
        };
        Some(Self {
            lock,
            fingerprint,
            released,
            shortfall,
        })
    }
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
    Effect::new(move |was_open: Option<bool>| {
        let is_open = open.get();
        let id = lock.with_untracked(|lock| lock.id.clone());
        match was_open {
            None if ReleaseDraft::is_kept(&id) => open.set(true),
            Some(true) if !is_open => ReleaseDraft::forget(&id),
            None | Some(_) => {}
        }
        is_open
    });
    view! { <Dialog open labelled_by="release-title" children=content /> }
}
