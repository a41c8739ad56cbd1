//! The charts of the UI kit, with constant data, because the rendering is compared with a
//! screenshot.

use leptos::prelude::*;

use crate::ui::kit::Tone;
use crate::ui::kit::chart::{ChartSpan, Level, LineChart, Scale, SpanChart, SpanRow, Stroke};

/// A chart of each kind.
#[component]
pub fn Charts() -> impl IntoView {
    view! {
        <div class="grid gap-6 md:grid-cols-2">
            <div class="min-w-0">
                <Lines />
            </div>
            <div class="min-w-0">
                <Spans />
            </div>
        </div>
    }
}

fn ends() -> Signal<(String, String)> {
    Signal::stored(("the beginning".to_owned(), "the end".to_owned()))
}

fn cells(rows: &[[&str; 2]]) -> Signal<Vec<Vec<String>>> {
    let row = |row: &[&str; 2]| row.map(str::to_owned).to_vec();
    Signal::stored(rows.iter().map(row).collect())
}

#[component]
fn Lines() -> impl IntoView {
    let stroke = |from, to, is_expected| Stroke {
        from,
        to,
        is_expected,
    };
    let strokes = vec![
        stroke((0, 90), (30, 60), false),
        stroke((30, 90), (60, 60), false),
        stroke((60, 60), (120, 0), true),
    ];
    let level = |at, label: &str, tone| Level {
        at,
        label: label.to_owned(),
        tone,
    };
    let levels = vec![
        level(60, "warning", Tone::Warn),
        level(30, "needs attention", Tone::Alarm),
    ];
    let across = Scale {
        from: 0,
        until: 120,
    };
    let up = Scale { from: 0, until: 90 };
    let rows = cells(&[["0", "90"], ["30", "60"], ["60", "60"]]);
    view! {
        <LineChart
            id="kit-lines"
            title="Strokes over time"
            summary=Signal::stored("Down to the first level, up again, and down to where the rest is expected.".to_owned())
            ends=ends()
            reach=Signal::stored((across, up))
            strokes=Signal::stored(strokes)
            levels=Signal::stored(levels)
            present=Signal::stored(60)
            table=("The strokes as a table".to_owned(), vec!["Time", "Value"], rows)
        />
    }
}

#[component]
fn Spans() -> impl IntoView {
    let span = |from, until, tone| ChartSpan {
        from,
        until,
        tone,
        is_interrupted: false,
        is_ongoing: false,
    };
    let row = |name: &str, spans, ticks| SpanRow {
        name: name.to_owned(),
        spans,
        ticks,
    };
    let cut = ChartSpan {
        is_interrupted: true,
        ..span(20, 50, Tone::Warn)
    };
    let unended = ChartSpan {
        is_ongoing: true,
        ..span(55, 120, Tone::Good)
    };
    let bars = vec![
        row("ended", vec![span(0, 15, Tone::Good)], vec![5, 10]),
        row("interrupted", vec![cut], vec![25, 30, 35, 40]),
        row(
            "ongoing",
            vec![unended, span(80, 90, Tone::Alarm)],
            vec![70],
        ),
        row(
            "a name longer than its column",
            vec![span(52, 53, Tone::Unsure)],
            Vec::new(),
        ),
    ];
    let rows = cells(&[["ended", "15"], ["interrupted", "30"], ["ongoing", "65"]]);
    let reach = Scale {
        from: 0,
        until: 120,
    };
    view! {
        <SpanChart
            id="kit-spans"
            title="Spans over time"
            summary=Signal::stored("One after the other, and the last has no end yet.".to_owned())
            ends=ends()
            reach=Signal::stored(reach)
            rows=Signal::stored(bars)
            table=("The spans as a table".to_owned(), vec!["Name", "Duration"], rows)
        />
    }
}
