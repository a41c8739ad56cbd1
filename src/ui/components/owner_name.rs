//! An owner, as read from a lock's value: the label and the fingerprint.

use leptos::prelude::*;

use crate::domain::{Fingerprint, Owner, OwnerIdentity};
use crate::ui::i18n::locks as t;
use crate::ui::kit::Link;
use crate::ui::{format, paths};

/// An owner: the label and the start of the fingerprint. The title has both in full.
#[component]
pub fn OwnerName(
    /// The owner.
    owner: Owner,
    /// Whether a label is shown without the fingerprint.
    #[prop(optional)]
    is_short: bool,
    /// Whether the name links to the page of the owner.
    #[prop(optional)]
    is_linked: bool,
    /// Whether the name is one of several in a line, which has no space for long fingerprints.
    #[prop(optional)]
    is_in_list: bool,
) -> impl IntoView {
    let href = is_linked.then(|| {
        let identity = OwnerIdentity::of(owner.label.as_deref(), &owner.fingerprint);
        paths::owner(&identity)
    });
    let title = match &owner.label {
        Some(label) => format!(
            "{} · {}",
            format::escape_invisible(label),
            t::fingerprint(owner.fingerprint.as_str())
        ),
        None => t::fingerprint(owner.fingerprint.as_str()),
    };
    // Beside a label or other owners, four digits are enough to distinguish owners. Otherwise eight
    // are shown.
    let digits = if owner.label.is_some() || is_in_list {
        4
    } else {
        8
    };
    let short = (!is_short || owner.label.is_none()).then(|| {
        let short = owner.fingerprint.as_str()[..digits].to_owned();
        view! { <span class="shrink-0 font-mono text-xs text-muted">{short} "…"</span> }
    });
    let label = owner
        .label
        .map(|label| format::shorten(&format::escape_invisible(&label), 36));
    let hold_count = owner
        .hold_count
        .filter(|hold_count| *hold_count > 1)
        .map(|hold_count| format!(" ×{hold_count}"));
    let name = view! {
        // If the space is too narrow, the label is cut, not the fingerprint.
        <span class="inline-flex max-w-full items-baseline gap-1 whitespace-nowrap" title=title>
            {label.map(|label| view! { <bdi class="truncate">{label}</bdi> " " })}
            {short}
            {hold_count}
        </span>
    };
    match href {
        Some(href) => view! {
            <Link href class="inline-flex max-w-full rounded underline-offset-2 hover:underline">{name}</Link>
        }
        .into_any(),
        None => name.into_any(),
    }
}

/// Formats a fingerprint as four groups of four digits, which are easier to compare.
pub fn format_fingerprint(fingerprint: &Fingerprint) -> String {
    let text = fingerprint.as_str();
    [&text[..4], &text[4..8], &text[8..12], &text[12..]].join(" ")
}
