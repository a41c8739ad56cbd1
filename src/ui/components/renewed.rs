//! How regularly a lock is renewed: a bar for each time between two of the last renewals, and what they come to.

use leptos::prelude::*;

use crate::domain::Renewals;
use crate::ui::words::locks as words;

/// How wide and how high the picture is, in its own units.
const WIDTH: u32 = 40;
const HEIGHT: u32 = 12;
/// So many bars fit.
const BARS: u32 = 8;

/// The last renewals of a lock.
#[component]
pub fn Renewed(
    /// The renewals.
    renewals: Renewals,
) -> impl IntoView {
    if renewals.count == 0 {
        return view! { <span class="text-faint" title=words::not_renewed()>"–"</span> }.into_any();
    }
    let said = words::renewals(&renewals);
    let title = said.clone();
    let short = words::beat(&renewals);
    let bars = heights(&renewals.recent_ms);
    let first = BARS - u32::try_from(bars.len()).unwrap_or(BARS);
    let step = WIDTH / BARS;
    let drawn = bars.into_iter().zip(first..).map(|(height, nth)| {
        let (x, y) = ((nth * step).to_string(), (HEIGHT - height).to_string());
        view! { <rect class="fill-held" x=x y=y width=(step - 1).to_string() height=height.to_string()></rect> }
    });
    view! {
        <span class="inline-flex items-center gap-1.5 whitespace-nowrap" title=title>
            <svg class="h-3 w-10 shrink-0" viewBox="0 0 40 12" role="img" aria-label=said>
                <path class="stroke-line" d="M0 11.5h40"></path>
                {drawn.collect_view()}
            </svg>
            <span aria-hidden="true">{short}</span>
        </span>
    }
    .into_any()
}

/// The bars: the longest time between two renewals reaches the top. Even beats are even bars; a gap stands out.
fn heights(recent_ms: &[u32]) -> Vec<u32> {
    let longest = recent_ms.iter().copied().max().unwrap_or(0).max(1);
    let height = |ms: &u32| {
        let part = u64::from(*ms) * u64::from(HEIGHT - 2) / u64::from(longest);
        u32::try_from(part).unwrap_or(0) + 1
    };
    let skipped = recent_ms.len().saturating_sub(BARS as usize);
    recent_ms[skipped..].iter().map(height).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_beats_are_even_bars_and_a_gap_stands_out() {
        assert_eq!(heights(&[]), [0; 0]);
        assert_eq!(heights(&[10_000, 10_000, 10_000]), [11, 11, 11]);
        assert_eq!(heights(&[5_000, 10_000]), [6, 11]);
        assert_eq!(heights(&[0; 9]).len(), 8);
    }
}
