//! What stands in place of the rows when there are none.

use leptos::prelude::*;

use crate::ui::components::coverage::WhatWasScanned;
use crate::ui::kit::{Button, Empty, Icon, Link, Sign, Variant};
use crate::ui::query::Query;
use crate::ui::words::locks as words;

/// Nothing matches, or nothing is observed: what was scanned, and what can be done.
#[component]
pub fn Nothing(
    /// What is shown now.
    query: Memo<Query>,
    /// Asks for a lock to be acquired.
    on_acquire: Callback<()>,
) -> impl IntoView {
    let shown = move || {
        if query.with(Query::is_filtered) {
            let all = query.with(Query::unfiltered);
            view! {
                <Empty title=words::no_match()>
                    <p>{words::none_let_through()}</p>
                    <Link href=all.path() stays=true class="font-medium text-accent underline underline-offset-2">
                        {words::clear_filters()}
                    </Link>
                </Empty>
            }
            .into_any()
        } else {
            view! {
                <Empty title=words::none_observed()>
                    <WhatWasScanned />
                    <Button variant=Variant::Primary on_press=on_acquire>
                        <Icon sign=Sign::Plus />
                        {words::acquire_test()}
                    </Button>
                </Empty>
            }
            .into_any()
        }
    };
    view! { {move || shown()} }
}
