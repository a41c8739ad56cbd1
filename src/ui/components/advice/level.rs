//! The level of an advice: a shape, a word and a colour.

use leptos::prelude::*;

use crate::domain::AdviceLevel;
use crate::ui::i18n::{advice as t, punctuation};
use crate::ui::kit::Tone;

/// The colour of a level.
pub fn tone(level: AdviceLevel) -> Tone {
    match level {
        AdviceLevel::OwnerAlive => Tone::Alarm,
        AdviceLevel::OwnerSilent => Tone::Warn,
        AdviceLevel::Unknown => Tone::Unsure,
    }
}

/// A level with its meaning.
#[component]
pub fn LevelLine(
    /// The level.
    level: AdviceLevel,
) -> impl IntoView {
    let shape = match level {
        AdviceLevel::OwnerAlive => view! {
            <circle cx="8" cy="8" r="7" fill="currentColor"></circle>
            <path class="stroke-surface" d="m5.5 5.5 5 5m0-5-5 5" stroke-width="1.75" stroke-linecap="round"></path>
        }
        .into_any(),
        AdviceLevel::OwnerSilent => view! {
            <circle cx="8" cy="8" r="6.25" fill="none" stroke="currentColor" stroke-width="1.5"></circle>
            <path d="M4.5 8h7" stroke="currentColor" stroke-width="1.75" stroke-linecap="round"></path>
        }
        .into_any(),
        AdviceLevel::Unknown => view! {
            <circle cx="8" cy="8" r="6.25" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.6 2"></circle>
        }
        .into_any(),
    };
    let class = format!(
        "flex items-start gap-2 rounded-lg px-3 py-2 {}",
        tone(level).surface()
    );
    view! {
        <p class=class data-level=level.slug()>
            <svg class="mt-0.5 size-4 shrink-0" viewBox="0 0 16 16" aria-hidden="true">
                {shape}
            </svg>
            <span class="min-w-0">
                <span class="font-semibold">{t::level(level)}</span>
                {punctuation::full_stop()}
                {t::level_meaning(level)}
            </span>
        </p>
    }
}
