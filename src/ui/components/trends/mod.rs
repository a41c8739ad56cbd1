//! Held locks, attempts and the slowest round trip over the last 15 minutes, with one cross-hair
//! over the three charts and a table of their values.

mod plot;
mod table;

use std::time::Duration;

use leptos::prelude::*;

use self::plot::Plot;
use self::table::TrendTableDialog;
use crate::domain::Timestamp;
use crate::domain::trend::{POINT_INTERVAL_S, TrendPoint};
use crate::ui::i18n::{locks, punctuation, trends as t};
use crate::ui::kit::card::CARD;
use crate::ui::live::{Live, ServerResource, poll};
use crate::ui::{calls, format};

/// One of the figures.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Figure {
    Held,
    Attempts,
    RoundTrip,
}

impl Figure {
    fn value(self, point: &TrendPoint) -> u32 {
        match self {
            Self::Held => point.held,
            Self::Attempts => point.attempts_per_minute,
            Self::RoundTrip => point.slowest_us,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Held => t::held(),
            Self::Attempts => t::attempts(),
            Self::RoundTrip => t::slowest_round_trip(),
        }
    }

    /// The value with its unit. No attempts or round trips are a dash: none was observed.
    fn text(self, value: u32) -> String {
        match (self, value) {
            (Self::Held, value) => locks::figure(value),
            (Self::Attempts | Self::RoundTrip, 0) => "–".to_owned(),
            (Self::Attempts, value) => locks::attempt_rate(value.into()),
            (Self::RoundTrip, value) => format::latency(f64::from(value) / 1e3),
        }
    }
}

/// The figures of the charts. A copyable handle.
#[derive(Clone, Copy)]
pub struct TrendSource {
    loading: ServerResource<Vec<TrendPoint>>,
    polled: RwSignal<Option<Vec<TrendPoint>>>,
}

impl TrendSource {
    /// Loads the figures and keeps them current. Must not be called inside a `Suspense`, see
    /// [`super::lock_history::load`].
    pub fn load() -> Self {
        let loading = ServerResource::new(calls::trends);
        let polled = RwSignal::new(None);
        let interval = Duration::from_secs(POINT_INTERVAL_S);
        poll(interval, Memo::new(|_| ()), |()| calls::trends(), polled);
        Self { loading, polled }
    }
}

/// Three small charts.
#[component]
pub fn Trends(
    /// The figures.
    source: TrendSource,
) -> impl IntoView {
    let TrendSource { loading, polled } = source;
    let crosshair = RwSignal::new(None::<Timestamp>);
    let is_table_open = RwSignal::new(false);
    let charts = move |loaded: Vec<TrendPoint>| {
        let points = Signal::derive(move || polled.get().unwrap_or_else(|| loaded.clone()));
        let cards = [Figure::Held, Figure::Attempts, Figure::RoundTrip]
            .map(|figure| view! { <TrendCard figure points crosshair is_table_open /> });
        view! {
            {cards.collect_view()}
            <TrendTableDialog open=is_table_open points />
        }
    };
    let content = move || {
        Suspend::new(async move {
            // Without the figures the rest of the page is complete.
            loading.result().await.ok().map(charts)
        })
    };
    view! { <Transition fallback=|| ()>{move || content()}</Transition> }
}

/// One chart: the latest value, or the one under the cross-hair, above the line.
#[component]
fn TrendCard(
    figure: Figure,
    points: Signal<Vec<TrendPoint>>,
    crosshair: RwSignal<Option<Timestamp>>,
    is_table_open: RwSignal<bool>,
) -> impl IntoView {
    let values = Memo::new(move |_| {
        points.with(|points| {
            points
                .iter()
                .map(|point| figure.value(point))
                .collect::<Vec<_>>()
        })
    });
    // The instant stays where it is when further points arrive.
    let marked = Memo::new(move |_| {
        let at = crosshair.get()?;
        points.with(|points| points.iter().position(|point| point.at >= at))
    });
    let live = Live::expect();
    let shown = move || {
        let values = values.read();
        let value = match marked.get() {
            Some(nth) => values.get(nth),
            // Locks on nodes that are not up are not observed: 0 is not the number of held locks.
            None => values.last().filter(|value| {
                figure != Figure::Held || **value > 0 || live.failed_node_count() == 0
            }),
        };
        value.map_or_else(|| "–".to_owned(), |value| figure.text(*value))
    };
    let label = move || {
        let at = points.with(|points| Some(points.get(marked.get()?)?.at));
        at.map_or_else(|| figure.label().to_owned(), format::clock_time)
    };
    let range = move || {
        values.with(|values| {
            let (least, most) = (values.iter().min()?, values.iter().max()?);
            Some(t::range(
                punctuation::before_word(&figure.text(*least)),
                figure.text(*most),
            ))
        })
    };
    view! {
        <figure class=format!("{CARD} flex min-w-30 shrink-0 flex-col justify-between px-2.5 py-1.5 max-xl:hidden") title=range>
            <figcaption class="flex items-baseline justify-between gap-2 whitespace-nowrap">
                <button
                    type="button"
                    class="grow rounded text-start text-xs text-muted decoration-dotted underline-offset-2 hover:text-ink hover:underline"
                    aria-haspopup="dialog"
                    aria-label=punctuation::labelled(figure.label(), t::as_table())
                    title=t::as_table()
                    on:click=move |_| is_table_open.set(true)
                >
                    <span>{label}</span>
                </button>
                <span class="font-semibold">{shown}</span>
                <span class="sr-only">{range}</span>
            </figcaption>
            <Plot name=figure.label() values points crosshair marked text=Signal::derive(move || format!("{} {}", label(), shown())) />
            <p class="-mb-0.5 flex justify-between text-[0.625rem] leading-3 text-muted" aria-hidden="true">
                <span>{t::axis_start()}</span>
                <span>{t::axis_end()}</span>
            </p>
        </figure>
    }
}
