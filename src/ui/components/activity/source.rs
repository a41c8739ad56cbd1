//! The history that a page shows over the range of its URL.

use leptos::prelude::*;

use super::data::{ActivityData, INITIAL_HOLDS};
use crate::domain::Activity;
use crate::domain::activity::time_range::TimeRange;
use crate::ui::activity_view::ActivityView;
use crate::ui::calls;
use crate::ui::live::{Live, ServerResource};

/// The history and its range. A copyable handle.
#[derive(Clone, Copy)]
pub struct ActivitySource {
    /// The state of the page in the URL.
    pub view: Memo<ActivityView>,
    /// The displayed range.
    pub range: Memo<TimeRange>,
    /// The history that is part of the page.
    pub loading: ServerResource<Activity>,
    /// The history, kept current in the browser.
    pub data: ActivityData,
}

impl ActivitySource {
    /// Loads the history and keeps it current. Must not be called inside a `Suspense`, see
    /// [`crate::ui::components::lock_history::load`].
    pub fn load(view: Memo<ActivityView>) -> Self {
        let live = Live::expect();
        let query = Memo::new(move |_| view.with(ActivityView::data_query));
        let loading =
            ServerResource::new(move || calls::activity_page(query.get_untracked(), INITIAL_HOLDS));
        let data = ActivityData::new();
        data.refresh(query);
        // A selected range is shown at once, with the part of the history that is loaded already.
        let range = Memo::new(move |_| {
            let fixed = view.with(ActivityView::fixed_range);
            let loaded = || data.get().map(|loaded| loaded.range());
            let now = || view.with(|view| view.range.resolve(live.now.get_untracked()));
            fixed.or_else(loaded).unwrap_or_else(now)
        });
        Self {
            view,
            range,
            loading,
            data,
        }
    }
}
