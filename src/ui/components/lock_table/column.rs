//! A column heading that sorts the table.

use leptos::prelude::*;

use crate::domain::listing::{Sort, SortOrder};
use crate::ui::i18n::locks as t;
use crate::ui::kit::{Icon, IconName, use_replace_address};
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
    view! {
        <th role="columnheader" scope="col" class=class aria-sort=aria>
            <button
                type="button"
                class="inline-flex items-center gap-1 rounded font-medium hover:text-ink [&_svg]:size-3.5"
                class=("text-ink", move || order().is_some())
                title=if sort == Sort::Attention { t::sorted_by_attention() } else { "" }
                on:click=move |_| go.run(query.with_untracked(|query| query.toggle_sort(sort)).path())
            >
                {t::column(sort)}
                {move || view! { <Icon name=sign() /> }}
            </button>
        </th>
    }
}
