//! Who a lock's value says holds it: the readable part and the fingerprint that people compare.

use leptos::prelude::*;

use crate::domain::{Fingerprint, Owner};
use crate::ui::format;
use crate::ui::words::locks as words;

/// An owner: label, then the start of the fingerprint; all of both on hover.
#[component]
pub fn OwnerName(
    /// Who.
    owner: Owner,
) -> impl IntoView {
    let title = match &owner.label {
        Some(label) => format!(
            "{} · {}",
            format::visible(label),
            words::fingerprint(owner.fingerprint.as_str())
        ),
        None => words::fingerprint(owner.fingerprint.as_str()),
    };
    // Four digits tell owners apart beside a label; alone they carry more of the weight.
    let digits = if owner.label.is_some() { 4 } else { 8 };
    let short = owner.fingerprint.as_str()[..digits].to_owned();
    let label = owner
        .label
        .map(|label| format::shorten(&format::visible(&label), 36));
    let holds = owner
        .holds
        .filter(|holds| *holds > 1)
        .map(|holds| format!(" ×{holds}"));
    view! {
        // Where the room ends, the label is cut and the fingerprint is not.
        <span class="inline-flex max-w-full items-baseline gap-1 whitespace-nowrap" title=title>
            {label.map(|label| view! { <bdi class="truncate">{label}</bdi> " " })}
            <span class="shrink-0 font-mono text-xs text-muted">{short}"…"</span>
            {holds}
        </span>
    }
}

/// A fingerprint in four groups of four, the way people compare it.
pub fn grouped(fingerprint: &Fingerprint) -> String {
    let text = fingerprint.as_str();
    [&text[..4], &text[4..8], &text[8..12], &text[12..]].join(" ")
}
