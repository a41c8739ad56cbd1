//! The history that the page shows: loaded with the page, again when the range changes, and
//! periodically while the range reaches to now.

use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::domain::activity::time_range::TimeRange;
use crate::domain::{Activity, ActivityQuery, OperationError, Timestamp};
use crate::ui::calls;
use crate::ui::live::Live;

/// The number of holds that are sent with the page. The browser loads the others.
pub const INITIAL_HOLDS: u32 = 500;

/// The interval at which a range that reaches to now is loaded again.
const REFRESH_INTERVAL: Duration = Duration::from_secs(5);
/// The interval for large answers, which take the browser long to read.
const LARGE_REFRESH_INTERVAL: Duration = Duration::from_secs(30);
/// An answer with more holds than this is large.
const LARGE_ANSWER: usize = 2_000;

/// The loaded history. A copyable handle.
#[derive(Clone, Copy)]
pub struct ActivityData {
    /// The history, and the time until which it is known.
    loaded: RwSignal<Option<LoadedActivity>>,
    /// Why the latest load failed.
    pub error: RwSignal<Option<OperationError>>,
    /// Whether another range is being loaded.
    pub is_loading: RwSignal<bool>,
    is_requesting: RwSignal<bool>,
}

/// An answer of the server.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedActivity {
    /// The recorded history.
    pub activity: Arc<Activity>,
    /// The time until which the history is known: the end of the range, or the time of the answer.
    pub known_until: Timestamp,
    /// Whether the range reaches to now.
    is_live: bool,
}

impl LoadedActivity {
    /// The range of the answer.
    pub fn range(&self) -> TimeRange {
        TimeRange {
            from: self.activity.from,
            to: self.activity.to,
        }
    }
}

impl ActivityData {
    /// No history yet.
    pub fn new() -> Self {
        Self {
            loaded: RwSignal::new(None),
            error: RwSignal::new(None),
            is_loading: RwSignal::new(false),
            is_requesting: RwSignal::new(false),
        }
    }

    /// The history. Tracked.
    pub fn get(self) -> Option<LoadedActivity> {
        self.loaded.get()
    }

    /// Sets an answer that was received at this time.
    pub fn set(self, activity: Activity, now: Timestamp) {
        // The clock of the page may be behind the server by the time of a request.
        let is_past = activity.to <= now.plus(REFRESH_INTERVAL);
        let known_until = if is_past { activity.to } else { now };
        let is_live = activity.to.plus(REFRESH_INTERVAL) >= now;
        self.loaded.set(Some(LoadedActivity {
            activity: Arc::new(activity),
            known_until,
            is_live,
        }));
    }

    /// Loads the history in the browser: when `query` changes, and while the range reaches to now.
    pub fn refresh(self, query: Memo<String>) {
        let live = Live::expect();
        Effect::new(move |last: Option<(Timestamp, String)>| {
            let (now, current) = (live.now.get(), query.get());
            // The first answer is part of the page.
            let (loaded_at, loaded_for) = last.unwrap_or_else(|| (now, current.clone()));
            let is_changed = loaded_for != current;
            if !is_changed && !self.is_due(loaded_at, now) {
                return (loaded_at, loaded_for);
            }
            if is_changed {
                self.is_loading.set(true);
            }
            self.is_requesting.set(true);
            let requested = current.clone();
            spawn_local(async move {
                let answer =
                    calls::activity_page(requested.clone(), ActivityQuery::MAX_HOLDS).await;
                // The page may have been closed, or another range selected, in the meantime.
                let is_current = query
                    .try_get_untracked()
                    .is_some_and(|now| now == requested);
                self.is_requesting.try_set(false);
                if is_current {
                    self.apply(answer, live.now.get_untracked());
                }
            });
            (now, current)
        });
    }

    fn apply(self, answer: Result<Activity, OperationError>, now: Timestamp) {
        self.is_loading.set(false);
        match answer {
            Ok(activity) => {
                self.error.set(None);
                self.set(activity, now);
            }
            // The previous history stays on the page.
            Err(error) => self.error.set(Some(error)),
        }
    }

    /// Whether the same range is loaded again.
    fn is_due(self, loaded_at: Timestamp, now: Timestamp) -> bool {
        let waited = now.since(loaded_at);
        // A request that gets no response does not end the refresh.
        let is_waiting = self.is_requesting.get_untracked() && waited < LARGE_REFRESH_INTERVAL;
        self.loaded.with_untracked(|loaded| {
            let Some(LoadedActivity {
                activity, is_live, ..
            }) = loaded
            else {
                return false;
            };
            let holds = activity.holds.len();
            let is_initial = activity.is_truncated
                && u32::try_from(holds).is_ok_and(|holds| holds <= INITIAL_HOLDS);
            let interval = match holds {
                0..=LARGE_ANSWER => REFRESH_INTERVAL,
                _ => LARGE_REFRESH_INTERVAL,
            };
            !is_waiting && (is_initial || (*is_live && waited >= interval))
        })
    }
}

impl Default for ActivityData {
    fn default() -> Self {
        Self::new()
    }
}
