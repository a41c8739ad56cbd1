//! A chart of a lock's owners over time: a lane per label, a bar per hold, a tick per renewal, and a
//! cross for a force release.

use leptos::prelude::*;

use crate::domain::activity::owner_lanes::{OwnerLane, owner_lanes};
use crate::domain::{Hold, HoldEndReason, RenewalEvent, Timestamp};
use crate::ui::format;
use crate::ui::i18n::lock as t;
use crate::ui::kit::chart::{BarStyle, LaneBar, LaneContent, Scale, SpanChart, SpanRow};
use crate::ui::live::Live;

/// The number of lanes, starting with the latest owner.
const MAX_LANES: usize = 8;
/// The number of holds drawn, starting with the latest.
const MAX_HOLDS: usize = 40;

/// The chart.
#[component]
pub fn OwnersChart(
    /// The holds, the latest first.
    holds: Vec<Hold>,
    /// The recorded renewals.
    renewals: Vec<RenewalEvent>,
) -> impl IntoView {
    let live = Live::expect();
    let mut holds = holds;
    holds.truncate(MAX_HOLDS);
    // The axis begins with the first hold that is drawn.
    let start = {
        let lanes = owner_lanes(&holds, MAX_LANES);
        let starts = lanes.iter().filter_map(OwnerLane::started_at);
        starts.min().unwrap_or_else(|| live.now.get_untracked())
    };
    let table = {
        let holds = holds.clone();
        Signal::derive(move || table_rows(&holds))
    };
    let summary = {
        let is_forced = |hold: &&Hold| hold.end_reason == Some(HoldEndReason::Forced);
        let count = format::hold_count(holds.len());
        let forced = holds.iter().filter(is_forced).count();
        t::owners_chart(owner_count(&holds), &count, forced)
    };
    // One update per second is enough for a chart.
    let now = Memo::new(move |_| live.now.get().millis().div_euclid(1_000) * 1_000);
    let range = Memo::new(move |_| Scale {
        from: start.millis(),
        until: now.get().max(start.millis() + 1_000),
    });
    let rows = Signal::derive(move || span_rows(&holds, &renewals, now.get()));
    let end_labels = Signal::derive(move || (format::time_of_day(start), t::now().to_owned()));
    let columns = vec![t::owner(), t::from(), t::until(), t::end_reason()];
    view! {
        <div class="mb-4">
            <h3 class="mb-1 font-medium">{t::owners_over_time()}</h3>
            <SpanChart
                id="owners-chart"
                title=t::owners_over_time()
                summary=Signal::stored(summary)
                axis_labels=end_labels
                scale=range
                rows
                table=(t::as_table().to_owned(), columns, table)
            />
        </div>
    }
}

/// The number of owners: labels, and fingerprints without a label.
fn owner_count(holds: &[Hold]) -> usize {
    let mut owners: Vec<&str> = holds.iter().map(owner_key).collect();
    owners.sort_unstable();
    owners.dedup();
    owners.len()
}

/// What identifies an owner in the chart.
fn owner_key(hold: &Hold) -> &str {
    hold.label.as_deref().unwrap_or(hold.fingerprint.as_str())
}

fn hold_name(hold: &Hold) -> String {
    match &hold.label {
        Some(label) => format::shorten(&format::escape_invisible(label), 36),
        None => hold.fingerprint.short().to_owned(),
    }
}

/// The name of a lane: the label, the fingerprint of a single owner without one, or a word for
/// several.
pub fn lane_name(lane: &OwnerLane<'_>) -> String {
    match (lane.label, lane.only_fingerprint()) {
        (Some(label), _) => format::shorten(&format::escape_invisible(label), 36),
        (None, Some(fingerprint)) => fingerprint.short().to_owned(),
        (None, None) => t::unlabelled_owners().to_owned(),
    }
}

fn span_rows(holds: &[Hold], renewals: &[RenewalEvent], now: i64) -> Vec<SpanRow> {
    let row = |lane: OwnerLane<'_>| SpanRow {
        name: lane_name(&lane),
        content: lane_content(&lane, renewals, now),
    };
    owner_lanes(holds, MAX_LANES).into_iter().map(row).collect()
}

/// The holds of a lane, with the renewals during them. `now` is the end of holds that last.
pub fn lane_content(lane: &OwnerLane<'_>, renewals: &[RenewalEvent], now: i64) -> LaneContent {
    let mut content = LaneContent {
        row_count: 1,
        ..LaneContent::default()
    };
    // The bars of a lane are in the order of time.
    for hold in lane.holds.iter().rev() {
        let from = hold.started_at.millis();
        let until = hold.ended_at.map_or(now, Timestamp::millis).max(from);
        content.bars.push(LaneBar {
            from,
            until,
            row: 0,
            style: BarStyle::of_name(owner_key(hold)),
        });
        if hold.end_reason == Some(HoldEndReason::Forced) {
            content.crosses.push(until);
        }
        // The first observation is the start of the hold, not a renewal.
        let renewals = renewals.iter().map(|renewal| renewal.at.millis());
        content
            .ticks
            .extend(renewals.filter(|at| *at > from && *at <= until));
    }
    content
}

fn table_rows(holds: &[Hold]) -> Vec<Vec<String>> {
    let row = |hold: &Hold| {
        vec![
            hold_name(hold),
            format::time_of_day(hold.started_at),
            hold.ended_at.map(format::time_of_day).unwrap_or_default(),
            t::ended(hold.end_reason).to_owned(),
        ]
    };
    holds.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::StartSource;
    use crate::domain::testing::{NOW, owner};

    fn hold(n: u8, from: i64, until: Option<i64>, end_reason: Option<HoldEndReason>) -> Hold {
        Hold {
            fingerprint: owner(n).fingerprint,
            label: owner(n).label,
            started_at: NOW.plus_millis(from),
            started_at_source: StartSource::Appeared,
            started_at_uncertainty_ms: Some(0),
            ended_at: until.map(|ms| NOW.plus_millis(ms)),
            end_reason,
            renewal_count: 0,
        }
    }

    #[test]
    fn each_label_has_a_lane_with_its_holds_and_its_own_renewals() {
        let holds = [
            hold(2, 500, None, None),
            hold(1, 200, Some(300), Some(HoldEndReason::Forced)),
            hold(2, 0, Some(100), Some(HoldEndReason::Released)),
        ];
        let renewal = |ms: i64| RenewalEvent {
            at: NOW.plus_millis(ms),
            expires_at: NOW.plus_millis(ms + 30),
        };
        let renewals = [200, 250, 500, 600].map(renewal);
        let rows = span_rows(&holds, &renewals, NOW.plus_millis(900).millis());
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["api-2", "api-1"]);
        let since =
            |times: &[i64]| -> Vec<i64> { times.iter().map(|at| at - NOW.millis()).collect() };
        let [second, first] = [&rows[0].content, &rows[1].content];
        assert_eq!(
            (since(&second.ticks), since(&first.ticks)),
            (vec![600], vec![250])
        );
        assert_eq!(
            (since(&second.crosses), since(&first.crosses)),
            (vec![], vec![300])
        );
        let starts: Vec<i64> = second
            .bars
            .iter()
            .map(|bar| bar.from - NOW.millis())
            .collect();
        assert_eq!(starts, [0, 500]);
    }

    #[test]
    fn owners_without_a_label_share_a_lane_but_are_counted_apart() {
        let mut holds = [1, 2, 2].map(|n| hold(n, i64::from(n), None, None));
        assert_eq!(owner_count(&holds), 2);
        for hold in &mut holds {
            hold.label = None;
        }
        assert_eq!(owner_count(&holds), 2);
        let rows = span_rows(&holds, &[], NOW.plus_millis(900).millis());
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["unlabelled"]);
    }
}
