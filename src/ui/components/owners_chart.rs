//! Who held a lock over time: a row for each owner, a bar for each hold, its renewals as ticks, and a cross where it was ended by
//! force.

use leptos::prelude::*;

use super::chart_marks::{time, tone};
use crate::domain::{Beat, Fingerprint, Hold, HowEnded, Timestamp};
use crate::ui::format;
use crate::ui::kit::chart::{Reach, Span, SpanChart, SpanRow};
use crate::ui::live::Live;
use crate::ui::words::lock as words;

/// So many owners have a row, those that held it last.
const MOST_ROWS: usize = 8;
/// So many holds are drawn.
const MOST_HOLDS: usize = 40;

/// The picture.
#[component]
pub fn OwnersChart(
    /// The holds, the latest first.
    holds: Vec<Hold>,
    /// The renewals that are known.
    beats: Vec<Beat>,
) -> impl IntoView {
    let live = Live::expect();
    let mut holds = holds;
    holds.truncate(MOST_HOLDS);
    let begin = holds.iter().map(|hold| hold.from).min();
    let begin = begin.unwrap_or_else(|| live.now.get_untracked());
    let table = rows_of_table(&holds);
    let summary = {
        let forced = |hold: &&Hold| hold.ending == Some(HowEnded::Forced);
        let many = format::counted(holds.len(), "hold");
        let forced = holds.iter().filter(forced).count();
        words::who_chart(&many, owners(&holds).len(), forced)
    };
    // Once a second is often enough for a picture.
    let now = Memo::new(move |_| live.now.get().millis().div_euclid(1_000) * 1_000);
    let reach = Memo::new(move |_| Reach {
        from: begin.millis(),
        until: now.get().max(begin.millis() + 1_000),
    });
    let rows = Signal::derive(move || rows(&holds, &beats, now.get()));
    let ends = Signal::derive(move || (time(begin), words::now().to_owned()));
    let columns = vec![
        words::owner(),
        words::from(),
        words::until(),
        words::ended_by(),
    ];
    view! {
        <div class="mb-4">
            <h3 class="mb-1 font-medium">{words::who_held()}</h3>
            <SpanChart
                id="owners-chart"
                title=words::who_held()
                summary=Signal::stored(summary)
                ends
                reach
                rows
                table=(words::as_table().to_owned(), columns, Signal::stored(table))
            />
        </div>
    }
}

/// Each owner once, the one that held it last first.
fn owners(holds: &[Hold]) -> Vec<&Fingerprint> {
    let mut owners: Vec<&Fingerprint> = Vec::new();
    for hold in holds {
        if !owners.contains(&&hold.fingerprint) {
            owners.push(&hold.fingerprint);
        }
    }
    owners
}

fn name(hold: &Hold) -> String {
    match &hold.label {
        Some(label) => format::shorten(&format::visible(label), 36),
        None => hold.fingerprint.as_str()[..8].to_owned(),
    }
}

fn rows(holds: &[Hold], beats: &[Beat], now: i64) -> Vec<SpanRow> {
    let row = |owner: &Fingerprint| {
        let mut row = SpanRow::default();
        for hold in holds.iter().filter(|hold| hold.fingerprint == *owner) {
            row.name = name(hold);
            let (from, until) = (
                hold.from.millis(),
                hold.until.map_or(now, Timestamp::millis),
            );
            row.spans.push(Span {
                from,
                until: until.max(from),
                tone: tone(hold.ending),
                is_cut: hold.ending == Some(HowEnded::Forced),
                goes_on: hold.until.is_none(),
            });
            // The first moment is where the hold begins: that is no renewal.
            let beats = beats.iter().map(|beat| beat.at.millis());
            row.ticks
                .extend(beats.filter(|at| *at > from && *at <= until));
        }
        row
    };
    let owners = owners(holds).into_iter();
    owners.take(MOST_ROWS).map(row).collect()
}

fn rows_of_table(holds: &[Hold]) -> Vec<Vec<String>> {
    let row = |hold: &Hold| {
        vec![
            name(hold),
            time(hold.from),
            hold.until.map(time).unwrap_or_default(),
            words::ended(hold.ending).to_owned(),
        ]
    };
    holds.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Start;
    use crate::domain::testing::{NOW, owner};

    fn hold(n: u8, from: i64, until: Option<i64>, ending: Option<HowEnded>) -> Hold {
        Hold {
            fingerprint: owner(n).fingerprint,
            label: owner(n).label,
            from: NOW.plus_millis(from),
            from_is: Start::Appeared,
            from_within_ms: Some(0),
            until: until.map(|ms| NOW.plus_millis(ms)),
            ending,
            renewals: 0,
        }
    }

    #[test]
    fn each_owner_has_a_row_with_its_holds_and_its_own_renewals() {
        let holds = [
            hold(2, 500, None, None),
            hold(1, 200, Some(300), Some(HowEnded::Forced)),
            hold(2, 0, Some(100), Some(HowEnded::Released)),
        ];
        let beat = |ms: i64| Beat {
            at: NOW.plus_millis(ms),
            expires_at: NOW.plus_millis(ms + 30),
        };
        let beats = [200, 250, 500, 600].map(beat);
        let rows = rows(&holds, &beats, NOW.plus_millis(900).millis());
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["api-2", "api-1"]);
        assert!(rows[0].spans[0].goes_on && rows[1].spans[0].is_cut);
        let since = |row: &SpanRow| -> Vec<i64> {
            let ticks = row.ticks.iter();
            ticks.map(|at| at - NOW.millis()).collect()
        };
        assert_eq!((since(&rows[0]), since(&rows[1])), (vec![600], vec![250]));
    }
}
