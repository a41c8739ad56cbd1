//! Where a release is confirmed.

use leptos::prelude::*;

use super::confirmation::Confirmation;
use crate::domain::LockKey;
use crate::ui::format;
use crate::ui::kit::{Binding, CopyButton, TextField};
use crate::ui::words::act as words;

/// Longer names are easier copied than typed.
const EASILY_TYPED: usize = 40;

/// Asks for what confirms the release; nothing where nothing has to.
#[component]
pub(super) fn ConfirmationField(
    confirmation: Memo<Option<Confirmation>>,
    key: LockKey,
    #[prop(into)] typed: Binding<String>,
) -> impl IntoView {
    let shown = key.text().into_owned();
    let is_copyable = !shown.is_empty() && format::visible(&shown) == shown;
    move || {
        let wanted = confirmation.get()?;
        let name = wanted.expected.clone();
        let is_hard_to_type = name.chars().count() > EASILY_TYPED || !name.is_ascii();
        let copies = is_copyable && wanted.hint.is_empty() && is_hard_to_type;
        Some(view! {
            <TextField
                id="release-confirm"
                label=wanted.label
                hint=wanted.hint
                placeholder=format::shorten(&wanted.expected, 48)
                value=typed
                mono=true
                required=true
            />
            {copies.then(|| view! { <CopyButton text=name label=words::copy_name() /> })}
        })
    }
}
