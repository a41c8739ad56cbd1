//! The hour around a time: a lane per owner, flag and node that was not up, and the stretches that
//! were not recorded.

use std::collections::BTreeMap;

use leptos::prelude::*;

use crate::domain::activity::owner_lanes::owner_lanes;
use crate::domain::{Activity, Hold, RecordedLock, Timestamp};
use crate::ui::components::owners_chart::{lane_content, lane_name};
use crate::ui::format;
use crate::ui::i18n::{activity, lock, pinned as t, terms};
use crate::ui::kit::Card;
use crate::ui::kit::chart::{BarStyle, LaneBar, LaneContent, Scale, SpanChart, SpanRow};

/// The number of lanes of owners, starting with the latest.
const MAX_OWNERS: usize = 8;
/// The number of lanes of flags and of nodes.
const MAX_LANES: usize = 8;
/// The number of rows of the table.
const MAX_TABLE_ROWS: usize = 100;

/// The chart.
#[component]
pub fn AroundChart(
    /// The recorded lock.
    record: RecordedLock,
) -> impl IntoView {
    let (at, around) = (record.at, record.around);
    let scale = Scale {
        from: around.from.millis(),
        until: around.to.millis().max(around.from.millis() + 1_000),
    };
    let holds: Vec<Hold> = around.holds.iter().map(|one| one.hold.clone()).collect();
    let rows = span_rows(&around, &holds, at);
    let summary = t::summary(&format::hold_count(holds.len()));
    let axis_labels = Signal::derive(move || {
        let label = |ms| format::time_of_day(Timestamp::from_millis(ms));
        (label(scale.from), label(scale.until))
    });
    let table = Signal::derive(move || table_rows(&around));
    let columns = vec![t::what(), lock::from(), lock::until(), lock::end_reason()];
    view! {
        <Card id="pinned-around" title=t::around()>
            <SpanChart
                id="pinned-chart"
                title=t::around()
                summary=Signal::stored(summary)
                axis_labels
                scale=Signal::stored(scale)
                rows=Signal::stored(rows)
                table=(lock::as_table().to_owned(), columns, table)
            />
        </Card>
    }
}

/// A lane of periods that are no holds.
fn period_row(name: String, periods: Vec<(Timestamp, Timestamp)>) -> SpanRow {
    let style = BarStyle::of_name(&name);
    let bars = periods.into_iter().map(|(from, until)| LaneBar {
        from: from.millis(),
        until: until.millis(),
        row: 0,
        style,
    });
    let mut bars: Vec<LaneBar> = bars.collect();
    bars.sort_by_key(|bar| bar.from);
    SpanRow {
        name,
        content: LaneContent {
            row_count: 1,
            bars,
            ..LaneContent::default()
        },
    }
}

fn span_rows(around: &Activity, holds: &[Hold], at: Timestamp) -> Vec<SpanRow> {
    let known_until = around.to;
    let mut rows: Vec<SpanRow> = owner_lanes(holds, MAX_OWNERS)
        .iter()
        .map(|lane| SpanRow {
            name: lane_name(lane),
            content: lane_content(lane, &[], known_until.millis()),
        })
        .collect();
    let mut periods: BTreeMap<String, Vec<(Timestamp, Timestamp)>> = BTreeMap::new();
    for period in &around.flags {
        let lane = periods.entry(t::flag_row(terms::flag(period.flag)));
        let until = period.to.unwrap_or(known_until);
        lane.or_default().push((period.from, until));
    }
    for outage in &around.outages {
        let node = format::escape_invisible(&outage.node);
        let until = outage.to.unwrap_or(known_until);
        let lane = periods.entry(t::outage_row(&node));
        lane.or_default().push((outage.from, until));
    }
    let periods = periods.into_iter().take(MAX_LANES);
    rows.extend(periods.map(|(name, periods)| period_row(name, periods)));
    let mut gaps: Vec<(Timestamp, Timestamp)> = around
        .gaps
        .iter()
        .map(|gap| (gap.from, gap.to.unwrap_or(known_until)))
        .collect();
    let begins_later = |since: &Timestamp| *since > around.from;
    let before = around.recorded_since.filter(begins_later);
    gaps.extend(before.map(|since| (around.from, since.min(known_until))));
    if !gaps.is_empty() {
        rows.push(period_row(t::gap_row().to_owned(), gaps));
    }
    for row in &mut rows {
        row.content.ticks = vec![at.millis()];
    }
    rows
}

fn table_rows(around: &Activity) -> Vec<Vec<String>> {
    let row = |what: String, from: Timestamp, to: Option<Timestamp>, how: &str| {
        vec![
            what,
            format::date_time(from),
            to.map(format::date_time).unwrap_or_default(),
            how.to_owned(),
        ]
    };
    let gaps = around.gaps.iter().map(|gap| {
        let cause = activity::gap_cause(gap.cause);
        row(t::gap_row().to_owned(), gap.from, gap.to, cause)
    });
    let outages = around.outages.iter().map(|outage| {
        let node = t::outage_row(&format::escape_invisible(&outage.node));
        row(
            node,
            outage.from,
            outage.to,
            terms::node_state(outage.state),
        )
    });
    let flags = around.flags.iter().map(|period| {
        let flag = t::flag_row(terms::flag(period.flag));
        row(flag, period.from, period.to, "")
    });
    let holds = around.holds.iter().map(|recorded| {
        let hold = &recorded.hold;
        let owner = match &hold.label {
            Some(label) => format::shorten(&format::escape_invisible(label), 36),
            None => hold.fingerprint.short().to_owned(),
        };
        let how = lock::ended(hold.end_reason);
        row(owner, hold.started_at, hold.ended_at, how)
    });
    let rows = gaps.chain(outages).chain(flags).chain(holds);
    rows.take(MAX_TABLE_ROWS).collect()
}
