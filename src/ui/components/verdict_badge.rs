//! The verdict as shape and word, and the flags as words. Colour only repeats them.

use leptos::prelude::*;

use crate::domain::{Evidence, Flag, Lock, Verdict};
use crate::ui::kit::{Badge, Tone};

/// A verdict: shape and word.
#[component]
pub fn VerdictBadge(
    /// The verdict.
    verdict: Verdict,
) -> impl IntoView {
    view! {
        <span class=format!("inline-flex items-center gap-1.5 whitespace-nowrap font-medium {}", tone(verdict).text())>
            <Shape verdict /> {verdict.slug()}
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
    let words = {
        let sign = evidence.first().map(Evidence::figure);
        move |flag: Flag| match (flag, &sign) {
            (Flag::Contended, Some(figure)) => figure.clone(),
            (other, _) => other.slug().replace('-', " "),
        }
    };
    let title = move |flag| match flag {
        Flag::Contended if !evidence.is_empty() => {
            let signs = evidence.iter().map(Evidence::sentence);
            signs.collect::<Vec<_>>().join(", ")
        }
        other => explain(other).to_owned(),
    };
    flags
        .into_iter()
        .map(|flag| {
            let (said, title) = (words(flag), title(flag));
            view! { <Badge tone=flag_tone(flag) title>{said}</Badge> }.into_any()
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

fn explain(flag: Flag) -> &'static str {
    match flag {
        Flag::NoExpiry => "The key has no time to live: only a release ends it.",
        Flag::AtRisk => {
            "It missed a renewal, or under a fifth of its lease is left with no renewal seen."
        }
        Flag::Overdue => "It is held past its own time.",
        Flag::Endless => "It has been renewed past the configured longest hold.",
        Flag::Contended => "Others want it too; the lock's page says how that is known.",
        Flag::Split => "A second owner stands beside the one that has the quorum.",
        Flag::Fragment => "The owner is on fewer nodes than the quorum.",
        Flag::RestartHazard => {
            "A node that counts restarted less than the longest lease ago, without safe persistence."
        }
    }
}
