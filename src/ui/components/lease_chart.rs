//! A chart of a lock's remaining lease over time: it falls, rises with every renewal, and is
//! projected to its expiry.

use leptos::prelude::*;

use super::lease_bar::LeaseProgress;
use super::margin_strip::MarginStrip;
use crate::domain::lease_timeline::{LeaseSegment, lease_segments, with_current_lease};
use crate::domain::{History, LockId, RenewalEvent, Timestamp, Verdict};
use crate::ui::format;
use crate::ui::i18n::lock as t;
use crate::ui::kit::Tone;
use crate::ui::kit::chart::{Level, LineChart, Scale, Stroke};
use crate::ui::live::Live;

/// The length of the displayed past.
const MAX_PAST_MS: i64 = 15 * 60_000;
/// A minute, and less for a short lease: a new hold is then visible, with its expiry.
const MIN_PAST_MS: i64 = 60_000;
/// The length of a short past, in leases.
const MIN_PAST_LEASES: i64 = 2;
/// The number of renewals kept while the page is open.
const MAX_RENEWALS: usize = 100;

/// The chart. Empty if no lease with an expiry was observed.
#[component]
pub fn LeaseChart(
    /// The lock to chart.
    id: LockId,
    /// The recorded history.
    history: History,
    /// Whether the group has several nodes: then the end of the lease is the loss of the quorum,
    /// not the expiry of one key.
    has_several_nodes: bool,
) -> impl IntoView {
    let live = Live::expect();
    // Without a quorum now, none can be lost.
    let is_quorum = {
        let id = id.clone();
        Memo::new(move |_| {
            has_several_nodes
                && live
                    .lock(&id)
                    .is_none_or(|lock| lock.verdict == Verdict::Held)
        })
    };
    let series = LeaseSeries::new(live, id, history);
    let has_renewals = Memo::new(move |_| series.renewals.with(|renewals| !renewals.is_empty()));
    let levels = Signal::derive(move || {
        let (_, lease_range) = series.ranges.get();
        let end = match is_quorum.get() {
            true => t::quorum_lost_here(),
            false => t::expires_here(),
        };
        vec![
            level(0, end, Tone::Alarm),
            level(lease_range.until / 5, t::at_risk_threshold(), Tone::Warn),
        ]
    });
    let end_labels = Signal::derive(move || {
        let (time_range, _) = series.ranges.get();
        let utc = |ms| format::time_of_day(Timestamp::from_millis(ms));
        (utc(time_range.from), utc(time_range.until))
    });
    let content = move || {
        has_renewals.get().then(|| {
            let table = (
                t::as_table().to_owned(),
                vec![t::time(), t::new_lease()],
                Signal::derive(move || series.rows()),
            );
            view! {
                <div class="mb-4">
                    <h3 class="mb-1 font-medium">{t::lease_over_time()}</h3>
                    <LineChart
                        id="lease-chart"
                        title=t::lease_over_time()
                        summary=Signal::derive(move || series.summary())
                        axis_labels=end_labels
                        scales=series.ranges
                        strokes=Signal::derive(move || series.strokes())
                        levels
                        present=Signal::derive(move || live.now.get().millis())
                        present_label=t::now()
                        ticks=Signal::derive(move || ticks(series.ranges.get().1))
                        read_out=move |at| series.read_out(at)
                        table
                    />
                </div>
                <MarginStrip segments=series.segments />
            }
        })
    };
    view! { {content} }
}

/// The data of the chart, updated live. A copyable handle.
#[derive(Clone, Copy)]
struct LeaseSeries {
    live: Live,
    /// The observed renewals.
    renewals: Memo<Vec<RenewalEvent>>,
    /// The segments between renewals.
    segments: Memo<Vec<LeaseSegment>>,
    /// The ranges of the axes: time and remaining lease.
    ranges: Memo<(Scale, Scale)>,
}

impl LeaseSeries {
    /// Continues the recorded history with live changes.
    fn new(live: Live, id: LockId, history: History) -> Self {
        let hold_ends: Vec<Timestamp> = history
            .holds
            .iter()
            .filter_map(|hold| hold.ended_at)
            .collect();
        let initial = history.renewals;
        // The index continues where the recorded history ends.
        let renewals = Memo::new(move |before: Option<&Vec<RenewalEvent>>| {
            let previous = before.unwrap_or(&initial);
            let lock = live.lock(&id);
            let progress = lock.as_ref().map(LeaseProgress::of);
            let now = progress
                .and_then(|progress| Some((progress.started_at, progress.lease.expires_at()?)));
            let mut renewals = match now {
                Some((started_at, expires_at)) => {
                    with_current_lease(previous, started_at, expires_at)
                }
                None => previous.clone(),
            };
            renewals.drain(..renewals.len().saturating_sub(MAX_RENEWALS));
            renewals
        });
        let segments = Memo::new(move |_| {
            renewals.with(|renewals| lease_segments(renewals, &hold_ends, live.now.get()))
        });
        let ranges = Memo::new(move |_| {
            segments.with(|segments| axis_ranges(segments, live.now.get().millis()))
        });
        Self {
            live,
            renewals,
            segments,
            ranges,
        }
    }

    fn strokes(self) -> Vec<Stroke> {
        let (time_range, _) = self.ranges.get();
        self.segments
            .with(|segments| strokes(segments, time_range, self.live.now.get()))
    }

    /// The number of renewals and the remaining lease, as a sentence.
    fn summary(self) -> String {
        let now = self.live.now.get();
        let (renewal_count, left) = self.segments.with(|all| {
            let renewal_count = all
                .iter()
                .filter(|segment| segment.ends_with_renewal)
                .count();
            (
                renewal_count,
                all.last()
                    .map(|segment| segment.expires_at.millis_since(now)),
            )
        });
        let left = match left.and_then(|ms| u64::try_from(ms).ok()) {
            Some(ms) if ms > 0 => t::lease_left(&format::countdown(ms)),
            Some(_) | None => t::lease_ended().to_owned(),
        };
        let renewals_text = t::renewals_seen(&format::renewal_count(renewal_count));
        t::lease_chart(&renewals_text, &left)
    }

    /// The lease that was left at a time.
    fn read_out(self, at: i64) -> Option<String> {
        let left = self.segments.with(|segments| {
            let segment = segments
                .iter()
                .rev()
                .find(|segment| segment.from.millis() <= at)?;
            u64::try_from(segment.expires_at.millis() - at).ok()
        })?;
        let time = format::clock_time(Timestamp::from_millis(at));
        Some(format!("{time} · {}", t::lease_left(&format::span(left))))
    }

    /// The renewals as table rows, the latest first.
    fn rows(self) -> Vec<Vec<String>> {
        let row = |renewal: &RenewalEvent| {
            let left = renewal.expires_at.millis_since(renewal.at);
            vec![
                format::time_of_day(renewal.at),
                format::span(u64::try_from(left).unwrap_or(0)),
            ]
        };
        self.renewals
            .with(|renewals| renewals.iter().rev().map(row).collect())
    }
}

/// The labelled values of the axis of the lease: none left, the half, and the longest lease.
fn ticks(lease_range: Scale) -> Vec<(i64, String)> {
    let tick = |at: i64| (at, axis_value(u64::try_from(at).unwrap_or(0)));
    [0, lease_range.until / 2, lease_range.until]
        .map(tick)
        .to_vec()
}

/// A value of the axis, rounded by at most 1 %: a lease of 50 min that was observed a moment after
/// its start would be `49 min 59 s`.
fn axis_value(ms: u64) -> String {
    let unit_ms = match ms {
        0 => return format::countdown(0),
        1..10_000 => 100,
        10_000..600_000 => 1_000,
        600_000.. => 60_000,
    };
    format::span((ms + unit_ms / 2) / unit_ms * unit_ms)
}

/// Computes the ranges of the axes: time and remaining lease.
fn axis_ranges(segments: &[LeaseSegment], now: i64) -> (Scale, Scale) {
    let first = segments
        .first()
        .map_or(now, |segment| segment.from.millis());
    let end = segments
        .last()
        .map_or(now, |segment| segment.expires_at.millis());
    let highest = segments
        .iter()
        .map(|segment| segment.expires_at.millis_since(segment.from));
    let highest = highest.max().unwrap_or(1).max(1);
    let min_past = (MIN_PAST_LEASES * highest).min(MIN_PAST_MS);
    // The past is most of the picture, also for a long lease of a new hold.
    let from = first.clamp(now - MAX_PAST_MS, now - min_past);
    let time_range = Scale {
        from,
        until: end.clamp(now, now + (now - from) / 2),
    };
    let lease_range = Scale {
        from: 0,
        until: highest,
    };
    (time_range, lease_range)
}

fn level(at: i64, words: &str, tone: Tone) -> Level {
    Level {
        at,
        label: words.to_owned(),
        tone,
    }
}

/// Computes the lines of the chart: every segment falls, a renewal lifts it to the next, and the
/// last is projected to its expiry.
fn strokes(segments: &[LeaseSegment], time_range: Scale, now: Timestamp) -> Vec<Stroke> {
    let mut strokes = Vec::new();
    for (nth, segment) in segments.iter().enumerate() {
        let expiry = segment.expires_at.millis();
        let left = |at: i64| (at, expiry - at);
        let (from, until) = (
            segment.from.millis().max(time_range.from),
            segment.until.millis(),
        );
        if until < time_range.from {
            continue;
        }
        let mut draw = |from, to, is_expected| {
            strokes.push(Stroke {
                from,
                to,
                is_expected,
            });
        };
        draw(left(from), left(until), false);
        if let Some(next) = segments.get(nth + 1).filter(|_| segment.ends_with_renewal) {
            let (at, height) = (next.from.millis(), next.expires_at.millis_since(next.from));
            draw(left(until), (at, height), false);
        } else if nth + 1 == segments.len() && segment.until == now {
            let end = expiry.min(time_range.until);
            draw(left(until), left(end), true);
        }
    }
    strokes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::NOW;

    #[test]
    fn the_values_of_the_axis_are_round() {
        assert_eq!(
            [0, 4_960, 9_990, 29_970, 2_999_600].map(axis_value),
            ["0 s", "5 s", "10 s", "30 s", "50 min"]
        );
    }

    #[test]
    fn the_future_is_at_most_a_third_of_the_picture() {
        let now = NOW.plus_millis(3_600_000);
        let renewal = RenewalEvent {
            at: now.plus_millis(-1_000),
            expires_at: now.plus_millis(86_400_000),
        };
        let segments = lease_segments(&[renewal], &[], now);
        let (time_range, lease_range) = axis_ranges(&segments, now.millis());
        assert_eq!(time_range.from, now.millis() - MIN_PAST_MS);
        assert_eq!(time_range.until, now.millis() + MIN_PAST_MS / 2);
        assert_eq!(lease_range.until, 86_401_000);
    }

    #[test]
    fn the_picture_of_a_new_hold_with_a_short_lease_is_short() {
        let renewal = RenewalEvent {
            at: NOW,
            expires_at: NOW.plus_millis(10_000),
        };
        let now = NOW.plus_millis(1_000);
        let segments = lease_segments(&[renewal], &[], now);
        let (time_range, _) = axis_ranges(&segments, now.millis());
        assert_eq!(time_range.from, now.millis() - 20_000);
        assert_eq!(time_range.until, renewal.expires_at.millis());
    }

    #[test]
    fn a_lease_falls_rises_on_renewal_and_is_projected_to_its_expiry() {
        let at = |ms: i64| NOW.plus_millis(ms);
        let renewal = |ms: i64| RenewalEvent {
            at: at(ms),
            expires_at: at(ms + 30),
        };
        let now = at(15);
        let segments = lease_segments(&[renewal(0), renewal(10)], &[], now);
        let time_range = Scale {
            from: at(5).millis(),
            until: at(40).millis(),
        };
        let base = NOW.millis();
        let lines: Vec<_> = strokes(&segments, time_range, now)
            .into_iter()
            .map(|segment| {
                let ((x1, y1), (x2, y2)) = (segment.from, segment.to);
                (x1 - base, y1, x2 - base, y2, segment.is_expected)
            })
            .collect();
        assert_eq!(
            lines,
            [
                (5, 25, 10, 20, false),
                (10, 20, 10, 30, false),
                (10, 30, 15, 25, false),
                (15, 25, 40, 0, true),
            ]
        );
    }
}
