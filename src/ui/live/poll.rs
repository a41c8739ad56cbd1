//! Polling of data that is not part of the event stream, while a page is open.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::Live;
use crate::domain::{OperationError, Timestamp};

/// Loads data into `data` at this interval, and immediately when `argument` changes.
pub fn poll<A, T, F>(
    interval: Duration,
    argument: Memo<A>,
    load: fn(A) -> F,
    data: RwSignal<Option<T>>,
) where
    A: Clone + PartialEq + Send + Sync + 'static,
    T: Send + Sync + 'static,
    F: Future<Output = Result<T, OperationError>> + 'static,
{
    let live = Live::expect();
    Effect::new(move |last: Option<(Timestamp, A)>| {
        let (now, current) = (live.now.get(), argument.get());
        let (loaded_at, loaded_for) = last.unwrap_or((now, current.clone()));
        if now.since(loaded_at) < interval && loaded_for == current {
            return (loaded_at, loaded_for);
        }
        let loading = load(current.clone());
        let requested = current.clone();
        spawn_local(async move {
            // On an error the old data stays; a banner reports that the console does not respond.
            if let Ok(loaded) = loading.await {
                // The page may have been closed, or the argument may have changed, since the
                // request was sent.
                if argument
                    .try_get_untracked()
                    .is_some_and(|now| now == requested)
                {
                    data.try_set(Some(loaded));
                }
            }
        });
        (now, current)
    });
}
