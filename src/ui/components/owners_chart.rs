//! A chart of a lock's owners over time: a row per owner, a bar per hold, a tick per renewal, and a
//! cross for a force release.

use leptos::prelude::*;

use super::chart_format::{hold_tone, utc_time};
use crate::domain::{Fingerprint, Hold, HoldEndReason, RenewalEvent, Timestamp};
use crate::ui::format;
use crate::ui::i18n::lock as t;
use crate::ui::kit::chart::{ChartSpan, Scale, SpanChart, SpanRow};
use crate::ui::live::Live;

/// The number of owners with a row, starting with the latest.
const MAX_ROWS: usize = 8;
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
    let start = holds.iter().map(|hold| hold.started_at).min();
    let start = start.unwrap_or_else(|| live.now.get_untracked());
    let table = table_rows(&holds);
    let summary = {
        let is_forced = |hold: &&Hold| hold.end_reason == Some(HoldEndReason::Forced);
        let count = format::hold_count(holds.len());
        let forced = holds.iter().filter(is_forced).count();
        t::owners_chart(distinct_owners(&holds).len(), &count, forced)
    };
    // One update per second is enough for a chart.
    let now = Memo::new(move |_| live.now.get().millis().div_euclid(1_000) * 1_000);
    let range = Memo::new(move |_| Scale {
        from: start.millis(),
        until: now.get().max(start.millis() + 1_000),
    });
    let rows = Signal::derive(move || span_rows(&holds, &renewals, now.get()));
    let end_labels = Signal::derive(move || (utc_time(start), t::now().to_owned()));
    let columns = vec![t::owner(), t::from(), t::until(), t::end_reason()];
    view! {
        <div class="mb-4">
            <h3 class="mb-1 font-medium">{t::owners_over_time()}</h3>
            <SpanChart
                id="owners-chart"
                title=t::owners_over_time()
                summary=Signal::stored(summary)
                ends=end_labels
                reach=range
                rows
                table=(t::as_table().to_owned(), columns, Signal::stored(table))
            />
        </div>
    }
}

/// The distinct owners, the latest first.
fn distinct_owners(holds: &[Hold]) -> Vec<&Fingerprint> {
    let mut owners: Vec<&Fingerprint> = Vec::new();
    for hold in holds {
        if !owners.contains(&&hold.fingerprint) {
            owners.push(&hold.fingerprint);
        }
    }
    owners
}

fn hold_name(hold: &Hold) -> String {
    match &hold.label {
        Some(label) => format::shorten(&format::escape_invisible(label), 36),
        None => hold.fingerprint.as_str()[..8].to_owned(),
    }
}

fn span_rows(holds: &[Hold], renewals: &[RenewalEvent], now: i64) -> Vec<SpanRow> {
    let row = |owner: &Fingerprint| {
        let mut row = SpanRow::default();
        for hold in holds.iter().filter(|hold| hold.fingerprint == *owner) {
            row.name = hold_name(hold);
            let (from, until) = (
                hold.started_at.millis(),
                hold.ended_at.map_or(now, Timestamp::millis),
            );
            row.spans.push(ChartSpan {
                from,
                until: until.max(from),
                tone: hold_tone(hold.end_reason),
                is_interrupted: hold.end_reason == Some(HoldEndReason::Forced),
                is_ongoing: hold.ended_at.is_none(),
            });
            // The first observation is the start of the hold, not a renewal.
            let renewals = renewals.iter().map(|renewal| renewal.at.millis());
            row.ticks
                .extend(renewals.filter(|at| *at > from && *at <= until));
        }
        row
    };
    let owners = distinct_owners(holds).into_iter();
    owners.take(MAX_ROWS).map(row).collect()
}

fn table_rows(holds: &[Hold]) -> Vec<Vec<String>> {
    let row = |hold: &Hold| {
        vec![
            hold_name(hold),
            utc_time(hold.started_at),
            hold.ended_at.map(utc_time).unwrap_or_default(),
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
    fn each_owner_has_a_row_with_its_holds_and_its_own_renewals() {
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
        assert!(rows[0].spans[0].is_ongoing && rows[1].spans[0].is_interrupted);
        let since = |row: &SpanRow| -> Vec<i64> {
            let ticks = row.ticks.iter();
            ticks.map(|at| at - NOW.millis()).collect()
        };
        assert_eq!((since(&rows[0]), since(&rows[1])), (vec![600], vec![250]));
    }
}
