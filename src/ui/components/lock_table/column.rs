//! A column heading that sorts the table.

use leptos::prelude::*;

use crate::domain::listing::{Sort, SortOrder};
use crate::ui::components::help_link::HelpLink;
use crate::ui::components::time_display::TimeDisplay;
use crate::ui::format;
use crate::ui::i18n::locks as t;
use crate::ui::kit::{Icon, IconName, use_replace_address};
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;

/// A column heading. The first click sorts by the column, the second reverses the order.
#[component]
pub fn ColumnHeading(
    /// The current query.
    query: Memo<LocksQuery>,
    /// The sort key of the column.
    sort: Sort,
    /// The CSS class of the column's cells.
    class: &'static str,
) -> impl IntoView {
    let go = use_replace_address();
    let order = move || query.with(|query| (query.sort == sort).then_some(query.order()));
    let aria = move || match order() {
        Some(SortOrder::Desc) => "descending",
        Some(SortOrder::Asc) => "ascending",
        None => "none",
    };
    let sign = move || match order() {
        Some(SortOrder::Desc) => IconName::ArrowDown,
        Some(SortOrder::Asc) => IconName::ArrowUp,
        None => IconName::Sortable,
    };
    let (live, time_display) = (Live::expect(), TimeDisplay::expect());
    let heading = move || match (sort, time_display.0.get()) {
        // The name of the zone tracks the setting, and changes only with it.
        (Sort::Held, true) => t::since_in(format::zone_name(live.now.get_untracked())),
        (_, _) => t::column(sort).to_owned(),
    };
    // Without the name of the link to the help page.
    let label = (sort == Sort::Attention).then(|| t::column(sort));
    view! {
        <th role="columnheader" scope="col" class=class aria-sort=aria aria-label=label>
            <button
                type="button"
                class="inline-flex items-center gap-1 rounded font-medium hover:text-ink [&_svg]:size-3.5"
                class=("text-ink", move || order().is_some())
                title=if sort == Sort::Attention { t::sorted_by_attention() } else { "" }
                on:click=move |_| go.run(query.with_untracked(|query| query.toggle_sort(sort)).path())
            >
                {heading}
                {move || view! { <Icon name=sign() /> }}
            </button>
            {(sort == Sort::Attention).then(|| view! { <HelpLink anchor="verdicts" topic=t::column(sort) /> })}
        </th>
    }
}
