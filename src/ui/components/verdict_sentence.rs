//! The verdict as a sentence, with the age of the observation.

use leptos::prelude::*;

use crate::domain::{Flag, GoneReason, Lease, Lock, Timestamp, Verdict};
use crate::ui::format::{self, LeaseWords};
use crate::ui::i18n::lock as t;
use crate::ui::i18n::punctuation::{self, before_word};
use crate::ui::kit::{Button, Icon, IconName};
use crate::ui::live::{Live, LockEnding};

/// The age of an observation up to which it is not shown, in milliseconds.
const RECENT_MS: i64 = 2_000;

/// The sentence about one lock.
#[component]
pub fn VerdictSentence(
    /// The lock, in its last known state.
    #[prop(into)]
    lock: Signal<Lock>,
    /// How the lock left the index, if it did.
    #[prop(into)]
    ended: Signal<Option<LockEnding>>,
    /// Whether the lock is in the index and therefore updated live.
    #[prop(into)]
    is_live: Signal<bool>,
    /// Called to inspect the nodes again.
    #[prop(into)]
    on_refresh: Callback<()>,
) -> impl IntoView {
    let live = Live::expect();
    // The space is part of the sentence, because the server renders an empty text node as a space.
    let sentence =
        move || t::verdict(&lock.read(), live.now.get()) + punctuation::sentence_separator();
    let expiry = move || {
        let expiry = expiry_sentence(&lock.read(), live.now.get());
        (!expiry.is_empty()).then(|| expiry + punctuation::sentence_separator())
    };
    let expiry_class = move || match is_expiry_urgent(&lock.read(), live.now.get()) {
        true => "font-semibold",
        false => "",
    };
    let observed = move || {
        let lock = lock.read();
        let observed_at = if is_live.get() {
            live.last_seen_at(&lock)
        } else {
            lock.observed_at
        };
        // A small number would change all the time.
        let now = live.now.get();
        (now.millis_since(observed_at) > RECENT_MS)
            .then(|| t::observed(&format::ago(observed_at, now)))
    };
    let not_live_note = move || {
        (!is_live.get()).then(|| {
            view! {
                <p class="mt-2 flex flex-wrap items-center gap-2 text-muted">
                    {t::not_live()}
                    <Button on_press=on_refresh>
                        <Icon name=IconName::Refresh />
                        {t::refresh()}
                    </Button>
                </p>
            }
        })
    };
    let content = move || {
        match ended.get() {
        Some(gone) => view! {
            <p class="text-base">
                <span class="font-semibold">{move || removal_sentence(gone, &format::time_of_day(gone.at))}</span>
                {punctuation::sentence_separator()}
                <span class="text-sm text-muted">{move || format::capital(&format::ago(gone.at, live.now.get()))}</span>
            </p>
            <p class="text-muted">{t::last_observation()}</p>
        }
        .into_any(),
        None => view! {
            <p class="text-base">
                {move || sentence()}<span class=expiry_class>{move || expiry()}</span><span class="text-sm whitespace-nowrap text-muted">{move || observed()}</span>
            </p>
            {move || not_live_note()}
        }
        .into_any(),
    }
    };
    view! { {move || content()} }
}

/// Describes when a held lock expires. Empty for other verdicts.
fn expiry_sentence(lock: &Lock, now: Timestamp) -> String {
    if lock.verdict != Verdict::Held {
        return String::new();
    }
    match format::lease(lock.lease, lock.format.outlives_lease(), now) {
        LeaseWords::None => t::does_not_expire().to_owned(),
        LeaseWords::Session => t::ends_with_session().to_owned(),
        LeaseWords::Left(left) if lock.nodes.len() > 1 => t::quorum_expires_in(&before_word(&left)),
        LeaseWords::Left(left) => t::expires_in(&before_word(&left)),
        LeaseWords::Over | LeaseWords::Past(_) => t::lease_expired().to_owned(),
    }
}

/// Whether the expiry needs attention. The lease of a healthy lock is renewed or ends with its hold.
fn is_expiry_urgent(lock: &Lock, now: Timestamp) -> bool {
    let is_over = lock.lease.remaining_ms(now) == Some(0);
    is_over || lock.lease == Lease::Never || lock.has_flag(Flag::AtRisk)
}

/// The state of a lock as sentences, with times in UTC, to be copied.
pub fn state_sentences(lock: &Lock, ended: Option<LockEnding>, now: Timestamp) -> String {
    match ended {
        Some(gone) => removal_sentence(gone, &format::utc_time_of_day(gone.at)),
        None => {
            let expiry = expiry_sentence(lock, now);
            let sentences = [t::verdict(lock, now), expiry];
            let sentences = sentences.join(punctuation::sentence_separator());
            sentences.trim_end().to_owned()
        }
    }
}

fn removal_sentence(gone: LockEnding, at: &str) -> String {
    match gone.ending {
        GoneReason::Released => t::released_at(at),
        GoneReason::Expired => t::expired_at(at),
        GoneReason::Unknown => t::end_not_observed_at(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::{NOW, lock};
    use crate::domain::{NodeObservation, Observation};

    #[test]
    fn the_sentence_reports_when_the_quorum_is_lost() {
        let mut held = lock(&[1], NOW, NOW);
        assert_eq!(
            expiry_sentence(&held, NOW),
            "Expires in 30 s unless renewed."
        );
        held.nodes = ["a", "b", "c"]
            .map(|node| NodeObservation {
                node: node.into(),
                observation: Observation::Absent,
            })
            .to_vec();
        assert_eq!(
            expiry_sentence(&held, NOW),
            "The quorum is lost in 30 s unless the lock is renewed."
        );
        assert!(!is_expiry_urgent(&held, NOW));
        assert!(is_expiry_urgent(&held, NOW.plus_millis(30_000)));
        held.lease = Lease::Never;
        assert_eq!(expiry_sentence(&held, NOW), "Does not expire.");
        assert!(is_expiry_urgent(&held, NOW));
        held.verdict = Verdict::Split;
        assert_eq!(expiry_sentence(&held, NOW), "");
    }
}
