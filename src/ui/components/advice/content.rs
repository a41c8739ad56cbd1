//! The level of an advice, its facts, who wants the lock, when it ends, and what to do instead.

use leptos::prelude::*;

use super::level::LevelLine;
use crate::domain::ReleaseAdvice;
use crate::ui::i18n::advice as t;

/// The advice for one owner.
#[component]
pub fn AdviceContent(
    /// The advice, updated once a second.
    #[prop(into)]
    advice: Signal<ReleaseAdvice>,
) -> impl IntoView {
    let level = Memo::new(move |_| advice.read().level);
    let facts = Memo::new(move |_| advice.read().reasons.iter().map(t::reason).collect());
    let instead = Memo::new(move |_| {
        let advice = advice.read();
        advice.alternatives.iter().map(t::alternative).collect()
    });
    let demand = Memo::new(move |_| t::demand(&advice.read().demand));
    let library = Memo::new(move |_| t::library_reaction(&advice.read()));
    let end = Memo::new(move |_| t::end(advice.read().end));
    view! {
        {move || view! { <LevelLine level=level.get() /> }}
        <Lines lines=facts label=t::facts() />
        <dl class="mt-3 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 [&_dd]:wrap-anywhere [&_dt]:text-muted">
            <dt>{t::wanted_by()}</dt>
            <dd>{demand}</dd>
            <dt>{t::library()}</dt>
            <dd>{library}</dd>
            <dt>{t::ends()}</dt>
            <dd>{end}</dd>
            <dt>{t::instead()}</dt>
            <dd>
                <Lines lines=instead label=t::instead() />
            </dd>
        </dl>
    }
}

/// A list of sentences. When a sentence changes, only its text is updated.
#[component]
fn Lines(lines: Memo<Vec<String>>, label: &'static str) -> impl IntoView {
    let count = Memo::new(move |_| lines.read().len());
    let line = move |index: usize| {
        let text = move || lines.read().get(index).cloned();
        view! { <li class="wrap-anywhere">{text}</li> }
    };
    view! {
        <ul class="mt-2 flex list-disc flex-col gap-0.5 ps-4 first:mt-0" aria-label=label>
            {move || (0..count.get()).map(line).collect_view()}
        </ul>
    }
}
