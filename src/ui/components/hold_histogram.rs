//! A histogram of the durations of earlier holds, with the current one marked.

use leptos::prelude::*;

use crate::domain::{Hold, HoldEndReason, HoldStats, Timestamp};
use crate::ui::format;
use crate::ui::i18n::lock as t;
use crate::ui::kit::Tone;
use crate::ui::kit::chart::{Bar, BarChart, Scale};
use crate::ui::live::Live;

/// The number of bars.
const BINS: usize = 20;

/// The histogram. Empty with too few holds for statistics.
#[component]
pub fn HoldHistogram(
    /// The holds, the latest first.
    holds: Vec<Hold>,
) -> impl IntoView {
    let live = Live::expect();
    let durations = ended_durations_ms(&holds);
    let is_meaningful = durations.len() >= HoldStats::MIN_HOLDS;
    let current = holds.into_iter().find(|hold| hold.ended_at.is_none());
    // One update per second is enough for a chart.
    let held_ms = Memo::new(move |_| {
        let now = live.now.get().millis().div_euclid(1_000) * 1_000;
        let now = Timestamp::from_millis(now);
        current.as_ref().map(|hold| hold.duration_ms(now))
    });
    let durations = StoredValue::new(durations);
    let range_ms = Memo::new(move |_| {
        let longest = durations.with_value(|all| all.iter().copied().max().unwrap_or(0));
        longest.max(held_ms.get().unwrap_or(0)).max(1)
    });
    let counts = Memo::new(move |_| durations.with_value(|all| bins(all, range_ms.get())));
    let bars = Signal::derive(move || {
        let counts = counts.get();
        let most = counts.iter().copied().max().unwrap_or(0).max(1);
        let bar = |count: i64| Bar {
            height: count * 1_000 / most,
            tone: Tone::Plain,
        };
        counts.into_iter().map(bar).collect::<Vec<_>>()
    });
    let marker = Signal::derive(move || {
        let range = Scale {
            from: 0,
            until: signed(range_ms.get()),
        };
        held_ms.get().map(|ms| range.position(signed(ms)))
    });
    let summary = Signal::derive(move || {
        let (count, held_ms) = (durations.with_value(Vec::len), held_ms.get());
        let shorter = |held: u64| {
            durations.with_value(|all| all.iter().filter(|ms| **ms <= held).count() * 100 / count)
        };
        let holds = format::hold_count(count);
        match held_ms {
            Some(ms) => t::histogram_now(&holds, &format::span(ms), shorter(ms)),
            None => t::histogram(&holds),
        }
    });
    let axis_labels = Signal::derive(move || (format::span(0), format::span(range_ms.get())));
    let rows = Signal::derive(move || {
        let (counts, width) = (counts.get(), range_ms.get().div_ceil(BINS as u64));
        let row = |(until, count): (u64, i64)| vec![format::span(until * width), count.to_string()];
        (1..).zip(counts).map(row).collect::<Vec<_>>()
    });
    is_meaningful.then(|| {
        let columns = vec![t::duration_until(), t::number_of_holds()];
        view! {
            <div class="mb-3">
                <h3 class="mb-1 font-medium">{t::hold_durations()}</h3>
                <BarChart
                    id="hold-histogram"
                    title=t::hold_durations()
                    summary
                    axis_labels
                    bars
                    marker
                    table=(t::as_table().to_owned(), columns, rows)
                />
            </div>
        }
    })
}

/// The durations of the holds that were not ended by force.
fn ended_durations_ms(holds: &[Hold]) -> Vec<u64> {
    let is_usual = |hold: &&Hold| hold.end_reason != Some(HoldEndReason::Forced);
    let ended = holds.iter().filter(is_usual).filter_map(|hold| {
        let ended_at = hold.ended_at?;
        Some(hold.duration_ms(ended_at))
    });
    ended.collect()
}

/// The number of durations in each of [`BINS`] equal parts of the range.
fn bins(durations_ms: &[u64], range_ms: u64) -> Vec<i64> {
    let mut counts = vec![0; BINS];
    for ms in durations_ms {
        let bin = ms.saturating_mul(BINS as u64) / range_ms.max(1);
        let bin = usize::try_from(bin).unwrap_or(BINS).min(BINS - 1);
        counts[bin] += 1;
    }
    counts
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_is_in_one_bin() {
        let counts = bins(&[0, 49, 50, 999, 1_000], 1_000);
        assert_eq!(counts.iter().sum::<i64>(), 5);
        assert_eq!((counts[0], counts[1], counts[BINS - 1]), (2, 1, 2));
    }
}
