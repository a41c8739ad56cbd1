//! The verdict as shape and word, and the flags as words. Colour only repeats them.

use leptos::prelude::*;

use crate::domain::{Evidence, Flag, Lock, Verdict};
use crate::ui::kit::{Badge, Tone};
use crate::ui::words::{locks as words, punctuation, verdicts};

/// A verdict: shape and word.
#[component]
pub fn VerdictBadge(
    /// The verdict.
    verdict: Verdict,
) -> impl IntoView {
    view! {
        <span class=format!("inline-flex items-center gap-1.5 whitespace-nowrap font-medium {}", tone(verdict).text())>
            <Shape verdict /> {verdicts::verdict(verdict)}
        </span>
    }
}

/// What a verdict's colour means.
pub fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Held => Tone::Good,
        Verdict::Partial => Tone::Warn,
        Verdict::Split => Tone::Alarm,
        Verdict::Unknown => Tone::Unsure,
    }
}

#[component]
fn Shape(verdict: Verdict) -> impl IntoView {
    let inside = match verdict {
        Verdict::Held => view! { <circle cx="6" cy="6" r="4.5" fill="currentColor"></circle> }.into_any(),
        Verdict::Partial => view! {
            <circle cx="6" cy="6" r="4.25" fill="none" stroke="currentColor" stroke-width="1.5"></circle>
            <path d="M6 1.75a4.25 4.25 0 0 0 0 8.5z" fill="currentColor"></path>
        }
        .into_any(),
        Verdict::Split => view! { <path d="M6 .8 11.6 11H.4z" fill="currentColor"></path> }.into_any(),
        Verdict::Unknown => {
            view! { <circle cx="6" cy="6" r="4.25" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.2 1.6"></circle> }
                .into_any()
        }
    };
    view! {
        <svg class="size-3 shrink-0" viewBox="0 0 12 12" aria-hidden="true">
            {inside}
        </svg>
    }
}

/// The flags that say more than the verdict does, as words.
#[component]
pub fn FlagWords(
    /// The flags.
    flags: Vec<Flag>,
    /// How contention is known.
    evidence: Vec<Evidence>,
) -> impl IntoView {
    let said = {
        let sign = evidence.first().map(verdicts::evidence_mark);
        move |flag: Flag| match (flag, &sign) {
            (Flag::Contended, Some(figure)) => figure.clone(),
            (other, _) => verdicts::flag(other).to_owned(),
        }
    };
    let title = move |flag| match flag {
        Flag::Contended if !evidence.is_empty() => {
            let signs = evidence.iter().map(verdicts::evidence);
            signs.collect::<Vec<_>>().join(punctuation::comma())
        }
        other => words::explain(other).to_owned(),
    };
    flags
        .into_iter()
        .map(|flag| {
            let (said, title) = (said(flag), title(flag));
            view! { <Badge tone=flag_tone(flag) title>{said}</Badge> }
        })
        .collect_view()
}

/// The flags of a lock without those that its verdict already says.
pub fn telling_flags(lock: &Lock) -> Vec<Flag> {
    let said = |flag: Flag| match lock.verdict {
        Verdict::Held => false,
        Verdict::Split => matches!(flag, Flag::Split | Flag::Fragment),
        Verdict::Partial | Verdict::Unknown => flag == Flag::Fragment,
    };
    lock.flags
        .iter()
        .copied()
        .filter(|flag| !said(*flag))
        .collect()
}

fn flag_tone(flag: Flag) -> Tone {
    match flag {
        Flag::NoExpiry | Flag::Split | Flag::Overdue => Tone::Alarm,
        Flag::Endless | Flag::AtRisk | Flag::RestartHazard => Tone::Warn,
        Flag::Contended | Flag::Fragment => Tone::Plain,
    }
}
