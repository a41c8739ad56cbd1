//! The result of the last verification of the audit log's hash chain.

use leptos::prelude::*;

use super::resource_view::ResourceResultView;
use crate::domain::{ChainCheck, ChainCheckResult, OperationError};
use crate::ui::format;
use crate::ui::i18n::audit as t;
use crate::ui::kit::{Banner, Tone};
use crate::ui::live::ServerResource;

/// The result of the last verification.
#[component]
pub fn AuditChain(
    /// The state of the verification.
    check: ServerResource<ChainCheck>,
) -> impl IntoView {
    let show = Callback::new(|answer: Result<ChainCheck, OperationError>| match answer {
        Ok(ChainCheck::Done(checked)) if checked.error_count > 0 => {
            view! { <BrokenChain checked /> }.into_any()
        }
        Ok(ChainCheck::Done(checked)) => status_line(move || {
            let when = format::time_of_day(checked.started_at);
            t::chain_verified(checked.first_seq, checked.last_seq, when)
        }),
        Ok(ChainCheck::InProgress) => status_line(|| t::chain_verifying().to_owned()),
        // Without permission for the result, the user sees how to verify the log with the CLI.
        Ok(ChainCheck::Unavailable) | Err(_) => status_line(|| t::chain_not_verified().to_owned()),
    });
    view! {
        <div class="mt-2">
            <ResourceResultView loading=check show />
        </div>
    }
}

fn status_line(text: impl Fn() -> String + Send + 'static) -> AnyView {
    view! {
        <p class="text-xs text-muted">
            {t::chain_intro()} {text} <code>"lockkeeper audit verify"</code>
        </p>
    }
    .into_any()
}

#[component]
fn BrokenChain(checked: ChainCheckResult) -> impl IntoView {
    view! {
        <Banner tone=Tone::Alarm>
            <p class="font-semibold">{move || t::chain_broken(checked.error_count, format::time_of_day(checked.started_at))}</p>
            <p>{t::chain_broken_advice()} <code>"lockkeeper audit verify"</code></p>
        </Banner>
    }
}
