//! The regularity of a lock's renewals: one bar per interval between the last renewals, and a
//! summary.

use leptos::prelude::*;

use crate::domain::RenewalStats;
use crate::ui::i18n::locks as t;

/// The size of the picture in SVG units.
const WIDTH: u32 = 40;
const HEIGHT: u32 = 12;
/// The number of bars that fit.
const MAX_BARS: u32 = 8;

/// The last renewal intervals of a lock.
#[component]
pub fn RenewalBars(
    /// The renewals of the lock.
    renewals: RenewalStats,
) -> impl IntoView {
    if renewals.count == 0 {
        return view! { <span class="text-faint" title=t::no_renewals()>"–"</span> }.into_any();
    }
    let summary = t::renewals(&renewals);
    let title = summary.clone();
    let short = t::renewal_interval(&renewals);
    let bars = bar_heights(&renewals.recent_intervals_ms);
    let first = MAX_BARS - u32::try_from(bars.len()).unwrap_or(MAX_BARS);
    let step = WIDTH / MAX_BARS;
    let rects = bars.into_iter().zip(first..).map(|(height, nth)| {
        let (x, y) = ((nth * step).to_string(), (HEIGHT - height).to_string());
        view! { <rect class="fill-held" x=x y=y width=(step - 1).to_string() height=height.to_string()></rect> }
    });
    view! {
        // A long interval takes the space of the bars: without its end, it would be another interval.
        <span class="flex items-center gap-1.5 whitespace-nowrap" title=title>
            <svg class="h-3 w-10 min-w-0 shrink" viewBox="0 0 40 12" role="img" aria-label=summary>
                <path class="stroke-line" d="M0 11.5h40"></path>
                {rects.collect_view()}
            </svg>
            <span class="shrink-0" aria-hidden="true">{short}</span>
        </span>
    }
    .into_any()
}

/// The heights of the bars. The longest interval has the full height, so that regular renewals give
/// equal bars and a gap stands out.
fn bar_heights(recent_ms: &[u32]) -> Vec<u32> {
    let longest = recent_ms.iter().copied().max().unwrap_or(0).max(1);
    let height = |ms: &u32| {
        let part = u64::from(*ms) * u64::from(HEIGHT - 2) / u64::from(longest);
        u32::try_from(part).unwrap_or(0) + 1
    };
    let skipped = recent_ms.len().saturating_sub(MAX_BARS as usize);
    recent_ms[skipped..].iter().map(height).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_intervals_have_equal_bars_and_a_gap_stands_out() {
        assert_eq!(bar_heights(&[]), [0; 0]);
        assert_eq!(bar_heights(&[10_000, 10_000, 10_000]), [11, 11, 11]);
        assert_eq!(bar_heights(&[5_000, 10_000]), [6, 11]);
        assert_eq!(bar_heights(&[0; 9]).len(), 8);
    }
}
