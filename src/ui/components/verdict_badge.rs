//! Verdicts as a shape and a word, and flags as words. Colour only repeats the meaning, for users
//! who cannot see it.

use leptos::prelude::*;

use crate::domain::{Evidence, Flag, Lock, Verdict};
use crate::ui::i18n::{locks as t, punctuation, terms};
use crate::ui::kit::{Badge, Tone};

/// A verdict: a shape and a word.
#[component]
pub fn VerdictBadge(
    /// The verdict.
    verdict: Verdict,
) -> impl IntoView {
    // Colour is spent on locks that need attention, so the word of a healthy one has none.
    let word = match verdict {
        Verdict::Held => "text-ink",
        Verdict::Partial | Verdict::Split | Verdict::Unknown => "font-medium",
    };
    view! {
        <span class=format!("inline-flex items-center gap-1.5 whitespace-nowrap {}", verdict_tone(verdict).text())>
            <VerdictShape verdict /> <span class=word>{terms::verdict(verdict)}</span>
        </span>
    }
}

/// The colour of a verdict.
pub fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Held => Tone::Good,
        Verdict::Partial => Tone::Warn,
        Verdict::Split => Tone::Alarm,
        Verdict::Unknown => Tone::Unsure,
    }
}

#[component]
fn VerdictShape(verdict: Verdict) -> impl IntoView {
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

/// Flags as words. For contention, the badge shows the strongest evidence.
#[component]
pub fn FlagBadges(
    /// The flags to show.
    flags: Vec<Flag>,
    /// The evidence of contention.
    evidence: Vec<Evidence>,
) -> impl IntoView {
    let label = {
        let mark = evidence.first().map(terms::evidence_mark);
        move |flag: Flag| match (flag, &mark) {
            (Flag::Contended, Some(mark)) => mark.clone(),
            (other, _) => terms::flag(other).to_owned(),
        }
    };
    let title = move |flag| match flag {
        Flag::Contended if !evidence.is_empty() => {
            let signs = evidence.iter().map(terms::evidence);
            signs.collect::<Vec<_>>().join(punctuation::comma())
        }
        other => t::flag_description(other).to_owned(),
    };
    flags
        .into_iter()
        .map(|flag| {
            let (label, title) = (label(flag), title(flag));
            view! { <Badge tone=flag_tone(flag) title>{label}</Badge> }
        })
        .collect_view()
}

/// Returns the flags of a lock without those that its verdict implies.
pub fn extra_flags(lock: &Lock) -> Vec<Flag> {
    let is_implied = |flag: Flag| match lock.verdict {
        Verdict::Held => false,
        Verdict::Split => matches!(flag, Flag::Split | Flag::Fragment),
        Verdict::Partial | Verdict::Unknown => flag == Flag::Fragment,
    };
    lock.flags
        .iter()
        .copied()
        .filter(|flag| !is_implied(*flag))
        .collect()
}

fn flag_tone(flag: Flag) -> Tone {
    match flag {
        Flag::NoExpiry | Flag::Split | Flag::Overdue => Tone::Alarm,
        Flag::Endless | Flag::AtRisk | Flag::RestartHazard => Tone::Warn,
        Flag::Contended | Flag::Fragment => Tone::Plain,
    }
}
