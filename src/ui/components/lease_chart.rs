//! The lease of a lock over time: it runs down, every renewal lifts it, and where it would end if no other came.

use leptos::prelude::*;

use super::chart_marks::time;
use super::lease_bar::Run;
use crate::domain::saw_tooth::{Stretch, saw_tooth, up_to_now};
use crate::domain::{Beat, History, LockId, Timestamp, Verdict};
use crate::ui::format;
use crate::ui::kit::Tone;
use crate::ui::kit::chart::{Level, LineChart, Reach, Stroke};
use crate::ui::live::Live;
use crate::ui::words::lock as words;

/// No more of the past is drawn.
const LONGEST_MS: i64 = 15 * 60_000;
/// So many renewals are kept while the page is open.
const MOST: usize = 100;

/// The picture; nothing where no lease was seen that could run down.
#[component]
pub fn LeaseChart(
    /// Which lock.
    id: LockId,
    /// What was seen before the page was opened.
    history: History,
    /// Whether several nodes hold it, of which a quorum is lost when it ends; else the key expires.
    several: bool,
) -> impl IntoView {
    let live = Live::expect();
    // Nobody loses a quorum that nobody has.
    let is_quorum = {
        let id = id.clone();
        Memo::new(move |_| {
            several
                && live
                    .lock(&id)
                    .is_none_or(|lock| lock.verdict == Verdict::Held)
        })
    };
    let line = LeaseLine::follow(live, id, history);
    let is_there = Memo::new(move |_| line.beats.with(|beats| !beats.is_empty()));
    let levels = Signal::derive(move || {
        let (_, up) = line.reach.get();
        let end = match is_quorum.get() {
            true => words::quorum_lost_here(),
            false => words::expires_here(),
        };
        vec![
            level(0, end, Tone::Alarm),
            level(up.until / 5, words::a_fifth(), Tone::Warn),
        ]
    });
    let ends = Signal::derive(move || {
        let (right, _) = line.reach.get();
        let utc = |ms| time(Timestamp::from_millis(ms));
        (utc(right.from), utc(right.until))
    });
    let shown = move || {
        is_there.get().then(|| {
            let table = (
                words::as_table().to_owned(),
                vec![words::time(), words::lease_then()],
                Signal::derive(move || line.rows()),
            );
            view! {
                <div class="mb-4">
                    <h3 class="mb-1 font-medium">{words::lease_over_time()}</h3>
                    <LineChart
                        id="lease-chart"
                        title=words::lease_over_time()
                        summary=Signal::derive(move || line.summary())
                        ends
                        reach=line.reach
                        strokes=Signal::derive(move || line.strokes())
                        levels
                        present=Signal::derive(move || live.now.get().millis())
                        table
                    />
                </div>
            }
        })
    };
    view! { {shown} }
}

/// How the lease ran down and was lifted, followed as it goes on. A handle: copy it freely.
#[derive(Clone, Copy)]
struct LeaseLine {
    live: Live,
    /// The renewals that were seen.
    beats: Memo<Vec<Beat>>,
    /// The lease between them.
    stretches: Memo<Vec<Stretch>>,
    /// What the picture shows of time, and of what is left.
    reach: Memo<(Reach, Reach)>,
}

impl LeaseLine {
    /// Follows the lock from where its history ends.
    fn follow(live: Live, id: LockId, history: History) -> Self {
        let ends: Vec<Timestamp> = history.holds.iter().filter_map(|hold| hold.until).collect();
        let first = history.beats;
        // What is on the board goes on where the answer ends.
        let beats = Memo::new(move |before: Option<&Vec<Beat>>| {
            let known = before.unwrap_or(&first);
            let lock = live.lock(&id);
            let run = lock.as_ref().map(Run::of);
            let now = run.and_then(|run| Some((run.began, run.lease.expires_at()?)));
            let mut beats = match now {
                Some((began, expires_at)) => up_to_now(known, began, expires_at),
                None => known.clone(),
            };
            beats.drain(..beats.len().saturating_sub(MOST));
            beats
        });
        let stretches =
            Memo::new(move |_| beats.with(|beats| saw_tooth(beats, &ends, live.now.get())));
        let reach = Memo::new(move |_| {
            stretches.with(|stretches| reach(stretches, live.now.get().millis()))
        });
        Self {
            live,
            beats,
            stretches,
            reach,
        }
    }

    fn strokes(self) -> Vec<Stroke> {
        let (right, _) = self.reach.get();
        self.stretches
            .with(|stretches| drawn(stretches, right, self.live.now.get()))
    }

    /// How often it was lifted, and how much of it is left.
    fn summary(self) -> String {
        let now = self.live.now.get();
        let (lifts, left) = self.stretches.with(|all| {
            let lifts = all.iter().filter(|one| one.is_lifted).count();
            (
                lifts,
                all.last().map(|one| one.expires_at.millis_since(now)),
            )
        });
        let left = match left.and_then(|ms| u64::try_from(ms).ok()) {
            Some(ms) if ms > 0 => words::lease_left(&format::countdown(ms)),
            Some(_) | None => words::lease_ended().to_owned(),
        };
        let seen = words::renewals_seen(&format::counted(lifts, "renewal"));
        words::lease_chart(&seen, &left)
    }

    /// The same as a table, the latest renewal first.
    fn rows(self) -> Vec<Vec<String>> {
        let row = |beat: &Beat| {
            let left = beat.expires_at.millis_since(beat.at);
            vec![
                time(beat.at),
                format::span(u64::try_from(left).unwrap_or(0)),
            ]
        };
        self.beats
            .with(|beats| beats.iter().rev().map(row).collect())
    }
}

/// What of time, and of what is left of the lease, has to be on the picture.
fn reach(stretches: &[Stretch], now: i64) -> (Reach, Reach) {
    let first = stretches.first().map_or(now, |one| one.from.millis());
    let end = stretches.last().map_or(now, |one| one.expires_at.millis());
    let highest = stretches
        .iter()
        .map(|one| one.expires_at.millis_since(one.from));
    let right = Reach {
        from: first.max(now - LONGEST_MS),
        until: end.clamp(now, now + LONGEST_MS),
    };
    let up = Reach {
        from: 0,
        until: highest.max().unwrap_or(1).max(1),
    };
    (right, up)
}

fn level(at: i64, words: &str, tone: Tone) -> Level {
    Level {
        at,
        words: words.to_owned(),
        tone,
    }
}

/// The strokes that are on the picture: each stretch runs down, a renewal lifts it to the next, and the last goes on as expected.
fn drawn(stretches: &[Stretch], right: Reach, now: Timestamp) -> Vec<Stroke> {
    let mut strokes = Vec::new();
    for (nth, stretch) in stretches.iter().enumerate() {
        let ends = stretch.expires_at.millis();
        let left = |at: i64| (at, ends - at);
        let (from, until) = (
            stretch.from.millis().max(right.from),
            stretch.until.millis(),
        );
        if until < right.from {
            continue;
        }
        let mut draw = |from, to, is_expected| {
            strokes.push(Stroke {
                from,
                to,
                is_expected,
            });
        };
        draw(left(from), left(until), false);
        if let Some(next) = stretches.get(nth + 1).filter(|_| stretch.is_lifted) {
            let (at, height) = (next.from.millis(), next.expires_at.millis_since(next.from));
            draw(left(until), (at, height), false);
        } else if nth + 1 == stretches.len() && stretch.until == now {
            let end = ends.min(right.until);
            draw(left(until), left(end), true);
        }
    }
    strokes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::NOW;

    #[test]
    fn a_lease_runs_down_is_lifted_and_goes_on_as_expected() {
        let at = |ms: i64| NOW.plus_millis(ms);
        let beat = |ms: i64| Beat {
            at: at(ms),
            expires_at: at(ms + 30),
        };
        let now = at(15);
        let stretches = saw_tooth(&[beat(0), beat(10)], &[], now);
        let right = Reach {
            from: at(5).millis(),
            until: at(40).millis(),
        };
        let base = NOW.millis();
        let told: Vec<_> = drawn(&stretches, right, now)
            .into_iter()
            .map(|one| {
                let ((x1, y1), (x2, y2)) = (one.from, one.to);
                (x1 - base, y1, x2 - base, y2, one.is_expected)
            })
            .collect();
        assert_eq!(
            told,
            [
                (5, 25, 10, 20, false),
                (10, 20, 10, 30, false),
                (10, 30, 15, 25, false),
                (15, 25, 40, 0, true),
            ]
        );
    }
}
