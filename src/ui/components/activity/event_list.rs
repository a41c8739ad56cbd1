//! The events beside the lanes. An event leads to the time around it.

use std::sync::Arc;

use leptos::prelude::*;
use strum::VariantArray as _;

use super::data::ActivityData;
use super::names::owner_name;
use crate::domain::activity::events::{
    ActivityEvent, EventFilter, EventKind, EventSubject, events,
};
use crate::domain::activity::time_range::TimeRange;
use crate::ui::activity_view::ActivityView;
use crate::ui::i18n::{activity as t, terms};
use crate::ui::kit::{Badge, Button, Link, Tone};
use crate::ui::{format, paths};

/// The number of events that are listed.
const MAX_EVENTS: usize = 200;
/// The number of them that are listed at first on a narrow screen, where the whole page scrolls.
const MAX_FOLDED_EVENTS: usize = 30;
/// Hides the later ones there, if the button that shows them works. Tailwind finds only literal
/// classes, so the number is repeated: the first hidden event is the 31st.
const FOLDED: &str = "[@media(scripting:enabled)]:max-md:[&>li:nth-child(n+31)]:hidden";

/// The events, the latest first.
#[component]
pub fn EventList(
    /// The history.
    data: ActivityData,
    /// The state of the page.
    view: Memo<ActivityView>,
    /// The displayed range.
    range: Memo<TimeRange>,
) -> impl IntoView {
    let all = Memo::new(move |_| {
        let loaded = data.get();
        Arc::new(
            loaded
                .map(|loaded| events(&loaded.activity))
                .unwrap_or_default(),
        )
    });
    let shown = Memo::new(move |_| {
        let (filter, range) = (view.with(|view| view.filter), range.get());
        all.with(|all| {
            let is_shown =
                |event: &&ActivityEvent| filter.matches(event.kind) && range.contains(event.at);
            let shown: Vec<ActivityEvent> = all.iter().filter(is_shown).cloned().collect();
            shown
        })
    });
    let filters = EventFilter::VARIANTS.iter().map(|&filter| {
        let href = Signal::derive(move || {
            let view = view.get();
            ActivityView { filter, ..view }.path()
        });
        let current = Signal::derive(move || view.with(|view| view.filter == filter));
        let class = "rounded-md px-2 py-0.5 text-muted hover:text-ink aria-[current]:bg-accent-soft aria-[current]:font-medium aria-[current]:text-ink";
        view! { <Link href class current no_scroll=true>{t::filter(filter)}</Link> }
    });
    let more = move || {
        let more = shown.with(Vec::len).saturating_sub(MAX_EVENTS);
        (more > 0).then(|| view! { <p class="pt-2 text-muted">{t::more_events(more)}</p> })
    };
    let is_unfolded = RwSignal::new(false);
    let list_class = move || {
        let folded = if is_unfolded.get() { "" } else { FOLDED };
        format!("flex flex-col md:max-h-[64vh] md:overflow-y-auto {folded}")
    };
    let unfold_button = move || {
        let listed = shown.with(Vec::len).min(MAX_EVENTS);
        let is_folded = listed > MAX_FOLDED_EVENTS && !is_unfolded.get();
        is_folded.then(|| {
            let on_press = move |()| is_unfolded.set(true);
            view! {
                <div class="pt-1 md:hidden">
                    <Button on_press>{t::show_events(listed)}</Button>
                </div>
            }
        })
    };
    let empty = move || {
        shown
            .with(Vec::is_empty)
            .then(|| view! { <p class="py-2 text-muted">{t::no_events()}</p> })
    };
    let listed = move || {
        let mut listed = shown.get();
        listed.truncate(MAX_EVENTS);
        listed
    };
    view! {
        <section aria-labelledby="events-title" class="flex min-w-0 flex-col gap-2 text-xs">
            <div class="flex flex-wrap items-center gap-x-3 gap-y-1">
                <h2 id="events-title" class="text-sm font-semibold">{t::events()}</h2>
                <nav aria-label=t::event_filter() class="flex flex-wrap gap-0.5">
                    {filters.collect_view()}
                </nav>
            </div>
            {empty}
            <ol class=list_class aria-labelledby="events-title">
                <For each=listed key=event_key let:event>
                    <EventRow event view range />
                </For>
            </ol>
            {unfold_button}
            {more}
        </section>
    }
}

/// Identifies an event among the listed ones.
fn event_key(event: &ActivityEvent) -> String {
    let subject = match &event.subject {
        EventSubject::Hold {
            id, fingerprint, ..
        } => format!("{} {fingerprint}", paths::lock(id)),
        EventSubject::Flag { id, flag, times } => {
            format!("{} {} {times}", paths::lock(id), flag.slug())
        }
        EventSubject::Node { group, node, state } => format!("{group} {node} {}", state.slug()),
        EventSubject::Recording(_) => String::new(),
    };
    format!("{} {:?} {subject}", event.at.millis(), event.kind)
}

#[component]
fn EventRow(
    event: ActivityEvent,
    view: Memo<ActivityView>,
    range: Memo<TimeRange>,
) -> impl IntoView {
    let at = event.at;
    let href = Signal::derive(move || {
        let half = range.get().millis() / 2;
        view.get().with_range(TimeRange::around(at, half)).path()
    });
    let time = move || format::clock_time(at);
    let title = Signal::derive(move || t::center_on(format::time_of_day(at)));
    view! {
        <li class="flex items-baseline gap-2 border-b border-line py-1 last:border-0">
            <Link href class="shrink-0 tabular-nums text-accent underline underline-offset-2" no_scroll=true title>
                {time}
            </Link>
            <span class="flex min-w-0 grow flex-wrap items-baseline gap-x-2 gap-y-0.5">
                <Badge tone=tone(event.kind)>{t::event(event.kind)}</Badge>
                {subject(event.subject)}
            </span>
        </li>
    }
}

fn tone(kind: EventKind) -> Tone {
    match kind {
        EventKind::Acquired | EventKind::NodeUp | EventKind::RecordingResumed => Tone::Good,
        EventKind::FirstSeen | EventKind::Released => Tone::Plain,
        EventKind::Expired | EventKind::TakenOver | EventKind::FlagRaised => Tone::Warn,
        EventKind::Forced | EventKind::NodeDown => Tone::Alarm,
        EventKind::EndNotObserved | EventKind::RecordingStopped => Tone::Unsure,
    }
}

/// What the event happened to.
fn subject(subject: EventSubject) -> AnyView {
    match subject {
        EventSubject::Hold {
            id,
            fingerprint,
            label,
            held_ms,
        } => {
            let owner = owner_name(label.as_deref(), &fingerprint);
            let held = held_ms.map(|ms| t::after(format::span(ms)));
            view! {
                <LockLink id />
                <bdi class="min-w-0 truncate">{owner}</bdi>
                {held.map(|held| view! { <span class="text-muted">{held}</span> })}
            }
            .into_any()
        }
        EventSubject::Flag { id, flag, times } => {
            let times = (times > 1).then(|| view! { <span class="text-muted">"×" {times}</span> });
            view! { <LockLink id /> <span>{terms::flag(flag)}</span> {times} }.into_any()
        }
        EventSubject::Node { group, node, .. } => {
            let name = format!("{group} / {node}");
            view! { <bdi class="font-mono">{format::escape_invisible(&name)}</bdi> }.into_any()
        }
        EventSubject::Recording(cause) => view! { <span>{t::gap_cause(cause)}</span> }.into_any(),
    }
}

#[component]
fn LockLink(id: crate::domain::LockId) -> impl IntoView {
    let name = format::shorten(&format::escape_invisible(&id.key.text()), 32);
    view! {
        <Link href=paths::lock(&id) class="min-w-0 max-w-full truncate hover:underline">
            <bdi class="font-mono">{name}</bdi>
        </Link>
    }
}
