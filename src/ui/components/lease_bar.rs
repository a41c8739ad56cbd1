//! The lease: a bar that empties and a countdown beside it. The digits are tabular, so that nothing wobbles.

use leptos::prelude::*;

use crate::domain::{Flag, Lease, Lock, Timestamp};
use crate::ui::format::{self, LeaseWords};
use crate::ui::live::Live;
use crate::ui::words::locks as words;

/// So much of a lease, or less, is seen to run out: the bar glides. What is longer moves too slowly for that.
const GLIDES_MS: u64 = 120_000;
/// A bar that glides is put right this often, in case the machine was asleep.
const AGAIN_MS: i64 = 15_000;

/// What the bar needs to know of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The lease.
    pub lease: Lease,
    /// When this lease began, as far as is known: the last renewal seen, else when the owner was first seen.
    pub began: Timestamp,
    /// Whether the key stays when the lease is over: the end is a time in its value, not a TTL.
    pub outlives: bool,
    /// Whether the end is near without a renewal.
    pub at_risk: bool,
}

impl Run {
    /// The run of a lock's lease.
    pub fn of(lock: &Lock) -> Self {
        Self {
            lease: lock.lease,
            began: lock
                .renewals
                .last_at
                .map_or(lock.acquired_at, |renewed| renewed.max(lock.acquired_at)),
            outlives: lock.format.outlives_its_lease(),
            at_risk: lock.has(Flag::AtRisk),
        }
    }

    /// How much of the lease is left, from 0 to 100.
    pub fn percent_left(&self, now: Timestamp) -> u64 {
        let Lease::Expires { at, .. } = self.lease else {
            return 100;
        };
        let whole = at.millis_since(self.began).max(1).unsigned_abs();
        (self
            .lease
            .remaining_ms(now)
            .unwrap_or(0)
            .saturating_mul(100)
            / whole)
            .min(100)
    }

    /// How much time is left; of a lease without an end all there is.
    fn left_ms(&self, now: Timestamp) -> u64 {
        self.lease.remaining_ms(now).unwrap_or(u64::MAX)
    }
}

/// The words beside the bar.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    text: String,
    colour: &'static str,
    /// What does not fit into a column is told whole here.
    title: String,
}

impl Said {
    fn of(run: Run, is_gone: bool, now: Timestamp) -> Self {
        let usual = || words::lease_title().to_owned();
        let (text, colour, title) = match format::lease(run.lease, run.outlives, now) {
            _ if is_gone => ("–".to_owned(), "text-muted", usual()),
            LeaseWords::None => (words::lease_none().to_owned(), "text-alarm", usual()),
            LeaseWords::Left(left) if run.at_risk => (left, "text-warn", usual()),
            LeaseWords::Left(left) => (left, "text-ink", usual()),
            LeaseWords::Over => (words::lease_over().to_owned(), "text-muted", usual()),
            LeaseWords::Past(since) => {
                let past = words::lease_past(since);
                (past.clone(), "text-alarm", past)
            }
        };
        Self {
            text,
            colour,
            title,
        }
    }
}

/// The bar as it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bar {
    run: Run,
    /// How much of its length is left, from 0 to 100.
    percent: u64,
    /// How many renewals it has seen: each one flashes, and the first sight of a lock does not.
    renewals: u32,
    glide: Option<Glide>,
}

/// How a bar runs out by itself: the browser does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Glide {
    /// In how much time.
    left_ms: u64,
    /// When it was last put right.
    turn: i64,
    /// Which glide of the bar it is.
    nth: u32,
}

impl Bar {
    /// The bar after the one `before`; nothing where there is no end to run towards.
    fn next(before: Option<Self>, run: Run, now: Timestamp, may_glide: bool) -> Option<Self> {
        let words = format::lease(run.lease, run.outlives, now);
        if !matches!(words, LeaseWords::Left(_) | LeaseWords::Over) {
            return None;
        }
        let turn = now.millis().div_euclid(AGAIN_MS);
        let glides = may_glide && run.left_ms(now) <= GLIDES_MS;
        let glide = before.and_then(|before| before.glide);
        if before.is_some_and(|before| before.run == run)
            && glides
            && glide.is_some_and(|glide| glide.turn == turn)
        {
            return before;
        }
        Some(Self {
            run,
            percent: run.percent_left(now),
            renewals: match before {
                Some(before) if before.run.began == run.began => before.renewals,
                Some(before) => before.renewals + 1,
                None => 0,
            },
            glide: glides.then(|| Glide {
                left_ms: run.left_ms(now),
                turn,
                nth: glide.map_or(0, |glide| glide.nth.wrapping_add(1)),
            }),
        })
    }

    fn class(&self) -> &'static str {
        match self.glide {
            None => "lease-left",
            // Two names, so that each one starts anew.
            Some(glide) if glide.nth % 2 == 0 => "lease-left lease-even",
            Some(_) => "lease-left lease-odd",
        }
    }

    fn fill(&self) -> String {
        let colour = if self.run.at_risk {
            "fill-warn"
        } else {
            "fill-held"
        };
        match self.renewals {
            0 => colour.to_owned(),
            count if count % 2 == 0 => format!("{colour} renewed-even"),
            _ => format!("{colour} renewed-odd"),
        }
    }
}

/// Whether nothing is to move. A handle: copy it freely.
#[derive(Clone, Copy)]
pub struct Calm(RwSignal<bool>);

impl Calm {
    /// Provides it to the pages. Nothing moves before a page has woken up.
    pub fn provide() {
        let calm = RwSignal::new(true);
        Effect::new(move || calm.set(wants_calm()));
        provide_context(Self(calm));
    }
}

/// Whether whoever looks wants nothing to move. In the browser only.
fn wants_calm() -> bool {
    let asked = window().match_media("(prefers-reduced-motion: reduce)");
    asked.ok().flatten().is_some_and(|asked| asked.matches())
}

/// A lease, counting down. There are many in a table: what is worked out is worked out once, and drawn in two pieces.
#[component]
pub fn LeaseBar(
    /// What is counted down.
    #[prop(into)]
    run: Signal<Run>,
    /// Whether the lock is gone: then nothing counts.
    #[prop(into, optional)]
    gone: Signal<bool>,
) -> impl IntoView {
    let live = Live::expect();
    let Calm(calm) = expect_context();
    let bar = Memo::new(move |before: Option<&Option<Bar>>| {
        let (before, now) = (before.copied().flatten(), live.now.get());
        (!gone.get())
            .then(|| Bar::next(before, run.get(), now, !calm.get()))
            .flatten()
    });
    let bar = move || {
        let bar = bar.get()?;
        let left = bar.glide.map(|glide| format!("{}ms", glide.left_ms));
        Some(
            view! {
                <span class="h-1.5 w-16 min-w-8 grow overflow-hidden rounded-full bg-line md:max-w-20" aria-hidden="true">
                    <span class=bar.class() style=("--lease-left", left)>
                        <svg class="block size-full" viewBox="0 0 100 6" preserveAspectRatio="none">
                            <rect class=bar.fill() width=bar.percent.to_string() height="6"></rect>
                        </svg>
                    </span>
                </span>
            }
            .into_any(),
        )
    };
    let said = Memo::new(move |_| Said::of(run.get(), gone.get(), live.now.get()));
    let said = move || {
        let Said {
            text,
            colour,
            title,
        } = said.get();
        view! { <span class=format!("truncate {colour}") title=title>{text}</span> }
    };
    view! { <span class="flex w-full items-center gap-2">{bar} {said}</span> }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn run(began_ms: i64, left_ms: i64) -> Run {
        Run {
            lease: Lease::until(NOW.plus_millis(left_ms), NOW),
            began: NOW.plus_millis(began_ms),
            outlives: false,
            at_risk: false,
        }
    }

    #[test]
    fn the_bar_is_full_after_a_renewal_and_empty_at_the_end() {
        assert_eq!(run(0, 30_000).percent_left(NOW), 100);
        assert_eq!(run(-15_000, 15_000).percent_left(NOW), 50);
        assert_eq!(run(-30_000, 0).percent_left(NOW), 0);
        assert_eq!(run(5_000, 1_000).percent_left(NOW), 100);
    }

    #[test]
    fn a_bar_that_glides_is_left_alone_until_it_is_put_right_or_renewed() {
        let near = run(-15_000, 15_000);
        let first = Bar::next(None, near, NOW, true).unwrap();
        assert_eq!(
            (first.percent, first.class()),
            (50, "lease-left lease-even")
        );
        let later = NOW.plus_millis(4_000);
        assert_eq!(Bar::next(Some(first), near, later, true), Some(first));
        let right = Bar::next(Some(first), near, NOW.plus_millis(AGAIN_MS - 1), true).unwrap();
        assert_eq!(right.class(), "lease-left lease-odd");
        let renewed = Bar::next(Some(first), run(0, 30_000), later, true).unwrap();
        assert_eq!(
            (renewed.renewals, renewed.fill().as_str()),
            (1, "fill-held renewed-odd")
        );
    }

    #[test]
    fn a_bar_steps_where_nothing_is_to_move_and_where_the_end_is_far() {
        let near = run(-15_000, 15_000);
        for (run, may_glide) in [(near, false), (run(0, 600_000), true)] {
            let bar = Bar::next(None, run, NOW, may_glide).unwrap();
            assert_eq!((bar.class(), bar.glide), ("lease-left", None));
        }
        assert_eq!(
            Bar::next(
                None,
                Run {
                    lease: Lease::Never,
                    ..near
                },
                NOW,
                true
            ),
            None
        );
    }
}
