//! The lease: a bar that empties and a countdown beside it. The digits are tabular, so that nothing wobbles.

use leptos::html;
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

    fn glide(&self, now: Timestamp) -> Glide {
        Glide {
            percent: self.percent_left(now),
            left_ms: self.left_ms(now),
        }
    }
}

/// How a bar runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Glide {
    /// From how much of its length.
    percent: u64,
    /// In how much time.
    left_ms: u64,
}

/// Whether whoever looks wants nothing to move. In the browser only.
fn wants_calm() -> bool {
    let asked = window().match_media("(prefers-reduced-motion: reduce)");
    asked.ok().flatten().is_some_and(|asked| asked.matches())
}

/// A lease, counting down.
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
    let words = move || {
        let run = run.get();
        format::lease(run.lease, run.outlives, live.now.get())
    };
    let text = move || match words() {
        _ if gone.get() => ("–".to_owned(), "text-muted"),
        LeaseWords::None => (words::lease_none().to_owned(), "text-alarm"),
        LeaseWords::Left(left) => (
            left,
            if run.get().at_risk {
                "text-warn"
            } else {
                "text-ink"
            },
        ),
        LeaseWords::Over => (words::lease_over().to_owned(), "text-muted"),
        LeaseWords::Past(since) => (words::lease_past(since), "text-alarm"),
    };
    // What does not fit into a column is told whole here.
    let title = move || match words() {
        LeaseWords::Past(since) => words::lease_past(since),
        LeaseWords::None | LeaseWords::Left(_) | LeaseWords::Over => {
            words::lease_title().to_owned()
        }
    };
    let counts = Memo::new(move |_| {
        !gone.get() && matches!(words(), LeaseWords::Left(_) | LeaseWords::Over)
    });
    let is_calm = RwSignal::new(true);
    Effect::new(move || is_calm.set(wants_calm()));
    let is_near = Memo::new(move |_| run.get().left_ms(live.now.get()) <= GLIDES_MS);
    let turn = Memo::new(move |_| live.now.get().millis().div_euclid(AGAIN_MS));
    // Where the bar stood when it began to glide, and how much time was left then: the browser does the rest by itself.
    let glide = Memo::new(move |before: Option<&(u32, Option<Glide>)>| {
        turn.track();
        let nth = before.map_or(0, |(nth, _)| nth.wrapping_add(1));
        let glides = is_near.get() && !is_calm.get() && !gone.get();
        let glide = glides.then(|| run.get().glide(live.now.get_untracked()));
        (nth, glide)
    });
    let left = Memo::new(move |_| match glide.get() {
        (_, Some(glide)) => glide.percent,
        (_, None) => run.get().percent_left(live.now.get()),
    });
    let bar = NodeRef::<html::Span>::new();
    Effect::new(move || {
        let (nth, glide) = glide.get();
        let Some(bar) = bar.get() else { return };
        let class = match glide {
            None => "lease-left",
            // Two names, so that each one starts anew.
            Some(_) if nth % 2 == 0 => "lease-left lease-even",
            Some(_) => "lease-left lease-odd",
        };
        bar.set_class_name(class);
        let left = glide.map_or(0, |glide| glide.left_ms);
        // Fails only for a property that cannot be written.
        let _infallible =
            web_sys::HtmlElement::style(&bar).set_property("--lease-left", &format!("{left}ms"));
    });
    // Which renewal this is, so that each one flashes once and the first sight of a lock does not.
    let renewal = Memo::new(move |before: Option<&(Timestamp, u32)>| {
        let began = run.get().began;
        match before {
            Some((known, count)) if *known == began => (*known, *count),
            Some((_, count)) => (began, count + 1),
            None => (began, 0),
        }
    });
    let fill = move || {
        let colour = if run.get().at_risk {
            "fill-warn"
        } else {
            "fill-held"
        };
        match renewal.get().1 {
            0 => colour.to_owned(),
            count if count % 2 == 0 => format!("{colour} renewed-even"),
            _ => format!("{colour} renewed-odd"),
        }
    };
    view! {
        <span class="flex w-full items-center gap-2">
            {move || {
                counts
                    .get()
                    .then(|| {
                        view! {
                            <span class="h-1.5 w-16 min-w-8 grow overflow-hidden rounded-full bg-line md:max-w-20" aria-hidden="true">
                                <span class="lease-left" node_ref=bar>
                                    <svg class="block size-full" viewBox="0 0 100 6" preserveAspectRatio="none">
                                        <rect class=fill width=move || left.get().to_string() height="6"></rect>
                                    </svg>
                                </span>
                            </span>
                        }.into_any()
                    })
            }}
            <span class=move || format!("truncate {}", text().1) title=title>
                {move || text().0}
            </span>
        </span>
    }
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
}
