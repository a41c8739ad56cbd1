//! The heading of a column, which sorts by it.

use leptos::prelude::*;

use crate::domain::listing::{Order, Sort};
use crate::ui::kit::{Icon, Sign, use_replace_address};
use crate::ui::query::Query;
use crate::ui::words::locks as words;

/// A heading that sorts; a second press turns the order round.
#[component]
pub fn Column(
    /// What is shown now.
    query: Memo<Query>,
    /// What it sorts by.
    sort: Sort,
    /// The class of its cells.
    class: &'static str,
) -> impl IntoView {
    let go = use_replace_address();
    let order = move || query.with(|query| (query.sort == sort).then_some(query.order()));
    let aria = move || match order() {
        Some(Order::Desc) => "descending",
        Some(Order::Asc) => "ascending",
        None => "none",
    };
    let sign = move || match order() {
        Some(Order::Desc) => Sign::ArrowDown,
        Some(Order::Asc) => Sign::ArrowUp,
        None => Sign::Sortable,
    };
    view! {
        <th role="columnheader" scope="col" class=class aria-sort=aria>
            <button
                type="button"
                class="inline-flex items-center gap-1 rounded font-medium hover:text-ink [&_svg]:size-3.5"
                class=("text-ink", move || order().is_some())
                title=if sort == Sort::Attention { words::attention_first() } else { "" }
                on:click=move |_| go.run(query.with_untracked(|query| query.sorted(sort)).path())
            >
                {words::column(sort)}
                {move || view! { <Icon sign=sign() /> }}
            </button>
        </th>
    }
}
