//! Asks the server again and again for what does not come with the changes of the board, while a page is open.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::Live;
use crate::domain::{Fault, Timestamp};

/// Puts an answer into `told` this often, and at once when it is asked `about` something else.
pub fn again<A, T, F>(every: Duration, about: Memo<A>, ask: fn(A) -> F, told: RwSignal<Option<T>>)
where
    A: Clone + PartialEq + Send + Sync + 'static,
    T: Send + Sync + 'static,
    F: Future<Output = Result<T, Fault>> + 'static,
{
    let live = Live::expect();
    Effect::new(move |asked: Option<(Timestamp, A)>| {
        let (now, about_now) = (live.now.get(), about.get());
        let (asked_at, asked_about) = asked.unwrap_or((now, about_now.clone()));
        if now.since(asked_at) < every && asked_about == about_now {
            return (asked_at, asked_about);
        }
        let asking = ask(about_now.clone());
        let this = about_now.clone();
        spawn_local(async move {
            // Without an answer the picture stays as it is; the page says that the console is not heard.
            if let Ok(answer) = asking.await {
                // The page may have gone away meanwhile, or want something else by now.
                if about.try_get_untracked().is_some_and(|now| now == this) {
                    told.try_set(Some(answer));
                }
            }
        });
        (now, about_now)
    });
}
