//! The part of the dialog after the act: what each node said, and what became of the lock since.

use leptos::prelude::*;

use super::super::lock_name::LockName;
use super::super::node_acts::NodeActs;
use super::Act;
use crate::domain::{ActOutcome, Aftermath, NodeAct};
use crate::ui::format;
use crate::ui::kit::{Banner, Button, DialogHandle, Icon, Sign, Tone};
use crate::ui::live::Live;

/// What the release came to, then one renewal interval of watching.
#[component]
pub fn ReleaseResult(
    /// What was done.
    act: Act,
    /// Closes the dialog.
    handle: DialogHandle,
) -> impl IntoView {
    let live = Live::expect();
    let Act {
        lock,
        fingerprint,
        released,
    } = act;
    let (id, at) = (lock.id.clone(), released.at);
    let until = at.plus_millis(i64::try_from(lock.watch_ms(at)).unwrap_or(i64::MAX));
    let aftermath = Memo::new(move |before: Option<&Aftermath>| {
        let current = live.lock(&id);
        let current = current.as_ref().map(|lock| (lock, live.seen_at(lock)));
        Aftermath::now(&fingerprint, at, until, current, live.now.get(), before)
    });
    let left = move || {
        format::countdown(u64::try_from(until.since(live.now.get()).as_millis()).unwrap_or(0))
    };
    let summary = summary(&released.nodes);
    view! {
        <div class="flex flex-col gap-4">
            <h2 id="release-title" class="text-lg font-semibold wrap-anywhere">
                "Released " <LockName key=lock.id.key.clone() most=120 />
            </h2>
            <section class="flex flex-col gap-1.5">
                <p>{summary}", at "{format::time_of_day(at)}"."</p>
                <NodeActs acts=released.nodes />
            </section>
            <section class="flex flex-col gap-1.5" aria-label="What became of it">
                {move || match aftermath.get() {
                    Aftermath::Watching { absent } => {
                        let words = if absent { "Not observed since. Watching for another " } else { "Watching for another " };
                        view! {
                            <p class="text-muted">
                                {words} {move || left()}
                                ", one renewal interval: an owner that still runs would put it back by then."
                            </p>
                        }
                        .into_any()
                    }
                    Aftermath::Gone => {
                        view! {
                            <p role="status" class="inline-flex items-center gap-2 font-semibold text-held">
                                <Icon sign=Sign::Check />
                                "Gone: not observed for one renewal interval."
                            </p>
                        }
                        .into_any()
                    }
                    Aftermath::PutBack { at } => {
                        told(format!("Put back by its old owner at {}.", format::time_of_day(at)), PUT_BACK)
                    }
                    Aftermath::Taken { by, at } => {
                        told(format!("Taken by another owner at {}: {}.", format::time_of_day(at), by.name()), TAKEN)
                    }
                    Aftermath::StillThere => {
                        told("It never went away: a node still shows the old owner.".to_owned(), STILL_THERE)
                    }
                }}
            </section>
            <div class="flex justify-end">
                <Button autofocus=true on_press=move |()| handle.close()>
                    "Close"
                </Button>
            </div>
        </div>
    }
}

const PUT_BACK: &str = "The process that holds it still runs and renews. Stop that process first.";
const TAKEN: &str =
    "That is what usually follows a release: somebody was waiting. It is theirs now.";
const STILL_THERE: &str = "Look at the nodes that could not be asked, then release it again.";

fn told(sentence: String, advice: &'static str) -> AnyView {
    view! {
        <Banner tone=Tone::Warn>
            <p class="font-semibold">{sentence}</p>
            <p>{advice}</p>
        </Banner>
    }
    .into_any()
}

fn summary(nodes: &[NodeAct]) -> String {
    let on = nodes
        .iter()
        .filter(|node| node.outcome == ActOutcome::Released)
        .count();
    match nodes.len() {
        1 => "Released on its node".to_owned(),
        all => format!("Released on {on} of {all} nodes"),
    }
}
