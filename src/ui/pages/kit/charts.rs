//! The charts of the UI kit, with constant data, because the rendering is compared with a
//! screenshot.

use leptos::prelude::*;

use crate::ui::kit::Tone;
use crate::ui::kit::chart::{
    BarShape, BarStyle, LaneBar, LaneContent, Level, LineChart, Scale, SpanChart, SpanRow, Stroke,
};

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
            axis_labels=ends()
            scales=Signal::stored((across, up))
            strokes=Signal::stored(strokes)
            levels=Signal::stored(levels)
            present=Signal::stored(60)
            present_label="present"
            ticks=Signal::stored(vec![(up.from, "low".to_owned()), (up.until, "high".to_owned())])
            read_out=|at| Some(format!("at {at}"))
            table=("The strokes as a table".to_owned(), vec!["Time", "Value"], rows)
        />
    }
}

#[component]
fn Spans() -> impl IntoView {
    let bar = |from, until, row, style| LaneBar {
        from,
        until,
        row,
        style,
    };
    let series = BarStyle::Series;
    let row = |name: &str, content| SpanRow {
        name: name.to_owned(),
        content,
    };
    let shapes = [
        BarShape::Full,
        BarShape::Upper,
        BarShape::Lower,
        BarShape::Double,
    ];
    let colours = (0..8_u8).zip(shapes.into_iter().cycle());
    let colours = colours.map(|(colour, shape)| {
        let from = i64::from(colour) * 15;
        bar(from, from + 12, 0, series(colour, shape))
    });
    let marked = LaneContent {
        row_count: 1,
        bars: vec![bar(20, 50, 0, series(0, BarShape::Full))],
        crosses: vec![50],
        ticks: vec![25, 30, 35, 40],
        alarms: vec![(80, 100)],
    };
    let overlapping = LaneContent {
        row_count: 3,
        bars: vec![
            bar(0, 70, 0, series(1, BarShape::Full)),
            bar(30, 120, 1, series(2, BarShape::Full)),
            bar(40, 60, 2, series(3, BarShape::Double)),
        ],
        ..LaneContent::default()
    };
    let close = LaneContent {
        row_count: 1,
        bars: vec![bar(52, 53, 0, BarStyle::Mixed)],
        ..LaneContent::default()
    };
    let bars = vec![
        row(
            "series",
            LaneContent {
                row_count: 1,
                bars: colours.collect(),
                ..LaneContent::default()
            },
        ),
        row("marked", marked),
        row("overlapping", overlapping),
        row("a name longer than its column", close),
    ];
    let rows = cells(&[["series", "120"], ["marked", "30"], ["overlapping", "120"]]);
    let scale = Scale {
        from: 0,
        until: 120,
    };
    view! {
        <SpanChart
            id="kit-spans"
            title="Spans over time"
            summary=Signal::stored("One after the other, and the last has no end yet.".to_owned())
            axis_labels=ends()
            scale=Signal::stored(scale)
            rows=Signal::stored(bars)
            table=("The spans as a table".to_owned(), vec!["Name", "Duration"], rows)
        />
    }
}
