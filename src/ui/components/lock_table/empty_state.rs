//! The empty state of the tables.

use leptos::prelude::*;

use crate::ui::components::coverage::ScanSummary;
use crate::ui::i18n::locks as t;
use crate::ui::kit::{Button, Empty, Icon, IconName, Link, Variant};
use crate::ui::locks_query::LocksQuery;

/// Shown if no lock matches the filters, or if no lock was observed.
#[component]
pub fn EmptyState(
    /// The current query.
    query: Memo<LocksQuery>,
    /// Opens the dialog that acquires a lock.
    on_acquire: Callback<()>,
) -> impl IntoView {
    let content = move || {
        if query.with(LocksQuery::is_filtered) {
            let all = query.with(LocksQuery::without_filters);
            view! {
                <Empty title=t::no_match()>
                    <p>{t::no_match_hint()}</p>
                    <Link href=all.path() no_scroll=true class="font-medium text-accent underline underline-offset-2">
                        {t::clear_filters()}
                    </Link>
                </Empty>
            }
            .into_any()
        } else {
            view! {
                <Empty title=t::no_locks()>
                    <ScanSummary />
                    <Button variant=Variant::Primary on_press=on_acquire>
                        <Icon name=IconName::Plus />
                        {t::acquire_test()}
                    </Button>
                </Empty>
            }
            .into_any()
        }
    };
    view! { {move || content()} }
}
