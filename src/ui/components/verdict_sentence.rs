//! What the nodes' answers add up to, in a sentence that a tired person understands, and how old it is.

use leptos::prelude::*;

use crate::domain::{Ending, Lock, Timestamp, Verdict};
use crate::ui::format::{self, LeaseWords};
use crate::ui::kit::{Banner, Button, Icon, Sign, Tone};
use crate::ui::live::{Gone, Live};
use crate::ui::words::lock as words;
use crate::ui::words::punctuation::{self, before_a_word};

/// The sentence about one lock.
#[component]
pub fn VerdictSentence(
    /// The lock.
    #[prop(into)]
    lock: Signal<Lock>,
    /// How it left the board, if it did.
    #[prop(into)]
    ended: Signal<Option<Gone>>,
    /// Whether it is on the board, and so kept up to date.
    #[prop(into)]
    is_followed: Signal<bool>,
    /// Asks the nodes again.
    #[prop(into)]
    on_ask: Callback<()>,
) -> impl IntoView {
    let live = Live::expect();
    // The space between two sentences is part of them: an empty text of its own is painted as a space.
    let sentence = move || words::verdict(&lock.read()) + punctuation::space();
    let ends = move || {
        let ends = ends(&lock.read(), live.now.get());
        (!ends.is_empty()).then(|| ends + punctuation::space())
    };
    let observed = move || {
        let lock = lock.read();
        let seen_at = if is_followed.get() {
            live.seen_at(&lock)
        } else {
            lock.observed_at
        };
        words::observed(&format::ago(seen_at, live.now.get()))
    };
    let loose = move || {
        (!is_followed.get()).then(|| {
            view! {
                <p class="mt-2 flex flex-wrap items-center gap-2 text-muted">
                    {words::not_followed()}
                    <Button on_press=on_ask>
                        <Icon sign=Sign::Refresh />
                        {words::ask_again()}
                    </Button>
                </p>
            }
        })
    };
    let shown = move || {
        match ended.get() {
        Some(gone) => view! {
            <Banner tone=Tone::Unsure>
                <p class="font-semibold">{told(gone)}</p>
                <p>{words::seen_last()}</p>
            </Banner>
        }
        .into_any(),
        None => view! {
            <p class="text-base">
                {move || sentence()}<span class="font-semibold">{move || ends()}</span><span class="text-sm whitespace-nowrap text-muted">{move || observed()}</span>
            </p>
            {move || loose()}
        }
        .into_any(),
    }
    };
    view! { {move || shown()} }
}

/// When the lock ends by itself, where somebody holds it.
fn ends(lock: &Lock, now: Timestamp) -> String {
    if lock.verdict != Verdict::Held {
        return String::new();
    }
    match format::lease(lock.lease, lock.format.outlives_its_lease(), now) {
        LeaseWords::None => words::does_not_expire().to_owned(),
        LeaseWords::Left(left) if lock.nodes.len() > 1 => {
            words::quorum_lost_in(&before_a_word(&left))
        }
        LeaseWords::Left(left) => words::expires_in(&before_a_word(&left)),
        LeaseWords::Over | LeaseWords::Past(_) => words::lease_is_over().to_owned(),
    }
}

fn told(gone: Gone) -> String {
    let at = format::time_of_day(gone.at);
    match gone.ending {
        Ending::Released => words::released_at(&at),
        Ending::Expired => words::expired_at(&at),
        Ending::Unknown => words::unseen_at(&at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::{NOW, lock};
    use crate::domain::{Answer, Lease, NodeAnswer};

    #[test]
    fn a_sentence_says_when_the_quorum_is_lost() {
        let mut held = lock(&[1], NOW, NOW);
        assert_eq!(ends(&held, NOW), "It expires by itself in 00:30.");
        held.nodes = ["a", "b", "c"]
            .map(|node| NodeAnswer {
                node: node.into(),
                answer: Answer::Absent,
            })
            .to_vec();
        assert_eq!(ends(&held, NOW), "Quorum is lost in 00:30.");
        held.lease = Lease::Never;
        assert_eq!(ends(&held, NOW), "It does not expire by itself.");
        held.verdict = Verdict::Split;
        assert_eq!(ends(&held, NOW), "");
    }
}
