//! A flow chart of the verdicts: three questions, four answers. The help page has the same as a
//! list.

use leptos::prelude::*;

use crate::ui::i18n::help;

/// The height of one question with the arrow to the next, in SVG units.
const STEP_HEIGHT: u32 = 96;

/// The flow chart.
#[component]
pub fn VerdictDiagram() -> impl IntoView {
    let questions = [
        (
            [help::held_question_1(), help::held_question_2()],
            help::held(),
            "●",
            "fill-held-soft",
            "fill-held",
        ),
        (
            [help::unknown_question_1(), help::unknown_question_2()],
            help::unknown(),
            "○",
            "fill-unsure-soft",
            "fill-unsure",
        ),
        (
            [help::split_question_1(), help::split_question_2()],
            help::split(),
            "▲",
            "fill-alarm-soft",
            "fill-alarm",
        ),
    ];
    let steps = (0_u32..).zip(questions).map(|(nth, (lines, verdict, shape, soft, strong))| {
        let y = 8 + nth * STEP_HEIGHT;
        let [first, second] = lines;
        view! {
            <g>
                <rect class="fill-surface stroke-line-strong" x="1" y=y width="190" height="56" rx="8"></rect>
                <text class="fill-ink" x="14" y=y + 24 font-size="14">{first}</text>
                <text class="fill-ink" x="14" y=y + 44 font-size="14">{second}</text>
                <path class="fill-none stroke-line-strong" d=format!("M191 {}h44m-6 -5l6 5l-6 5", y + 28)></path>
                <text class="fill-muted" x="200" y=y + 22 font-size="12">{help::yes()}</text>
                <VerdictPill x=237 y=y + 10 verdict shape soft strong />
                <path class="fill-none stroke-line-strong" d=format!("M96 {}v32m-5 -6l5 6l5 -6", y + 56)></path>
                <text class="fill-muted" x="104" y=y + 78 font-size="12">{help::no()}</text>
            </g>
        }
    });
    view! {
        <svg class="w-full max-w-sm" viewBox="0 0 360 346" role="img" aria-label=help::diagram()>
            {steps.collect_view()}
            <VerdictPill x=36 y=8 + 3 * STEP_HEIGHT verdict=help::partial() shape="◐" soft="fill-warn-soft" strong="fill-warn" />
        </svg>
    }
}

#[component]
fn VerdictPill(
    x: u32,
    y: u32,
    verdict: &'static str,
    shape: &'static str,
    soft: &'static str,
    strong: &'static str,
) -> impl IntoView {
    view! {
        <rect class=soft x=x y=y width="120" height="36" rx="18"></rect>
        <text class=strong x=x + 16 y=y + 23 font-size="14" font-weight="600">
            {format!("{shape} {verdict}")}
        </text>
    }
}
