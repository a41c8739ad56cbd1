//! What the nodes' answers add up to, in a sentence that a tired person understands, and how old it is.

use leptos::prelude::*;

use crate::domain::{Ending, Lock};
use crate::ui::format;
use crate::ui::kit::{Banner, Button, Icon, Sign, Tone};
use crate::ui::live::{Gone, Live};

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
    let sentence = move || lock.read().sentence();
    let observed = move || {
        let lock = lock.read();
        let seen_at = if is_followed.get() {
            live.seen_at(&lock)
        } else {
            lock.observed_at
        };
        format!("observed {}", format::ago(seen_at, live.now.get()))
    };
    let loose = move || {
        (!is_followed.get()).then(|| {
            view! {
                <p class="mt-2 flex flex-wrap items-center gap-2 text-muted">
                    "The nodes showed it when this page asked; it is not on the board (yet), so it is not followed. "
                    <Button on_press=on_ask>
                        <Icon sign=Sign::Refresh />
                        "Ask again"
                    </Button>
                </p>
            }.into_any()
        })
    };
    let shown = move || {
        match ended.get() {
        Some(gone) => view! {
            <Banner tone=Tone::Unsure>
                <p class="font-semibold">{told(gone)}</p>
                <p>
                    "Below is what was seen last. An observer cannot prove that nobody relies on it any more."
                </p>
            </Banner>
        }
        .into_any(),
        None => view! {
            <p class="text-base">
                {move || sentence()} " " <span class="text-sm whitespace-nowrap text-muted">{move || observed()}</span>
            </p>
            {move || loose()}
        }
        .into_any(),
    }
    };
    view! { {move || shown()} }
}

fn told(gone: Gone) -> String {
    let at = format::time_of_day(gone.at);
    match gone.ending {
        Ending::Released => format!("Not observed any more: released at {at}."),
        Ending::Expired => format!("Not observed any more: expired by itself at {at}."),
        Ending::Unknown => format!("Not observed any more: it went away unseen, noticed at {at}."),
    }
}
