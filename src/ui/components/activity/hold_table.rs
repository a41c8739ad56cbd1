//! The holds of the range as a table: for exact figures, screen readers, and pages without
//! JavaScript.

use leptos::prelude::*;

use super::data::ActivityData;
use super::names::owner_name;
use crate::domain::activity::time_range::TimeRange;
use crate::domain::{OwnerIdentity, RecordedHold};
use crate::ui::i18n::{activity as t, lock};
use crate::ui::kit::{Link, Table};
use crate::ui::{format, paths};

/// The number of rows.
const MAX_ROWS: usize = 100;

/// The latest holds of the displayed range as a table.
#[component]
pub fn HoldTable(
    /// The history.
    data: ActivityData,
    /// The displayed range.
    range: Memo<TimeRange>,
) -> impl IntoView {
    let shown = Memo::new(move |_| {
        let range = range.get();
        let Some(loaded) = data.get() else {
            return (Vec::new(), 0);
        };
        let is_shown = |recorded: &&RecordedHold| {
            let hold = &recorded.hold;
            hold.started_at <= range.to && hold.ended_at.is_none_or(|at| at >= range.from)
        };
        let holds = loaded.activity.holds.iter().filter(is_shown);
        let total = holds.clone().count();
        (holds.take(MAX_ROWS).cloned().collect::<Vec<_>>(), total)
    });
    let count = move || shown.with(|(rows, total)| t::table_rows(rows.len(), *total));
    let rows = move || {
        let known_until = data.get().map(|loaded| loaded.known_until);
        let row = |recorded: RecordedHold| {
            let hold = recorded.hold;
            let until = hold.ended_at.or(known_until).unwrap_or(hold.started_at);
            let identity = OwnerIdentity::of(hold.label.as_deref(), &hold.fingerprint);
            let (owner_page, held) = (
                paths::owner(&identity),
                format::span(hold.duration_ms(until)),
            );
            let owner = owner_name(hold.label.as_deref(), &hold.fingerprint);
            let margin = recorded.min_margin_ms.map_or("–".to_owned(), format::span);
            let end = hold
                .ended_at
                .map_or(t::ongoing().to_owned(), format::date_time);
            let name = format::shorten(&format::escape_invisible(&recorded.id.key.text()), 48);
            view! {
                <tr role="row" class="border-b border-line">
                    <td role="cell" data-label=t::lock() class="py-1 pe-4">
                        <Link href=paths::lock(&recorded.id) class="hover:underline">
                            <bdi class="font-mono wrap-anywhere">{name}</bdi>
                        </Link>
                    </td>
                    <td role="cell" data-label=t::owner() class="py-1 pe-4">
                        <Link href=owner_page class="hover:underline">
                            <bdi class="wrap-anywhere">{owner}</bdi>
                        </Link>
                    </td>
                    <td role="cell" data-label=t::start() class="py-1 pe-4">{format::date_time(hold.started_at)}</td>
                    <td role="cell" data-label=t::end() class="py-1 pe-4">{end}</td>
                    <td role="cell" data-label=t::duration() class="py-1 pe-4">{held}</td>
                    <td role="cell" data-label=t::end_reason() class="py-1 pe-4">{lock::ended(hold.end_reason)}</td>
                    <td role="cell" data-label=t::renewals() class="py-1 pe-4">{hold.renewal_count}</td>
                    <td role="cell" data-label=t::shortest_margin() class="py-1 pe-4">{margin}</td>
                </tr>
            }
        };
        shown.get().0.into_iter().map(row).collect_view()
    };
    let titles = vec![
        t::lock(),
        t::owner(),
        t::start(),
        t::end(),
        t::duration(),
        t::end_reason(),
        t::renewals(),
        t::shortest_margin(),
    ];
    view! {
        <details class="mt-4 text-xs">
            <summary class="text-muted">{t::as_table()}</summary>
            <p class="my-1 text-muted">{count}</p>
            <Table titles title_class="pe-4 text-start font-medium text-muted" class="card-table w-full tabular-nums" label=t::as_table()>
                {rows}
            </Table>
        </details>
    }
}
