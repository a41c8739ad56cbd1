//! The line of a chart of the overview, and the cross-hair that it shares with the others.

use leptos::prelude::*;
use wasm_bindgen::JsCast;

use crate::domain::Timestamp;
use crate::domain::trend::{MAX_POINTS, TrendPoint};
use crate::ui::kit::sparkline::{Sparkline, value_at};

/// The line. The pointer and the arrow keys move the cross-hair.
#[component]
pub fn Plot(
    /// The name of the figure.
    name: &'static str,
    /// The values of the points.
    values: Memo<Vec<u32>>,
    /// The points, the oldest first.
    points: Signal<Vec<TrendPoint>>,
    /// The instant of the cross-hair of all charts.
    crosshair: RwSignal<Option<Timestamp>>,
    /// The point at that instant.
    marked: Memo<Option<usize>>,
    /// The read-out.
    text: Signal<String>,
) -> impl IntoView {
    let count = move || values.with(Vec::len);
    let mark = move |nth: Option<usize>| {
        let at = nth.and_then(|nth| points.with_untracked(|points| Some(points.get(nth)?.at)));
        crosshair.set(at);
    };
    let follow = move |event: leptos::ev::PointerEvent| {
        let target = event.current_target();
        let plot = target.and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        let width = plot.map_or(1, |plot| plot.client_width().max(1));
        let count = values.with_untracked(Vec::len);
        mark(value_at(
            event.offset_x() * 1_000 / width,
            count,
            MAX_POINTS,
        ));
    };
    let press = move |event: leptos::ev::KeyboardEvent| {
        let Some(last) = values.with_untracked(Vec::len).checked_sub(1) else {
            return;
        };
        let now = marked.get_untracked().unwrap_or(last);
        let next = match event.key().as_str() {
            "ArrowLeft" => Some(now.saturating_sub(1)),
            "ArrowRight" => Some((now + 1).min(last)),
            "Home" => Some(0),
            "End" => Some(last),
            "Escape" => None,
            _ => return,
        };
        event.prevent_default();
        event.stop_propagation();
        mark(next);
    };
    let position = move || {
        marked
            .get()
            .unwrap_or(count().saturating_sub(1))
            .to_string()
    };
    view! {
        <div
            class="cursor-crosshair"
            tabindex="0"
            role="slider"
            aria-label=name
            aria-valuemin="0"
            aria-valuemax=move || count().saturating_sub(1).to_string()
            aria-valuenow=position
            aria-valuetext=text
            on:pointermove=follow
            on:pointerleave=move |_| crosshair.set(None)
            on:blur=move |_| crosshair.set(None)
            on:keydown=press
        >
            {move || view! { <Sparkline values=values.get() capacity=MAX_POINTS marked=marked.get() size="h-7 w-full" /> }}
        </div>
    }
}
