//! The recorded holds of one owner: lanes, events and a table, over the same range as on the
//! activity page. A host that holds locks in bursts is found here between its holds.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::activity::{ActivityContent, ActivitySource, RangeControls, TimeForm};
use super::resource_view::ResourceView;
use crate::domain::activity::owner_summary::OwnerSummary;
use crate::domain::{Activity, OwnerIdentity};
use crate::ui::activity_view::ActivityView;
use crate::ui::format;
use crate::ui::i18n::owner as t;
use crate::ui::live::Live;

/// Loads the history of one owner in the range of the URL, and keeps it current. Must not be called
/// inside a `Suspense`, see [`super::lock_history::load`].
pub fn load(identity: OwnerIdentity) -> ActivitySource {
    let search = use_location().search;
    let view =
        Memo::new(move |_| search.with(|search| ActivityView::parse_for_owner(search, &identity)));
    ActivitySource::load(view)
}

/// The history of the owner.
#[component]
pub fn OwnerHistory(
    /// The history.
    source: ActivitySource,
) -> impl IntoView {
    let live = Live::expect();
    let ActivitySource {
        view,
        range,
        loading,
        data,
    } = source;
    let summary = move || {
        let loaded = data.get()?;
        let summary = OwnerSummary::of(&loaded.activity, loaded.known_until)?;
        let margin = summary.min_margin_ms.map(format::span);
        let longest = format::span(summary.longest_ms);
        let text = t::history_summary(
            summary.holds,
            summary.locks,
            summary.forced,
            &longest,
            margin,
        );
        Some(view! { <p class="mb-2 text-xs text-muted tabular-nums">{text}</p> })
    };
    let show = Callback::new(move |activity: Activity| {
        data.set(activity, live.now.get_untracked());
        view! {
            <RangeControls view range />
            {summary}
            <ActivityContent data view range />
        }
        .into_any()
    });
    view! {
        <section aria-labelledby="history-title">
            <div class="mb-3 flex flex-wrap items-center gap-x-4 gap-y-2">
                <h2 id="history-title" class="me-auto text-base font-semibold">{t::history()}</h2>
                <TimeForm view />
            </div>
            <ResourceView loading show />
        </section>
    }
}
