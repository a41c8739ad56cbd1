//! The table of locks: a window onto a list that may be far longer than a page can be, with the rows that are on screen.

mod column;
pub mod keys;
mod nothing;
mod opening;
mod pace;
mod rows;
mod viewport;

use leptos::either::Either;
use leptos::html;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use self::column::Column;
pub use self::keys::Cursor;
pub use self::nothing::Nothing;
use self::rows::{Looking, Rows, Sent};
use self::viewport::Viewport;
use super::holding::Holding;
use super::lock_name::Beginnings;
use super::lock_row::LockRow;
use super::pager::{Page, Pager};
use super::selection::SelectAll;
use super::table_bar::TableBar;
use super::times::Times;
use crate::domain::LockId;
use crate::domain::listing::Sort;
use crate::ui::kit::card::CARD;
use crate::ui::live::{Freshness, Live};
use crate::ui::query::Query;
use crate::ui::words::locks as words;

/// What is drawn in one row: a lock, or the place of one that is on its way.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Line {
    Lock(LockId),
    Gap(usize),
}

/// The rows that are drawn.
#[derive(Clone, Default, PartialEq)]
struct Drawn {
    /// How many come before the first that is drawn.
    above: usize,
    lines: Vec<Line>,
    /// How many come after the last.
    below: usize,
}

/// The table of locks.
#[component]
pub fn LockTable(
    /// What is shown.
    query: Memo<Query>,
    /// Asks for a lock to be acquired.
    #[prop(into)]
    on_acquire: Callback<()>,
) -> impl IntoView {
    Times::provide();
    let live = Live::expect();
    let viewport = Viewport::at(live.from_untracked());
    let holding = Holding::of(live);
    let rows = rows(live, query, viewport, holding);
    let cursor = Cursor::new(rows, viewport);
    viewport.follow();
    cursor.follow();
    scroll_with(live, query, viewport, rows);
    let drawn = Memo::new(move |_| rows.with(|rows| draw(rows, &viewport.drawn(rows.origin))));
    let beginnings =
        Memo::new(move |_| rows.with(|rows| Beginnings::of(rows.ids.iter().map(|id| &id.key))));
    let several_groups = Memo::new(move |_| live.with_groups(|groups| groups.len() > 1));
    let is_empty = Memo::new(move |_| rows.with(|rows| rows.total == 0));
    let blind = Memo::new(move |_| is_blind(live));
    let waiting = Memo::new(move |_| rows.with(|rows| rows.waiting));
    let counted = Signal::derive(move || words::counted(rows.with(|rows| rows.total)));
    let page = Memo::new(move |_| {
        rows.with(|rows| Page {
            from: rows.from,
            rows: rows.ids.len(),
            total: rows.total,
        })
    });
    let line = move |line: Line| {
        let groups = several_groups.get_untracked();
        view! { <Row line rows beginnings groups cursor /> }
    };
    let navigate = StoredValue::new(use_navigate());
    let open = move |address: Option<String>, event: &web_sys::Event| {
        if let Some(address) = address {
            event.prevent_default();
            navigate.with_value(|navigate| navigate(&address, NavigateOptions::default()));
        }
    };

    view! {
        <TableBar query counted waiting holding />
        <div class=CARD>
            {move || {
                if is_empty.get() {
                    return Either::Left(view! { <Nothing query on_acquire /> });
                }
                // With another column every row is another one.
                let several_groups = several_groups.get();
                Either::Right(view! {
                    <table
                        role="table"
                        aria-label=words::locks()
                        aria-rowcount=move || rows.with(|rows| (rows.total + 1).to_string())
                        class="lock-table"
                        class=("is-stale", move || blind.get())
                        on:pointermove=move |event| holding.point(&event)
                        on:pointerleave=move |_| holding.leave()
                        on:focusin=move |_| holding.focus(true)
                        on:focusout=move |_| holding.focus(false)
                        on:click=move |event| open(opening::clicked(&event), &event)
                        on:keydown=move |event| open(opening::entered(&event), &event)
                    >
                        <Head query rows several_groups />
                        <tbody role="rowgroup" id="lock-rows">
                            <Spacer viewport rows=Signal::derive(move || drawn.read().above) />
                            <For each=move || drawn.with(|drawn| drawn.lines.clone()) key=Line::clone children=line />
                            <Spacer viewport rows=Signal::derive(move || drawn.read().below) />
                        </tbody>
                    </table>
                })
            }}
        </div>
        // With a script, further rows come when the page is scrolled.
        <div class="without-script">
            <Pager query page />
        </div>
    }
}

/// Whether what is shown may be out of date: no node is up, or nothing new comes from the server.
fn is_blind(live: Live) -> bool {
    let none_up = live.with_groups(|groups| {
        !groups.is_empty() && groups.iter().all(|group| group.nodes_up() == 0)
    });
    none_up || matches!(live.freshness(), Freshness::Stale(_))
}

/// Takes up the room of rows that are not drawn.
#[component]
fn Spacer(viewport: Viewport, rows: Signal<usize>) -> impl IntoView {
    move || {
        let rows = rows.get();
        let height = viewport.height(rows).filter(|_| rows > 0)?;
        let room = html::td().attr("height", height);
        Some(view! { <tr class="lock-spacer" aria-hidden="true">{room}</tr> })
    }
}

/// The row of a lock, or its place while it is on its way.
#[component]
fn Row(
    line: Line,
    rows: Memo<Rows>,
    beginnings: Memo<Beginnings>,
    groups: bool,
    cursor: Cursor,
) -> impl IntoView {
    match line {
        Line::Lock(id) => {
            let lock = Live::expect().shared(&id);
            let index =
                Memo::new(move |_| rows.with(|rows| rows.row_of(&id).unwrap_or(rows.from) + 2));
            match lock {
                Some(lock) => Either::Left(
                    view! { <LockRow lock beginnings groups index=index.into() cursor /> },
                ),
                None => Either::Right(view! { <Gap index=index.into() /> }),
            }
        }
        Line::Gap(row) => Either::Right(view! { <Gap index=Signal::stored(row + 2) /> }),
    }
}

/// The rows of the list, as far as they are known.
fn rows(live: Live, query: Memo<Query>, viewport: Viewport, holding: Holding) -> Memo<Rows> {
    Memo::new(move |before: Option<&Rows>| {
        let origin = before.map_or(0, |before| before.origin);
        let seen = viewport.seen_untracked(origin);
        let query = query.get();
        let (from, ids) = live.rows(&query);
        // Somebody who has scrolled reads.
        let holds = holding.holds() || seen.start > 0;
        let sent = Sent {
            query,
            from,
            ids,
            total: live.total(),
        };
        let looking = Looking {
            seen,
            holds,
            let_in: holding.times_let_in(),
        };
        Rows::next(before, sent, looking)
    })
}

/// Keeps the page at the rows that somebody reads, and has those sent that come into sight.
fn scroll_with(live: Live, query: Memo<Query>, viewport: Viewport, rows: Memo<Rows>) {
    Effect::new(move || {
        let origin = rows.with(|rows| rows.origin);
        viewport.moved_to(origin);
        viewport.at_next_frame();
    });
    Effect::new(move || {
        let stand = rows.with(|rows| {
            let (from, sent) = live.rows(&rows.query);
            rows.stand((from, &sent), &viewport.seen(rows.origin))
        });
        live.look_at_rows(&stand);
    });
    Effect::new(move |before: Option<Query>| {
        let query = query.get();
        if before.is_some_and(|before| before != query) {
            viewport.to_top();
        }
        query
    });
}

/// The names of the columns, most of which sort by what they name.
#[component]
fn Head(query: Memo<Query>, rows: Memo<Rows>, several_groups: bool) -> impl IntoView {
    view! {
        <thead role="rowgroup">
            <tr role="row" aria-rowindex="1">
                <th role="columnheader" scope="col" class="cell-select">
                    <SelectAll ids=Signal::derive(move || rows.with(|rows| rows.ids.clone())) />
                </th>
                <Column query sort=Sort::Attention class="cell-verdict" />
                <Column query sort=Sort::Key class="cell-lock" />
                {several_groups.then(|| view! { <th role="columnheader" scope="col" class="cell-group">{words::group()}</th> })}
                <Column query sort=Sort::Owner class="cell-owner" />
                <Column query sort=Sort::Lease class="cell-lease" />
                <Column query sort=Sort::Held class="cell-held" />
                <Column query sort=Sort::Renewals class="cell-renewals" />
                <th role="columnheader" scope="col" class="cell-nodes">
                    {words::nodes()}
                </th>
            </tr>
        </thead>
    }
}

/// The lines between those that only take up room.
fn draw(rows: &Rows, wanted: &std::ops::Range<usize>) -> Drawn {
    let begin = wanted.start.min(rows.total);
    let end = wanted.end.clamp(begin, rows.total);
    let line = |row: usize| {
        rows.at(row)
            .map_or(Line::Gap(row), |id| Line::Lock(id.clone()))
    };
    Drawn {
        above: begin,
        lines: (begin..end).map(line).collect(),
        below: rows.total - end,
    }
}

/// The place of a lock that is on its way.
#[component]
fn Gap(index: Signal<usize>) -> impl IntoView {
    view! {
        <tr role="row" class="lock-row is-gap" aria-rowindex=move || index.get().to_string()>
            <td role="cell" colspan="9">
                <span class="waiting block h-3 w-2/3 rounded bg-sunken"></span>
                <span class="sr-only">{words::on_its_way()}</span>
            </td>
        </tr>
    }
}
