//! The force-release dialog. It tracks the lock while it is open, and watches it for one renewal
//! interval after the release.

mod cancel_choice;
mod confirmation;
mod confirmation_field;
mod draft;
mod facts;
mod form;
mod harm_warning;
mod lease_choice;
mod node_coverage;
mod owner_choice;
mod result;
mod target;
mod target_state;
mod target_view;
mod unreachable_notice;

use leptos::prelude::*;

use self::draft::ReleaseDraft;
use self::form::ReleaseForm;
use self::harm_warning::HarmWarning;
use self::result::ReleaseResultView;
use super::advice::AdviceSource;
use crate::domain::{
    Confidence, Fingerprint, GroupView, Lock, OperationError, ReleaseResult, Timestamp,
};
use crate::ui::i18n::libraries;
use crate::ui::kit::{Dialog, DialogHandle};

/// Returns why a lock of this kind can never be force-released.
pub fn never_releasable_reason(lock: &Lock) -> Option<&'static str> {
    if lock.confidence == Confidence::Possible {
        Some(libraries::could_be_anything())
    } else {
        libraries::why_not_releasable(lock.format)
    }
}

/// The result of a release, for the second part of the dialog.
#[derive(Clone)]
struct ReleaseOutcome {
    lock: Lock,
    fingerprint: Fingerprint,
    released: ReleaseResult,
    /// Set if too few nodes released the lock.
    shortfall: Option<OperationError>,
}

impl ReleaseOutcome {
    /// Converts the response. `None` if no node released the lock.
    fn of(
        lock: Lock,
        fingerprint: Fingerprint,
        response: Result<ReleaseResult, OperationError>,
        now: Timestamp,
    ) -> Option<Self> {
        let (released, shortfall) = match response {
            Ok(released) => (released, None),
            Err(OperationError::PartlyReleased { ref nodes, .. }) => {
                let released = ReleaseResult {
                    nodes: nodes.clone(),
                    at: now,
                    hold_count: None,
                    observed_after: None,
                };
                (released, response.err())
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

/// The dialog that force-releases a lock.
#[component]
pub fn ReleaseDialog(
    /// Whether the dialog is open.
    open: RwSignal<bool>,
    /// The lock as displayed on the page.
    #[prop(into)]
    lock: Signal<Lock>,
    /// The lock's group.
    #[prop(into)]
    group: Signal<Option<GroupView>>,
    /// The facts of the advice that are not part of the lock.
    advice: AdviceSource,
) -> impl IntoView {
    let content = Callback::new(move |handle: DialogHandle| {
        let outcome = RwSignal::new(None::<ReleaseOutcome>);
        let displayed = lock.get_untracked();
        let harm = RwSignal::new(libraries::harm(displayed.format));
        view! {
            <div class="p-5">
                {move || match (outcome.get(), harm.get()) {
                    (Some(outcome), _) => view! { <ReleaseResultView outcome handle /> }.into_any(),
                    (None, Some(text)) => {
                        view! { <HarmWarning lock=displayed.clone() harm=text handle on_accept=move |()| harm.set(None) /> }
                            .into_any()
                    }
                    (None, None) => view! { <ReleaseForm displayed=displayed.clone() group advice handle outcome /> }.into_any(),
                }}
            </div>
        }
        .into_any()
    });
    // A saved draft reopens the dialog after a sign-in or a reload. Closing the dialog deletes the
    // draft.
    Effect::new(move |was_open: Option<bool>| {
        let is_open = open.get();
        let id = lock.with_untracked(|lock| lock.id.clone());
        match was_open {
            None if ReleaseDraft::is_saved(&id) => open.set(true),
            Some(true) if !is_open => ReleaseDraft::delete(&id),
            None | Some(_) => {}
        }
        is_open
    });
    view! { <Dialog open labelled_by="release-title" children=content /> }
}
