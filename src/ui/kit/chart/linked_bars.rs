//! Stacked bars, each of which is a link.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use super::percent;
use crate::ui::kit::Tone;

/// A part of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarPart {
    /// The colour.
    pub tone: Tone,
    /// The value.
    pub value: u32,
}

/// A bar of several parts, the lowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedBar {
    /// The parts.
    pub parts: Vec<BarPart>,
    /// The read-out.
    pub label: String,
    /// The target.
    pub href: String,
}

/// The height of the picture, and of the line above it for the highest value, in pixels.
const HEIGHT: i64 = 64;
const TOP: i64 = 16;

/// The bars, the label of the highest value, and a legend that is also the read-out.
#[component]
pub fn LinkedBars(
    /// The bars, from the start.
    bars: Vec<LinkedBar>,
    /// The colours and names of the parts.
    parts: Vec<(Tone, &'static str)>,
) -> impl IntoView {
    let active = RwSignal::new(None::<usize>);
    let labels = StoredValue::new(bars.iter().map(|bar| bar.label.clone()).collect::<Vec<_>>());
    let read_out = move || {
        let active = active.get()?;
        labels.with_value(|labels| labels.get(active).cloned())
    };
    let most = bars.iter().map(sum).max().unwrap_or(0);
    let count = i64::try_from(bars.len()).unwrap_or(i64::MAX).max(1);
    let drawn = bars.into_iter().enumerate().map(|(index, bar)| {
        view! { <Bar bar index count most active /> }
    });
    let legend = parts.into_iter().map(|(tone, name)| {
        view! {
            <span class=format!("inline-flex items-center gap-1 {}", tone.text())>
                <svg width="10" height="10" aria-hidden="true">
                    <PartShape tone x="0".to_owned() width="10".to_owned() y=0 height=10 />
                </svg>
                {name}
            </span>
        }
    });
    view! {
        <p class="mb-1 flex min-h-4 flex-wrap gap-x-4 text-xs">
            {legend.collect_view()}
            <span class="ms-auto text-ink tabular-nums" aria-hidden="true">{read_out}</span>
        </p>
        <svg class="block w-full rounded bg-sunken" width="100%" height=HEIGHT.to_string()>
            <line class="text-line-strong" x1="0" x2="100%" y1=TOP.to_string() y2=TOP.to_string() stroke="currentColor" stroke-dasharray="2 3"></line>
            <text x="4" y="12" class="text-[0.6875rem] text-muted" fill="currentColor" aria-hidden="true">{most.to_string()}</text>
            {drawn.collect_view()}
        </svg>
    }
}

fn sum(bar: &LinkedBar) -> u64 {
    bar.parts.iter().map(|part| u64::from(part.value)).sum()
}

/// The heights of the parts in pixels. Every part with a value is visible.
fn heights(bar: &LinkedBar, most: u64) -> Vec<i64> {
    let height = |part: &BarPart| {
        let room = HEIGHT - TOP;
        let most = i64::try_from(most).unwrap_or(i64::MAX).max(1);
        let height = i64::from(part.value) * room / most;
        height.max(i64::from(part.value > 0) * 2)
    };
    bar.parts.iter().map(height).collect()
}

/// One bar. A bar without a value is no link.
#[component]
fn Bar(
    bar: LinkedBar,
    index: usize,
    count: i64,
    most: u64,
    active: RwSignal<Option<usize>>,
) -> impl IntoView {
    let navigate = use_navigate();
    let at = i64::try_from(index).unwrap_or(0);
    let left = at * 1_000 / count;
    let slot = (1_000 / count).max(1);
    let mut y = HEIGHT;
    let parts = bar
        .parts
        .iter()
        .zip(heights(&bar, most))
        .map(|(part, height)| {
            y -= height;
            let width = percent((slot - 3).max(1));
            view! { <PartShape tone=part.tone x=percent(left) width y height /> }
        });
    let parts = parts.collect_view();
    if sum(&bar) == 0 {
        return view! { <g></g> }.into_any();
    }
    let is_active = move || active.get() == Some(index);
    let target = bar.href.clone();
    let follow = move |event: leptos::ev::MouseEvent| {
        let opens_elsewhere =
            event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key();
        if !opens_elsewhere {
            event.prevent_default();
            let options = NavigateOptions {
                scroll: false,
                ..NavigateOptions::default()
            };
            navigate(&target, options);
        }
    };
    view! {
        <g
            on:pointerenter=move |_| active.set(Some(index))
            on:pointerleave=move |_| active.set(None)
            on:focusin=move |_| active.set(Some(index))
            on:focusout=move |_| active.set(None)
            on:click=follow
        >
            <a href=bar.href aria-label=bar.label>
                // The whole height of the slot can be pressed.
                <rect class="text-accent" class=("opacity-0", move || !is_active()) x=percent(left) width=percent(slot) y="0" height=HEIGHT.to_string() fill="currentColor" fill-opacity="0.15"></rect>
                {parts}
            </a>
        </g>
    }
    .into_any()
}

/// The rectangle of a part. Parts also differ by shape: a neutral one is hollow, and a warning has
/// a thick edge.
#[component]
fn PartShape(tone: Tone, x: String, width: String, y: i64, height: i64) -> impl IntoView {
    let (fill, stroke) = match tone {
        Tone::Plain => ("0.15", "1"),
        Tone::Warn | Tone::Alarm => ("1", "1"),
        Tone::Good | Tone::Unsure => ("0.6", "0"),
    };
    (height > 0).then(|| {
        view! {
            <rect class=tone.text() x=x width=width y=y.to_string() height=height.to_string() fill="currentColor" fill-opacity=fill stroke="currentColor" stroke-width=stroke></rect>
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_with_a_value_is_visible() {
        let part = |value| BarPart {
            tone: Tone::Plain,
            value,
        };
        let bar = LinkedBar {
            parts: vec![part(1_000), part(0), part(1)],
            label: String::new(),
            href: String::new(),
        };
        assert_eq!(heights(&bar, sum(&bar)), [47, 0, 2]);
        assert_eq!(heights(&bar, 0).len(), 3);
    }
}
