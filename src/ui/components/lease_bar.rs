//! The remaining lease: a bar that empties and a countdown. The digits are tabular, so that the
//! text does not shift.

use leptos::prelude::*;

use crate::domain::{Flag, Lease, Lock, Timestamp, Verdict};
use crate::ui::format::{self, LeaseWords};
use crate::ui::i18n::locks as t;
use crate::ui::live::Live;

/// The bar is animated if no more than this is left of the lease. A longer lease moves too slowly
/// to be visible.
const ANIMATE_BELOW_MS: u64 = 120_000;
/// An animated bar is corrected this often, in case the machine was suspended.
const RESYNC_INTERVAL_MS: i64 = 15_000;

/// The part of a lock's state that the bar shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseProgress {
    /// The lease.
    pub lease: Lease,
    /// When the lease started: the last observed renewal, or else the acquisition.
    pub started_at: Timestamp,
    /// Whether the key remains after the lease ends, because the expiry is a timestamp in its value
    /// and not a TTL.
    pub outlives_lease: bool,
    /// Whether the lease is about to expire without a renewal.
    pub at_risk: bool,
    /// Whether an owner holds the lock. The lease of a partial or split lock has a neutral colour.
    pub is_held: bool,
}

impl LeaseProgress {
    /// The progress of a lock's lease.
    pub fn of(lock: &Lock) -> Self {
        Self {
            lease: lock.lease,
            started_at: lock
                .renewals
                .last_at
                .map_or(lock.acquired_at, |renewed| renewed.max(lock.acquired_at)),
            outlives_lease: lock.format.outlives_lease(),
            at_risk: lock.has_flag(Flag::AtRisk),
            is_held: lock.verdict == Verdict::Held,
        }
    }

    /// The remaining share of the lease, from 0 to 100.
    pub fn percent_left(&self, now: Timestamp) -> u64 {
        let Lease::Expires { at, .. } = self.lease else {
            return 100;
        };
        let total_ms = at.millis_since(self.started_at).max(1).unsigned_abs();
        (self
            .lease
            .remaining_ms(now)
            .unwrap_or(0)
            .saturating_mul(100)
            / total_ms)
            .min(100)
    }

    /// The remaining time. A lease without an expiry has `u64::MAX`.
    fn left_ms(&self, now: Timestamp) -> u64 {
        self.lease.remaining_ms(now).unwrap_or(u64::MAX)
    }
}

/// The text beside the bar.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LeaseText {
    text: String,
    /// CSS classes. A figure beside the bar is never cut.
    class: &'static str,
    /// The full text, for columns that are too narrow.
    title: String,
}

impl LeaseText {
    fn of(progress: LeaseProgress, is_gone: bool, now: Timestamp) -> Self {
        let default_title = || t::lease_title().to_owned();
        let (text, class, title) = match format::lease(progress.lease, progress.outlives_lease, now)
        {
            _ if is_gone => ("–".to_owned(), "text-muted", default_title()),
            LeaseWords::None => (t::lease_none().to_owned(), "text-alarm", default_title()),
            LeaseWords::Session => {
                let title = t::lease_session_title().to_owned();
                (t::lease_session().to_owned(), "text-ink", title)
            }
            LeaseWords::Left(left) if progress.at_risk => {
                (left, "shrink-0 text-warn", default_title())
            }
            LeaseWords::Left(left) => (left, "shrink-0 text-ink", default_title()),
            LeaseWords::Over => (t::lease_over().to_owned(), "text-muted", default_title()),
            LeaseWords::Past(since) => {
                let past = t::lease_past(since);
                (past.clone(), "text-alarm", past)
            }
        };
        Self { text, class, title }
    }
}

/// The rendered state of the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BarState {
    progress: LeaseProgress,
    /// The filled share, from 0 to 100.
    percent: u64,
    /// The number of renewals observed. Each one flashes; the first observation of a lock does not.
    renewals: u32,
    animation: Option<Animation>,
}

/// A CSS animation that empties the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Animation {
    /// The duration.
    left_ms: u64,
    /// The period of the last correction, in units of [`RESYNC_INTERVAL_MS`].
    resync_period: i64,
    /// The number of the animation. Wraps around.
    generation: u32,
}

impl BarState {
    /// Returns the bar that follows `before`. `None` if the lease has no expiry.
    fn next(
        before: Option<Self>,
        progress: LeaseProgress,
        now: Timestamp,
        may_animate: bool,
    ) -> Option<Self> {
        let words = format::lease(progress.lease, progress.outlives_lease, now);
        if !matches!(words, LeaseWords::Left(_) | LeaseWords::Over) {
            return None;
        }
        let period = now.millis().div_euclid(RESYNC_INTERVAL_MS);
        let is_animated = may_animate && progress.left_ms(now) <= ANIMATE_BELOW_MS;
        let animation = before.and_then(|before| before.animation);
        if before.is_some_and(|before| before.progress == progress)
            && is_animated
            && animation.is_some_and(|animation| animation.resync_period == period)
        {
            return before;
        }
        Some(Self {
            progress,
            percent: progress.percent_left(now),
            renewals: match before {
                Some(before) if before.progress.started_at == progress.started_at => {
                    before.renewals
                }
                Some(before) => before.renewals + 1,
                None => 0,
            },
            animation: is_animated.then(|| Animation {
                left_ms: progress.left_ms(now),
                resync_period: period,
                generation: animation.map_or(0, |animation| animation.generation.wrapping_add(1)),
            }),
        })
    }

    fn css_class(&self) -> &'static str {
        match self.animation {
            None => "lease-left",
            // The browser restarts an animation only if its name changes, so two names alternate.
            Some(animation) if animation.generation % 2 == 0 => "lease-left lease-even",
            Some(_) => "lease-left lease-odd",
        }
    }

    fn fill_class(&self) -> String {
        let colour = if self.progress.at_risk {
            "fill-warn"
        } else if self.progress.is_held {
            "fill-held"
        } else {
            "fill-faint"
        };
        match self.renewals {
            0 => colour.to_owned(),
            count if count % 2 == 0 => format!("{colour} renewed-even"),
            _ => format!("{colour} renewed-odd"),
        }
    }
}

/// Whether the user prefers reduced motion. A copyable handle.
#[derive(Clone, Copy)]
pub struct ReducedMotion(RwSignal<bool>);

impl ReducedMotion {
    /// Provides the preference to the pages. Nothing is animated before hydration.
    pub fn provide() {
        let reduced_motion = RwSignal::new(true);
        Effect::new(move || reduced_motion.set(prefers_reduced_motion()));
        provide_context(Self(reduced_motion));
    }
}

/// Reads the preference from the browser.
fn prefers_reduced_motion() -> bool {
    let query = window().match_media("(prefers-reduced-motion: reduce)");
    query.ok().flatten().is_some_and(|query| query.matches())
}

/// A lease with its countdown. A table has many of them, so the bar and the text are computed in
/// one memo each.
#[component]
pub fn LeaseBar(
    /// The lease to show.
    #[prop(into)]
    progress: Signal<LeaseProgress>,
    /// Whether the lock is gone. The countdown stops then.
    #[prop(into, optional)]
    gone: Signal<bool>,
) -> impl IntoView {
    let live = Live::expect();
    let ReducedMotion(reduced_motion) = expect_context();
    let bar = Memo::new(move |before: Option<&Option<BarState>>| {
        let (before, now) = (before.copied().flatten(), live.now.get());
        (!gone.get())
            .then(|| BarState::next(before, progress.get(), now, !reduced_motion.get()))
            .flatten()
    });
    let bar = move || {
        let bar = bar.get()?;
        let left = bar
            .animation
            .map(|animation| format!("{}ms", animation.left_ms));
        Some(
            view! {
                <span class="h-1.5 w-16 min-w-8 grow overflow-hidden rounded-full bg-line md:max-w-20" aria-hidden="true">
                    <span class=bar.css_class() style=("--lease-left", left)>
                        <svg class="block size-full" viewBox="0 0 100 6" preserveAspectRatio="none">
                            <rect class=bar.fill_class() width=bar.percent.to_string() height="6"></rect>
                        </svg>
                    </span>
                </span>
            }
            .into_any(),
        )
    };
    let text = Memo::new(move |_| LeaseText::of(progress.get(), gone.get(), live.now.get()));
    let text = move || {
        let LeaseText { text, class, title } = text.get();
        view! { <span class=format!("truncate {class}") title=title>{text}</span> }
    };
    // On phones the columns have no headings, and these words alone do not say what they are about.
    let label = Memo::new(move |_| {
        let lease = progress.get().lease;
        !gone.get() && matches!(lease, Lease::Never | Lease::Session)
    });
    let label = move || {
        label.get().then(|| {
            view! { <span class="lease-label text-muted">{t::lease_column()}</span> }
        })
    };
    view! { <span class="flex w-full items-center gap-2">{label} {bar} {text}</span> }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn progress(start_ms: i64, left_ms: i64) -> LeaseProgress {
        LeaseProgress {
            lease: Lease::until(NOW.plus_millis(left_ms), NOW),
            started_at: NOW.plus_millis(start_ms),
            outlives_lease: false,
            at_risk: false,
            is_held: true,
        }
    }

    #[test]
    fn the_bar_is_full_after_a_renewal_and_empty_at_the_end() {
        assert_eq!(progress(0, 30_000).percent_left(NOW), 100);
        assert_eq!(progress(-15_000, 15_000).percent_left(NOW), 50);
        assert_eq!(progress(-30_000, 0).percent_left(NOW), 0);
        assert_eq!(progress(5_000, 1_000).percent_left(NOW), 100);
    }

    #[test]
    fn an_animated_bar_changes_only_on_resync_or_renewal() {
        let near = progress(-15_000, 15_000);
        let first = BarState::next(None, near, NOW, true).unwrap();
        assert_eq!(
            (first.percent, first.css_class()),
            (50, "lease-left lease-even")
        );
        let later = NOW.plus_millis(4_000);
        assert_eq!(BarState::next(Some(first), near, later, true), Some(first));
        let corrected = BarState::next(
            Some(first),
            near,
            NOW.plus_millis(RESYNC_INTERVAL_MS - 1),
            true,
        )
        .unwrap();
        assert_eq!(corrected.css_class(), "lease-left lease-odd");
        let renewed = BarState::next(Some(first), progress(0, 30_000), later, true).unwrap();
        assert_eq!(
            (renewed.renewals, renewed.fill_class().as_str()),
            (1, "fill-held renewed-odd")
        );
    }

    #[test]
    fn a_bar_is_not_animated_with_reduced_motion_or_a_distant_expiry() {
        let near = progress(-15_000, 15_000);
        for (progress, may_animate) in [(near, false), (progress(0, 600_000), true)] {
            let bar = BarState::next(None, progress, NOW, may_animate).unwrap();
            assert_eq!((bar.css_class(), bar.animation), ("lease-left", None));
        }
        assert_eq!(
            BarState::next(
                None,
                LeaseProgress {
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
