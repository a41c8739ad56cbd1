//! The frame of the lanes: axis, bands, cross-hair, and selection by drag and keys.

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use super::chart_axis::ChartAxis;
use super::chart_bands::{BandLabels, ChartBand, ChartBands};
use super::chart_state::ChartState;
use crate::ui::i18n::activity as t;
use crate::ui::kit::chart::percent;

/// The classes of the part of the chart beside the names of the lanes.
const PLOT: &str = "sm:ms-56";

/// Lanes under a common time axis.
#[component]
pub fn LaneChart(
    /// The state of the chart.
    chart: ChartState,
    /// The bands over all lanes.
    bands: Memo<Vec<ChartBand>>,
    /// Whether other data is being loaded.
    #[prop(into)]
    is_busy: Signal<bool>,
    /// The lanes: elements of a list.
    children: Children,
) -> impl IntoView {
    let plot = NodeRef::<html::Div>::new();
    let permille = move |client_x: i32| {
        let rect = plot.get_untracked()?.get_bounding_client_rect();
        position(f64::from(client_x) - rect.left(), rect.width())
    };
    let end_drag = move || chart.finish_brush();
    view! {
        <div
            role="group"
            aria-label=t::chart()
            aria-describedby="lane-keys"
            aria-busy=move || is_busy.get().to_string()
            tabindex="0"
            class="lane-plot flex flex-col rounded-lg border border-line bg-surface aria-[busy=true]:opacity-70"
            on:keydown=move |event| {
                let is_command = event.ctrl_key() || event.meta_key() || event.alt_key();
                if !is_command && chart.apply_key(&event.key()) {
                    event.prevent_default();
                }
            }
            on:pointermove=move |event| {
                if let Some(permille) = permille(event.client_x()) {
                    chart.point_at(permille);
                }
            }
            on:pointerdown=move |event| {
                let is_drag = event.button() == 0 && !is_link(event.target());
                if let Some(permille) = permille(event.client_x()).filter(|_| is_drag) {
                    chart.brush.set(Some((permille, permille)));
                }
            }
            on:pointerup=move |_| end_drag()
            on:pointercancel=move |_| chart.brush.set(None)
            on:pointerleave=move |_| {
                chart.pointer.set(None);
                end_drag();
            }
        >
            <div class="border-b border-line px-2 pt-1">
                <div class=PLOT>
                    <ChartAxis chart />
                    <BandLabels chart bands />
                </div>
            </div>
            <div class="overflow-x-clip px-2 md:max-h-[60vh] md:overflow-y-auto">
                <div class="relative">
                    <ul aria-label=t::lanes()>{children()}</ul>
                    <div class="pointer-events-none absolute inset-y-0 start-0 end-0 sm:start-56" node_ref=plot>
                        <ChartBands chart bands />
                        <PointerLayer chart />
                    </div>
                </div>
            </div>
        </div>
        <p id="lane-keys" class="mt-1 text-xs text-muted max-sm:hidden">
            {t::keys()}
        </p>
    }
}

/// The cross-hair and the selected part.
#[component]
fn PointerLayer(chart: ChartState) -> impl IntoView {
    let cross_hair = move || {
        let x = percent(chart.pointer.get()?);
        Some(
            view! { <line class="text-ink" x1=x.clone() y1="0" x2=x y2="100%" stroke="currentColor" stroke-width="1"></line> },
        )
    };
    let brush = move || {
        let (start, end) = chart.brush.get()?;
        let (left, width) = (start.min(end), (end - start).abs());
        Some(view! {
            <rect class="text-accent" x=percent(left) y="0" width=percent(width) height="100%" fill="currentColor" fill-opacity="0.2"></rect>
        })
    };
    view! {
        <svg class="absolute inset-0 size-full" width="100%" height="100%" aria-hidden="true">
            {brush}
            {cross_hair}
        </svg>
    }
}

/// The position in thousandths of the width; `None` before the names of the lanes.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the value is between 0 and 1,000"
)]
fn position(offset: f64, width: f64) -> Option<i64> {
    let is_inside = width > 0.0 && offset >= -8.0;
    is_inside.then(|| (offset / width * 1_000.0).clamp(0.0, 1_000.0) as i64)
}

/// Whether the event belongs to a link, which a drag must not replace.
fn is_link(target: Option<web_sys::EventTarget>) -> bool {
    let element = target.and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    element.is_some_and(|element| element.closest("a, button").ok().flatten().is_some())
}
