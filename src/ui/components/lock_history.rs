//! Who held a lock, from when to when, how each hold ended, and how long it is usually held.

use leptos::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::chart_marks::{time, tone};
use super::lease_chart::LeaseChart;
use super::loaded::Loaded;
use super::owners_chart::OwnersChart;
use crate::domain::{Fingerprint, History, Hold, LockId, Start, Timestamp, Usual, UsualOf};
use crate::ui::kit::{Badge, Card};
use crate::ui::live::Live;
use crate::ui::live::Loading;
use crate::ui::words::lock::{self as words, renewed};
use crate::ui::words::punctuation;
use crate::ui::{calls, format};

/// So many holds are shown at first.
const SHOWN: usize = 8;

/// Asks for the history of one lock, and again whenever its owner changes.
///
/// Not to be called in what waits for something itself: the server paints that several times, and a page that wakes up would
/// look for the answer to another question. Such a part may also come just after the change that it should hear of.
pub fn ask(id: &LockId) -> Loading<History> {
    let named = id.clone();
    let asked = Loading::new(move || calls::history(named.clone()));
    again_when_the_owner_changes(id, asked);
    again_when_renewals_were_missed(id, asked);
    asked
}

/// Asks again when the page has not seen each renewal: while it woke up or was out of sight the picture would have a hole.
fn again_when_renewals_were_missed(id: &LockId, asked: Loading<History>) {
    let (live, id) = (Live::expect(), id.clone());
    let count = Memo::new(move |_| live.lock(&id).map(|lock| lock.renewals.count));
    Effect::new(move |before: Option<Option<u32>>| {
        let now = count.get();
        if let (Some(Some(before)), Some(now)) = (before, now)
            && now > before.saturating_add(1)
        {
            asked.again();
        }
        now
    });
}

/// Asks again whenever the lock gets another owner or is gone.
pub fn again_when_the_owner_changes<T>(id: &LockId, asked: Loading<T>)
where
    T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
{
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
        <Card id="history" title=words::history()>
            <Loaded loading=asked show />
        </Card>
    }
}

#[component]
fn Shown(history: History, id: LockId) -> impl IntoView {
    let live = Live::expect();
    let kept = kept(&history);
    let usual = usual(history.usual.as_ref());
    let several = {
        let group = untrack(|| live.group(&id.group));
        group.is_some_and(|group| group.nodes.len() > 1)
    };
    let lease = {
        let (id, history) = (id.clone(), history.clone());
        view! { <LeaseChart id history several /> }.into_any()
    };
    if history.holds.is_empty() {
        return view! {
            {lease}
            <p>{if several { words::no_quorum_seen() } else { words::nobody_seen() }}</p>
            <p class="mt-2 text-xs text-muted">{kept}</p>
        }
        .into_any();
    }
    let gaps = history.gaps_ms();
    let (holds, beats) = (history.holds.clone(), history.beats);
    let lines = history.holds.into_iter().zip(gaps);
    let mut lines: Vec<_> = lines
        .map(|(hold, gap)| view! { <Line hold gap id=id.clone() /> })
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
    });
    view! {
        {lease}
        <OwnersChart holds beats />
        <p class="mb-3">{usual}</p>
        <ol class="flex flex-col gap-2" aria-label=words::holds()>
            {lines}
        </ol>
        {earlier}
        <p class="mt-3 text-xs text-muted">{kept}</p>
    }
    .into_any()
}

#[component]
fn Line(hold: Hold, gap: Option<u64>, id: LockId) -> impl IntoView {
    let live = Live::expect();
    let digits = hold.fingerprint.as_str()[..8].to_owned();
    let title = format!("{} {}", words::fingerprint(), hold.fingerprint);
    let label = hold.label.as_deref().map(format::visible);
    let span = {
        let about = about(hold.from_is, hold.from_within_ms);
        let from = format!("{about}{}", time(hold.from));
        match hold.until.map(time) {
            Some(until) => words::from_until(&from, &until),
            None => words::since(&from),
        }
    };
    let renewals = {
        let (goes_on, seen) = (hold.until.is_none(), hold.renewals);
        move || {
            // What was answered stands still; of a hold that goes on the board knows more.
            let now = goes_on.then(|| live.lock(&id)).flatten();
            let count = now.map_or(seen, |lock| lock.renewals.count);
            (count > 0).then(|| renewed::count(&format::counted(count as usize, "renewal")))
        }
    };
    let ending = hold.ending;
    let lasted = move || format::span(hold.lasted_ms(live.now.get()) / 100 * 100);
    view! {
        {gap
            .map(|ms| {
                view! { <li class="ps-3 text-xs text-muted">{words::without_owner(&format::span(ms))}</li> }
            })}
        <li class="flex flex-wrap items-baseline gap-x-2 border-s-2 border-line ps-3">
            <span title=title>
                {label.map(|label| view! { <bdi class="font-medium wrap-anywhere">{label}</bdi> " " })}
                <span class="font-mono text-xs text-muted">{digits}"…"</span>
            </span>
            <Badge tone=tone(ending)>{words::ended(ending)}</Badge>
            <span class="text-muted tabular-nums">{span}{punctuation::comma()}{lasted}{renewals}</span>
        </li>
    }
}

/// How far a start can be trusted, before the time.
fn about(start: Start, within_ms: Option<u64>) -> &'static str {
    match (start, within_ms) {
        (Start::Claimed, _) | (Start::Appeared, Some(0..1_000)) => "",
        (Start::Appeared, Some(_) | None) => renewed::about(),
        (Start::FirstSeen, _) => renewed::before(),
    }
}

fn usual(usual: Option<&Usual>) -> String {
    let Some(usual) = usual else {
        return words::usual_unknown().to_owned();
    };
    let holds = format::counted(usual.count as usize, "hold");
    let of = match (&usual.of, &usual.pattern) {
        (UsualOf::Pattern, Some(pattern)) => words::of_pattern(&holds, &format::visible(pattern)),
        (UsualOf::Pattern | UsualOf::Lock, _) => words::of_this_lock(&holds),
    };
    words::usual(
        &format::span(usual.p50_ms),
        &format::span(usual.p90_ms),
        &format::span(usual.p99_ms),
        &format::span(usual.max_ms),
        &of,
    )
}

fn kept(history: &History) -> String {
    let kept = &history.retention;
    words::kept(
        &format::time_of_day(kept.since),
        kept.holds,
        &format::span(kept.span_ms),
    )
}
