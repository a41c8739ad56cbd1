//! What went wrong, in words, with what can be done about it.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use crate::domain::Fault;
use crate::ui::components::node_acts::NodeActs;
use crate::ui::components::owner_name::OwnerName;
use crate::ui::kit::{Banner, Button, Icon, Sign, Tone};
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
        | Fault::SignInRequired { .. }
        | Fault::Forbidden { .. }
        | Fault::UnknownGroup { .. }
        | Fault::Unreachable { .. }
        | Fault::NoQuorum { .. }
        | Fault::NotOwner { .. }
        | Fault::OwnerChanged { .. }
        | Fault::WrongType { .. }
        | Fault::AuditUnavailable { .. }
        | Fault::TooMany { .. }
        | Fault::Unanswered { .. }
        | Fault::Internal { .. } => Tone::Alarm,
    };
    view! {
        <Banner tone>
            <p class="font-semibold">{sentence(&fault)}</p>
            <p>{advice(&fault)}</p>
            {facts(&fault)}
            {matches!(fault, Fault::SignInRequired { .. })
                .then(|| view! { <SignInLink /> }.into_any())}
            {retry.map(|retry| {
                view! {
                    <div class="mt-2">
                        <Button on_press=retry>
                            <Icon sign=Sign::Refresh />
                            "Try again"
                        </Button>
                    </div>
                }.into_any()
            })}
        </Banner>
    }
}

/// The way to sign in and back.
#[component]
fn SignInLink() -> impl IntoView {
    let location = use_location();
    let href = move || paths::sign_in(&location.pathname.read(), &location.search.read());
    view! {
        // `external`: the page is painted anew for whoever signs in.
        <a href=href rel="external" class="mt-1 inline-block font-medium underline underline-offset-2">
            "Sign in"
        </a>
    }
}

/// The fault as a sentence with a capital and a full stop.
pub fn sentence(fault: &Fault) -> String {
    let text = fault.to_string();
    let text = format::capital(&text);
    if text.ends_with('.') {
        text
    } else {
        format!("{text}.")
    }
}

/// What a person in front of a page can do; what scripts are told speaks of fields and URLs.
fn advice(fault: &Fault) -> &'static str {
    match fault {
        Fault::Held { .. } => {
            "Nothing was changed. Wait for its lease to end, or look at who holds it."
        }
        Fault::ConfirmRequired { .. } => "Type the lock's name to confirm. Nothing was changed.",
        Fault::UnknownGroup { .. } => {
            "The configuration may have changed since this page was opened."
        }
        Fault::NotObserved { .. } => {
            "That is what the nodes show; an observer cannot prove that nobody relies on it."
        }
        Fault::NotHeld { .. } => {
            "It expired or was released before this arrived. Nothing was changed."
        }
        Fault::OwnerChanged { .. } | Fault::HoldChanged { .. } => {
            "Look at the lock again before you decide."
        }
        Fault::PossibleLock { .. } => {
            "Pin a pattern to its format in the configuration to make it a lock. Nothing was changed."
        }
        Fault::NotReleasable { .. } => "Nothing was changed.",
        Fault::SignInRequired { .. } => "Sign in, then look at this page again.",
        Fault::BadRequest { .. }
        | Fault::Impossible { .. }
        | Fault::Forbidden { .. }
        | Fault::Unreachable { .. }
        | Fault::NoQuorum { .. }
        | Fault::NotOwner { .. }
        | Fault::WrongType { .. }
        | Fault::AuditUnavailable { .. }
        | Fault::TooMany { .. }
        | Fault::Unanswered { .. }
        | Fault::Internal { .. } => fault.advice(),
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
        } => Some(format!(", for another {}", format::span(*left))),
        Fault::Held {
            owner: Some(_),
            lease_ms: None,
            ..
        } => Some(", without an end of its own".to_owned()),
        _ => None,
    };
    let acts = match fault {
        Fault::Held { nodes, .. }
        | Fault::NoQuorum { nodes, .. }
        | Fault::NotHeld { nodes }
        | Fault::NotOwner { nodes }
        | Fault::OwnerChanged { nodes, .. }
        | Fault::HoldChanged { nodes }
        | Fault::WrongType { nodes, .. } => nodes.clone(),
        _ => Vec::new(),
    };
    let silent = match fault {
        Fault::Unreachable { nodes, .. } => nodes.clone(),
        _ => Vec::new(),
    };
    view! {
        {owner.map(|owner| view! { <p class="mt-1">"Held by " <OwnerName owner /> {lease}</p> }.into_any())}
        {(!acts.is_empty()).then(|| view! { <div class="mt-1.5"><NodeActs acts /></div> }.into_any())}
        {silent
            .into_iter()
            .filter_map(|node| match node.answer {
                crate::domain::Answer::Unreachable { reason } => Some(view! { <p>{format!("{}: {reason}", node.node)}</p> }),
                crate::domain::Answer::Holds { .. } | crate::domain::Answer::Absent => None,
            })
            .collect_view()}
    }
}
