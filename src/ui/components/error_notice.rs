//! An error as text, with advice.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use crate::domain::OperationError;
use crate::ui::components::node_outcomes::NodeOutcomes;
use crate::ui::components::owner_name::OwnerName;
use crate::ui::i18n::errors as t;
pub use crate::ui::i18n::errors::sentence;
use crate::ui::i18n::shell;
use crate::ui::i18n::{punctuation, reasons};
use crate::ui::kit::{Banner, Button, Icon, IconName, Tone};
use crate::ui::shortcuts::is_dialog_open;
use crate::ui::{format, paths};

/// An error: message, advice, details, and a retry button if a retry makes sense.
#[component]
pub fn ErrorNotice(
    /// The error to describe.
    error: OperationError,
    /// Called to retry.
    #[prop(optional)]
    retry: Option<Callback<()>>,
) -> impl IntoView {
    let tone = match error {
        OperationError::Held { .. }
        | OperationError::NotHeld { .. }
        | OperationError::NotObserved { .. }
        | OperationError::Impossible { .. } => Tone::Warn,
        OperationError::BadRequest { .. }
        | OperationError::ConfirmRequired { .. }
        | OperationError::PossibleLock { .. }
        | OperationError::NotReleasable { .. }
        | OperationError::HoldChanged { .. }
        | OperationError::LeaseNotRevoked { .. }
        | OperationError::CancelFailed { .. }
        | OperationError::HoldEnded { .. }
        | OperationError::SignInRequired { .. }
        | OperationError::Forbidden { .. }
        | OperationError::OutsideKeys { .. }
        | OperationError::UnknownGroup { .. }
        | OperationError::Unreachable { .. }
        | OperationError::NoQuorum { .. }
        | OperationError::PartlyReleased { .. }
        | OperationError::NotOwner { .. }
        | OperationError::OwnerChanged { .. }
        | OperationError::WrongType { .. }
        | OperationError::AuditUnavailable
        | OperationError::StorageUnavailable { .. }
        | OperationError::Stopping
        | OperationError::TooManyRequests { .. }
        | OperationError::NoResponse { .. }
        | OperationError::Internal { .. } => Tone::Alarm,
    };
    view! {
        <Banner tone>
            <p class="font-semibold">{t::sentence(&error)}</p>
            <p>{t::advice(&error)}</p>
            {error_details(&error)}
            {matches!(error, OperationError::SignInRequired { .. })
                .then(|| view! { <SignInLink /> })}
            {retry.map(|retry| {
                view! {
                    <div class="mt-2">
                        <Button on_press=retry>
                            <Icon name=IconName::Refresh />
                            {t::try_again()}
                        </Button>
                    </div>
                }
            })}
        </Banner>
    }
}

/// A link to the sign-in page, which leads back to this page.
#[component]
fn SignInLink() -> impl IntoView {
    let location = use_location();
    let href = move || paths::sign_in(&location.pathname.read(), &location.search.read());
    // With an open dialog the link opens a new tab, because leaving the page would lose the typed
    // text.
    let opens_new_tab = cfg!(target_arch = "wasm32") && is_dialog_open();
    view! {
        // `external`: the page is loaded again with the new session.
        <a
            href=href
            rel="external"
            target=(opens_new_tab).then_some("_blank")
            class="mt-1 inline-block font-medium underline underline-offset-2"
        >
            {if opens_new_tab { shell::sign_in_in_new_tab() } else { shell::sign_in() }}
        </a>
    }
}

fn error_details(error: &OperationError) -> impl IntoView + use<> {
    let owner = match error {
        OperationError::Held { owner, .. } | OperationError::OwnerChanged { owner, .. } => {
            owner.clone()
        }
        _ => None,
    };
    let lease = match error {
        OperationError::Held {
            lease_ms: Some(left),
            ..
        } => Some(t::remaining_lease(&format::span(*left))),
        OperationError::Held {
            owner: Some(_),
            lease_ms: None,
            ..
        } => Some(t::without_expiry().to_owned()),
        _ => None,
    };
    let outcomes = match error {
        OperationError::Held { nodes, .. }
        | OperationError::NoQuorum { nodes, .. }
        | OperationError::PartlyReleased { nodes, .. }
        | OperationError::NotHeld { nodes }
        | OperationError::NotOwner { nodes }
        | OperationError::OwnerChanged { nodes, .. }
        | OperationError::HoldChanged { nodes }
        | OperationError::HoldEnded { nodes }
        | OperationError::WrongType { nodes, .. } => nodes.clone(),
        _ => Vec::new(),
    };
    let unreachable = match error {
        OperationError::Unreachable { nodes, .. } => nodes.clone(),
        _ => Vec::new(),
    };
    view! {
        {owner.map(|owner| view! { <p class="mt-1">{t::held_by()} <OwnerName owner /> {lease}</p> })}
        {(!outcomes.is_empty()).then(|| view! { <div class="mt-1.5"><NodeOutcomes outcomes /></div> })}
        {unreachable
            .into_iter()
            .filter_map(|node| match node.observation {
                crate::domain::Observation::Unreachable { reason } => Some(view! { <p>{punctuation::labelled(&node.node, &reasons::clause(&reason))}</p> }),
                crate::domain::Observation::Holds { .. } | crate::domain::Observation::Absent => None,
            })
            .collect_view()}
    }
}
