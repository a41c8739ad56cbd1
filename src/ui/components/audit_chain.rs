//! Whether the lines of the audit are as they were written, as far as this console knows.

use leptos::prelude::*;

use super::loaded::Answered;
use crate::domain::{ChainCheck, Checked, Fault};
use crate::ui::format;
use crate::ui::kit::{Banner, Tone};
use crate::ui::live::Loading;
use crate::ui::words::audit as words;

/// What came of going through the chain, and when.
#[component]
pub fn AuditChain(
    /// What the console knows of it.
    asked: Loading<ChainCheck>,
) -> impl IntoView {
    let show = Callback::new(|answer: Result<ChainCheck, Fault>| match answer {
        Ok(ChainCheck::Done(checked)) if checked.flaws > 0 => {
            view! { <Flawed checked /> }.into_any()
        }
        Ok(ChainCheck::Done(checked)) => {
            let when = format::time_of_day(checked.at);
            said(words::verified(checked.first, checked.last, when))
        }
        Ok(ChainCheck::UnderWay) => said(words::verifying().to_owned()),
        // Who may not ask is told what anybody can do.
        Ok(ChainCheck::NotHere) | Err(_) => said(words::not_verified().to_owned()),
    });
    view! {
        <div class="mt-2">
            <Answered loading=asked show />
        </div>
    }
}

fn said(words: String) -> AnyView {
    view! {
        <p class="text-xs text-muted">
            {words::chain()} {words} <code>"lockkeeper audit verify"</code>
        </p>
    }
    .into_any()
}

#[component]
fn Flawed(checked: Checked) -> impl IntoView {
    view! {
        <Banner tone=Tone::Alarm>
            <p class="font-semibold">{words::flawed(checked.flaws, format::time_of_day(checked.at))}</p>
            <p>{words::flawed_advice()} <code>"lockkeeper audit verify"</code></p>
        </Banner>
    }
}
