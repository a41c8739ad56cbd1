//! The lease that was left at each renewal: a low bar is a renewal that came late.

use leptos::prelude::*;

use crate::domain::Timestamp;
use crate::domain::lease_timeline::LeaseSegment;
use crate::ui::format;
use crate::ui::i18n::lock as t;
use crate::ui::kit::Tone;
use crate::ui::kit::chart::{Bar, BarChart};

/// The number of renewals shown, starting with the latest.
const MAX_BARS: usize = 60;
/// With fewer renewals there is no tendency to see.
const MIN_BARS: usize = 3;
/// Below this share of the lease, in thousandths, a renewal came late.
const LATE: i64 = 200;

/// The margin of one renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Margin {
    at: Timestamp,
    left_ms: i64,
    /// In thousandths of the lease.
    share: i64,
}

/// The margins of the last renewals.
#[component]
pub fn MarginStrip(
    /// The segments between renewals.
    #[prop(into)]
    segments: Signal<Vec<LeaseSegment>>,
) -> impl IntoView {
    let margins = Memo::new(move |_| segments.with(|segments| margins(segments)));
    let has_enough = Memo::new(move |_| margins.read().len() >= MIN_BARS);
    let bars = Signal::derive(move || {
        let bar = |margin: &Margin| Bar {
            height: margin.share,
            tone: if margin.share < LATE {
                Tone::Alarm
            } else {
                Tone::Good
            },
        };
        margins.read().iter().map(bar).collect::<Vec<_>>()
    });
    let summary = Signal::derive(move || {
        let margins = margins.read();
        let least = margins.iter().map(|margin| margin.left_ms).min();
        let late = margins.iter().filter(|margin| margin.share < LATE).count();
        let renewals = format::renewal_count(margins.len());
        t::margins(&renewals, &span(least.unwrap_or(0)), late)
    });
    let axis_labels = Signal::derive(move || {
        let margins = margins.read();
        let time = |margin: Option<&Margin>| margin.map(|margin| format::time_of_day(margin.at));
        let (first, last) = (time(margins.first()), time(margins.last()));
        (first.unwrap_or_default(), last.unwrap_or_default())
    });
    let rows = Signal::derive(move || {
        let row = |margin: &Margin| vec![format::time_of_day(margin.at), span(margin.left_ms)];
        margins.read().iter().rev().map(row).collect::<Vec<_>>()
    });
    move || {
        has_enough.get().then(|| {
            let columns = vec![t::time(), t::lease_left_then()];
            view! {
                <div class="mb-4">
                    <h3 class="mb-1 font-medium">{t::renewal_margin()}</h3>
                    <BarChart
                        id="renewal-margin"
                        title=t::renewal_margin()
                        summary
                        axis_labels
                        bars
                        marker=Signal::stored(None)
                        table=(t::as_table().to_owned(), columns, rows)
                    />
                </div>
            }
        })
    }
}

fn span(ms: i64) -> String {
    format::span(u64::try_from(ms).unwrap_or(0))
}

fn margins(segments: &[LeaseSegment]) -> Vec<Margin> {
    let renewed = segments.iter().filter(|segment| segment.ends_with_renewal);
    let margin = |segment: &LeaseSegment| {
        let left_ms = segment.expires_at.millis_since(segment.until).max(0);
        let lease_ms = segment.expires_at.millis_since(segment.from).max(1);
        Margin {
            at: segment.until,
            left_ms,
            share: (left_ms.saturating_mul(1_000) / lease_ms).min(1_000),
        }
    };
    let mut margins: Vec<Margin> = renewed.map(margin).collect();
    margins.drain(..margins.len().saturating_sub(MAX_BARS));
    margins
}
