//! Asks the server again and again for what does not come with the changes of the board, while a page is open.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::de::DeserializeOwned;

use super::Live;
use crate::domain::{Fault, Timestamp};
use crate::ui::wire::Told;

/// Puts an answer into `told` this often.
pub fn again<T, F>(every: Duration, ask: fn() -> F, told: RwSignal<Option<T>>)
where
    T: DeserializeOwned + Send + Sync + 'static,
    F: Future<Output = Result<Told, Fault>> + 'static,
{
    let live = Live::expect();
    Effect::new(move |asked_at: Option<Timestamp>| {
        let now = live.now.get();
        let asked_at = asked_at.unwrap_or(now);
        if now.since(asked_at) < every {
            return asked_at;
        }
        spawn_local(async move {
            // Without an answer the picture stays as it is; the page says that the console is not heard.
            if let Ok(answer) = ask().await.and_then(|told| told.read()) {
                // The page may have gone away meanwhile.
                told.try_set(Some(answer));
            }
        });
        now
    });
}
