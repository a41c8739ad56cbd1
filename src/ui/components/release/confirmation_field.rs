//! The field that confirms a release.

use leptos::prelude::*;

use super::confirmation::Confirmation;
use crate::domain::LockKey;
use crate::ui::format;
use crate::ui::i18n::operations as t;
use crate::ui::kit::{Binding, CopyButton, TextField};

/// Longer names get a copy button.
const MAX_WITHOUT_COPY_BUTTON: usize = 40;

/// The confirmation field. Empty if no confirmation is required.
#[component]
pub(super) fn ConfirmationField(
    confirmation: Memo<Option<Confirmation>>,
    key: LockKey,
    #[prop(into)] typed: Binding<String>,
) -> impl IntoView {
    let name_text = key.text().into_owned();
    let is_copyable = !name_text.is_empty() && format::escape_invisible(&name_text) == name_text;
    move || {
        let confirmation = confirmation.get()?;
        let name = confirmation.expected.clone();
        let is_hard_to_type = name.chars().count() > MAX_WITHOUT_COPY_BUTTON || !name.is_ascii();
        let has_copy_button = is_copyable && confirmation.hint.is_empty() && is_hard_to_type;
        Some(view! {
            <TextField
                id="release-confirm"
                label=confirmation.label
                hint=confirmation.hint
                placeholder=format::shorten(&confirmation.expected, 48)
                value=typed
                mono=true
                required=true
            />
            {has_copy_button.then(|| view! { <CopyButton text=name label=t::copy_name() /> })}
        })
    }
}
