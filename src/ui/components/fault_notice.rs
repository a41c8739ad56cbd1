//! What went wrong, in words, with what can be done about it.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use crate::domain::Fault;
use crate::ui::components::node_acts::NodeActs;
use crate::ui::components::owner_name::OwnerName;
use crate::ui::kit::{Banner, Button, Icon, Sign, Tone};
use crate::ui::shortcuts::is_dialog_open;
use crate::ui::words::faults as words;
pub use crate::ui::words::faults::sentence;
use crate::ui::words::frame;
use crate::ui::words::{punctuation, told};
use crate::ui::{format, paths};

/// A fault: its sentence, the facts that help to act, and another try where that makes sense.
#[component]
pub fn FaultNotice(
    /// What went wrong.
    fault: Fault,
    /// Tries again.
    #[prop(optional)]
    retry: Option<Callback<()>>,
) -> impl IntoView {
    let tone = match fault {
        Fault::Held { .. }
        | Fault::NotHeld { .. }
        | Fault::NotObserved { .. }
        | Fault::Impossible { .. } => Tone::Warn,
        Fault::BadRequest { .. }
        | Fault::ConfirmRequired { .. }
        | Fault::PossibleLock { .. }
        | Fault::NotReleasable { .. }
        | Fault::HoldChanged { .. }
        | Fault::HoldEnded { .. }
        | Fault::SignInRequired { .. }
        | Fault::Forbidden { .. }
        | Fault::OutsideKeys { .. }
        | Fault::UnknownGroup { .. }
        | Fault::Unreachable { .. }
        | Fault::NoQuorum { .. }
        | Fault::PartlyReleased { .. }
        | Fault::NotOwner { .. }
        | Fault::OwnerChanged { .. }
        | Fault::WrongType { .. }
        | Fault::AuditUnavailable { .. }
        | Fault::StorageUnavailable { .. }
        | Fault::Stopping
        | Fault::TooMany { .. }
        | Fault::Unanswered { .. }
        | Fault::Internal { .. } => Tone::Alarm,
    };
    view! {
        <Banner tone>
            <p class="font-semibold">{words::sentence(&fault)}</p>
            <p>{words::advice(&fault)}</p>
            {facts(&fault)}
            {matches!(fault, Fault::SignInRequired { .. })
                .then(|| view! { <SignInLink /> })}
            {retry.map(|retry| {
                view! {
                    <div class="mt-2">
                        <Button on_press=retry>
                            <Icon sign=Sign::Refresh />
                            {words::try_again()}
                        </Button>
                    </div>
                }
            })}
        </Banner>
    }
}

/// The way to sign in and back.
#[component]
fn SignInLink() -> impl IntoView {
    let location = use_location();
    let href = move || paths::sign_in(&location.pathname.read(), &location.search.read());
    // What was typed into a dialog would be lost by leaving the page.
    let is_beside = cfg!(target_arch = "wasm32") && is_dialog_open();
    view! {
        // `external`: the page is painted anew for whoever signs in.
        <a
            href=href
            rel="external"
            target=(is_beside).then_some("_blank")
            class="mt-1 inline-block font-medium underline underline-offset-2"
        >
            {if is_beside { frame::sign_in_beside() } else { frame::sign_in() }}
        </a>
    }
}

fn facts(fault: &Fault) -> impl IntoView + use<> {
    let owner = match fault {
        Fault::Held { owner, .. } | Fault::OwnerChanged { owner, .. } => owner.clone(),
        _ => None,
    };
    let lease = match fault {
        Fault::Held {
            lease_ms: Some(left),
            ..
        } => Some(words::for_another(&format::span(*left))),
        Fault::Held {
            owner: Some(_),
            lease_ms: None,
            ..
        } => Some(words::without_an_end().to_owned()),
        _ => None,
    };
    let acts = match fault {
        Fault::Held { nodes, .. }
        | Fault::NoQuorum { nodes, .. }
        | Fault::PartlyReleased { nodes, .. }
        | Fault::NotHeld { nodes }
        | Fault::NotOwner { nodes }
        | Fault::OwnerChanged { nodes, .. }
        | Fault::HoldChanged { nodes }
        | Fault::HoldEnded { nodes }
        | Fault::WrongType { nodes, .. } => nodes.clone(),
        _ => Vec::new(),
    };
    let silent = match fault {
        Fault::Unreachable { nodes, .. } => nodes.clone(),
        _ => Vec::new(),
    };
    view! {
        {owner.map(|owner| view! { <p class="mt-1">{words::held_by()} <OwnerName owner /> {lease}</p> })}
        {(!acts.is_empty()).then(|| view! { <div class="mt-1.5"><NodeActs acts /></div> })}
        {silent
            .into_iter()
            .filter_map(|node| match node.answer {
                crate::domain::Answer::Unreachable { reason } => Some(view! { <p>{punctuation::told(&node.node, &told::said(&reason))}</p> }),
                crate::domain::Answer::Holds { .. } | crate::domain::Answer::Absent => None,
            })
            .collect_view()}
    }
}
