//! An owner, as read from a lock's value: the label and the fingerprint.

use leptos::prelude::*;

use crate::domain::{Fingerprint, Owner};
use crate::ui::format;
use crate::ui::i18n::locks as t;

/// An owner: the label and the start of the fingerprint. The title has both in full.
#[component]
pub fn OwnerName(
    /// The owner.
    owner: Owner,
) -> impl IntoView {
    let title = match &owner.label {
        Some(label) => format!(
            "{} · {}",
            format::escape_invisible(label),
            t::fingerprint(owner.fingerprint.as_str())
        ),
        None => t::fingerprint(owner.fingerprint.as_str()),
    };
    // Beside a label, four digits are enough to distinguish owners. Without one, eight are shown.
    let digits = if owner.label.is_some() { 4 } else { 8 };
    let short = owner.fingerprint.as_str()[..digits].to_owned();
    let label = owner
        .label
        .map(|label| format::shorten(&format::escape_invisible(&label), 36));
    let hold_count = owner
        .hold_count
        .filter(|hold_count| *hold_count > 1)
        .map(|hold_count| format!(" ×{hold_count}"));
    view! {
        // If the space is too narrow, the label is cut, not the fingerprint.
        <span class="inline-flex max-w-full items-baseline gap-1 whitespace-nowrap" title=title>
            {label.map(|label| view! { <bdi class="truncate">{label}</bdi> " " })}
            <span class="shrink-0 font-mono text-xs text-muted">{short}"…"</span>
            {hold_count}
        </span>
    }
}

/// Formats a fingerprint as four groups of four digits, which are easier to compare.
pub fn format_fingerprint(fingerprint: &Fingerprint) -> String {
    let text = fingerprint.as_str();
    [&text[..4], &text[4..8], &text[8..12], &text[12..]].join(" ")
}
