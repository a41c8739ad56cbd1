//! The choice to cancel the statement of a database connection instead of ending the connection.

use leptos::prelude::*;

use super::super::advice::AdviceSource;
use super::target::TrackedHold;
use crate::domain::AdviceReason;
use crate::domain::release_advice::BackendActivity;
use crate::ui::i18n::operations as t;
use crate::ui::kit::CheckboxField;

/// A checkbox while the connection of the owner runs a statement. Empty for other locks.
#[component]
pub(super) fn CancelChoice(
    target: TrackedHold,
    source: AdviceSource,
    /// Whether the statement is to be cancelled.
    chosen: (Signal<bool>, SignalSetter<bool>),
) -> impl IntoView {
    let owner = Signal::derive(move || Some(target.owner.get()));
    let advice = source.advice(target.confirmed.into(), owner);
    let is_running = |reason: &AdviceReason| {
        matches!(
            reason,
            AdviceReason::Backend {
                activity: BackendActivity::Active,
                ..
            }
        )
    };
    // A choice stays visible when the statement has ended: without it, the release ends the
    // connection.
    let is_offered =
        Memo::new(move |_| chosen.0.get() || advice.read().reasons.iter().any(is_running));
    move || {
        is_offered.get().then(|| {
            view! {
                <CheckboxField
                    id="release-cancel-statement"
                    label=t::cancel_statement()
                    hint=t::cancel_statement_hint()
                    value=chosen
                />
            }
        })
    }
}
