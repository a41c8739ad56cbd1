//! Who held a lock, from when to when, how each hold ended, and how long it is usually held.

use leptos::prelude::*;
use serde::de::DeserializeOwned;

use super::loaded::{Loaded, Loading};
use crate::domain::{
    Fingerprint, History, Hold, HowEnded, LockId, Start, Timestamp, Usual, UsualOf,
};
use crate::ui::kit::{Badge, Tone};
use crate::ui::live::Live;
use crate::ui::{calls, format};

/// So many holds are shown at first.
const SHOWN: usize = 8;

/// Asks for the history of one lock, and again whenever its owner changes.
///
/// Not to be called in what waits for something itself: the server paints that several times, and a page that wakes up would
/// look for the answer to another question. Such a part may also come just after the change that it should hear of.
pub fn ask(id: &LockId) -> Loading<History> {
    let named = id.clone();
    let asked = Loading::new(move || calls::history(named.group.clone(), named.key.encoded()));
    again_when_the_owner_changes(id, asked);
    asked
}

/// Asks again whenever the lock gets another owner or is gone.
pub fn again_when_the_owner_changes<T: DeserializeOwned + 'static>(id: &LockId, asked: Loading<T>) {
    let (live, id) = (Live::expect(), id.clone());
    let owners = Memo::new(move |_| {
        let owners = live.lock(&id).map(|lock| lock.owners);
        (
            owners.map(|owners| owners.into_iter().map(|owner| owner.fingerprint).collect()),
            live.ending(&id).map(|gone| gone.at),
        )
    });
    Effect::new(
        move |before: Option<(Option<Vec<Fingerprint>>, Option<Timestamp>)>| {
            let now = owners.get();
            if before.is_some_and(|before| before != now) {
                asked.again();
            }
            now
        },
    );
}

/// The history of one lock.
#[component]
pub fn LockHistory(
    /// Which lock.
    id: LockId,
    /// Its history.
    asked: Loading<History>,
) -> impl IntoView {
    let show =
        Callback::new(move |history: History| view! { <Shown history id=id.clone() /> }.into_any());
    view! {
        <section class="rounded-xl border border-line bg-surface p-4 shadow-lift" aria-labelledby="history">
            <h2 id="history" class="mb-2 text-base font-semibold">
                "History"
            </h2>
            <Loaded loading=asked show />
        </section>
    }
}

#[component]
fn Shown(history: History, id: LockId) -> impl IntoView {
    let kept = kept(&history);
    let usual = usual(history.usual.as_ref());
    if history.holds.is_empty() {
        return view! {
            <p>"Nobody was seen to hold it."</p>
            <p class="mt-2 text-xs text-muted">{kept}</p>
        }
        .into_any();
    }
    let gaps = history.gaps_ms();
    let strip = view! { <Strip holds=history.holds.clone() /> }.into_any();
    let lines = history.holds.into_iter().zip(gaps);
    let mut lines: Vec<AnyView> = lines
        .map(|(hold, gap)| view! { <Line hold gap id=id.clone() /> }.into_any())
        .collect();
    let earlier = lines.split_off(SHOWN.min(lines.len()));
    let earlier = (!earlier.is_empty()).then(|| {
        let many = format::counted(earlier.len(), "earlier hold");
        view! {
            <details class="mt-2">
                <summary class="text-muted">{many}</summary>
                <ol class="mt-2 flex flex-col gap-2">{earlier}</ol>
            </details>
        }
        .into_any()
    });
    view! {
        <p class="mb-3">{usual}</p>
        {strip}
        <ol class="flex flex-col gap-2" aria-label="Holds, the latest first">
            {lines}
        </ol>
        {earlier}
        <p class="mt-3 text-xs text-muted">{kept}</p>
    }
    .into_any()
}

/// A picture of what the list says: time from left to right, a bar for each hold.
#[component]
fn Strip(holds: Vec<Hold>) -> impl IntoView {
    const WIDE: i64 = 1_000;
    let live = Live::expect();
    let first = holds.last().map(|hold| hold.from);
    let bars = move || {
        // Once a second is often enough for a picture.
        let now = live.now.get();
        let begin = first?;
        let whole = now.millis_since(begin).max(1);
        let at = |moment: Timestamp| {
            (moment.millis_since(begin).clamp(0, whole)).saturating_mul(WIDE) / whole
        };
        let bar = |hold: &Hold| {
            let (from, until) = (at(hold.from), at(hold.until.unwrap_or(now)));
            let tone = tone(hold.ending).text();
            let (x, width) = (from.to_string(), (until - from).max(2).to_string());
            view! { <rect class=tone x=x y="0" width=width height="12" fill="currentColor"></rect> }
                .into_any()
        };
        Some(holds.iter().map(bar).collect_view())
    };
    view! {
        <svg
            class="mb-3 h-3 w-full rounded bg-sunken"
            viewBox="0 0 1000 12"
            preserveAspectRatio="none"
            aria-hidden="true"
        >
            {bars}
        </svg>
    }
}

#[component]
fn Line(hold: Hold, gap: Option<u64>, id: LockId) -> impl IntoView {
    let live = Live::expect();
    let digits = hold.fingerprint.as_str()[..8].to_owned();
    let title = format!("fingerprint {}", hold.fingerprint);
    let label = hold.label.as_deref().map(format::visible);
    let span = {
        let (from, until) = (time(hold.from), hold.until.map(time));
        let about = about(hold.from_is, hold.from_within_ms);
        match until {
            Some(until) => format!("{about}{from} – {until} UTC"),
            None => format!("since {about}{from} UTC"),
        }
    };
    let renewals = {
        let (goes_on, seen) = (hold.until.is_none(), hold.renewals);
        move || {
            // What was answered stands still; of a hold that goes on the board knows more.
            let now = goes_on.then(|| live.lock(&id)).flatten();
            let count = now.map_or(seen, |lock| lock.renewals.count);
            (count > 0).then(|| format!(", {}", format::counted(count as usize, "renewal")))
        }
    };
    let ending = view! { <Badge tone=tone(hold.ending)>{ended(hold.ending)}</Badge> }.into_any();
    let lasted = move || format::span(hold.lasted_ms(live.now.get()) / 100 * 100);
    view! {
        {gap
            .map(|ms| {
                view! { <li class="ps-3 text-xs text-muted">{format!("{} without an owner", format::span(ms))}</li> }
                    .into_any()
            })}
        <li class="flex flex-wrap items-baseline gap-x-2 border-s-2 border-line ps-3">
            <span title=title>
                {label.map(|label| view! { <bdi class="font-medium">{label}</bdi> " " }.into_any())}
                <span class="font-mono text-xs text-muted">{digits}"…"</span>
            </span>
            {ending}
            <span class="text-muted tabular-nums">{span}", "{lasted}{renewals}</span>
        </li>
    }
}

fn tone(ending: Option<HowEnded>) -> Tone {
    match ending {
        None => Tone::Good,
        Some(HowEnded::Released) => Tone::Plain,
        Some(HowEnded::Expired | HowEnded::TakenOver) => Tone::Warn,
        Some(HowEnded::Forced) => Tone::Alarm,
        Some(HowEnded::Unknown) => Tone::Unsure,
    }
}

fn ended(ending: Option<HowEnded>) -> &'static str {
    match ending {
        None => "holds it",
        Some(HowEnded::Released) => "released",
        Some(HowEnded::Expired) => "expired",
        Some(HowEnded::TakenOver) => "taken over",
        Some(HowEnded::Forced) => "forced",
        Some(HowEnded::Unknown) => "end not seen",
    }
}

/// How far a start can be trusted, before the time.
fn about(start: Start, within_ms: Option<u64>) -> &'static str {
    match (start, within_ms) {
        (Start::Claimed, _) | (Start::Appeared, Some(0..1_000)) => "",
        (Start::Appeared, Some(_) | None) => "about ",
        (Start::FirstSeen, _) => "before ",
    }
}

/// `03:12:09`.
fn time(moment: Timestamp) -> String {
    let text = format::time_of_day(moment);
    text.trim_end_matches(" UTC").to_owned()
}

fn usual(usual: Option<&Usual>) -> String {
    let Some(usual) = usual else {
        return "How long it is usually held is not known: no hold was seen from beginning to end."
            .to_owned();
    };
    let whose = match (&usual.of, &usual.pattern) {
        (UsualOf::Pattern, Some(pattern)) => format!("of {}", format::visible(pattern)),
        (UsualOf::Pattern | UsualOf::Lock, _) => "of this lock".to_owned(),
    };
    format!(
        "Usually held for {}; 90 % up to {}, 99 % up to {}, at most {} ({} {whose}).",
        format::span(usual.p50_ms),
        format::span(usual.p90_ms),
        format::span(usual.p99_ms),
        format::span(usual.max_ms),
        format::counted(usual.count as usize, "hold"),
    )
}

fn kept(history: &History) -> String {
    let kept = &history.retention;
    format!(
        "As far as this console saw it, since {}. It remembers {} holds of a lock for {} and writes nothing down.",
        format::time_of_day(kept.since),
        kept.holds,
        format::span(kept.span_ms),
    )
}
