//! The table of locks. The list is virtual: only rows on or near the screen are rendered, because
//! it may have 100,000 of them.

mod column;
mod empty_state;
mod frame_budget;
pub mod keyboard;
mod navigation;
mod viewport;
mod virtual_rows;

use std::ops::Range;

use leptos::either::Either;
use leptos::html;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use self::column::ColumnHeading;
pub use self::empty_state::EmptyState;
use self::keyboard::Cursor;
use self::navigation::RowOpening;
use self::viewport::Viewport;
use self::virtual_rows::{ServerPage, ViewState, VirtualRows};
use super::demand_history::DemandHistory;
use super::help_link::HelpLink;
use super::lock_name::CommonPrefixes;
use super::lock_peek::LockPeek;
use super::lock_row::LockRow;
use super::order_freeze::OrderFreeze;
use super::pager::{PageRange, Pager};
use super::selection::SelectAllBox;
use super::table_bar::TableBar;
use super::time_display::TimeDisplay;
use crate::domain::LockId;
use crate::domain::listing::Sort;
use crate::ui::i18n::locks as t;
use crate::ui::kit::card::CARD;
use crate::ui::live::{Freshness, Live};
use crate::ui::locks_query::{LocksQuery, StatusFilter};

/// How long the row of a lock that has ended stays, in milliseconds, and for how many locks at most.
const LINGER_MS: i64 = 10_000;
const MAX_LINGERING: usize = 20;
/// Placeholders that are replaced by locks in one frame. Eight took up to 68 ms with their layout.
const MAX_REPLACED_PER_FRAME: usize = 4;

/// The content of one table row: a lock, or a placeholder for one that is still loading.
#[derive(Clone, PartialEq, Eq, Hash)]
enum RowSlot {
    Lock(LockId),
    Placeholder(usize),
}

/// The rows to render, with the space for the others.
#[derive(Clone, PartialEq)]
struct RenderedRows {
    /// The number of rows above the first rendered one.
    rows_above: usize,
    slots: Vec<RowSlot>,
    /// The number of rows below the last rendered one.
    rows_below: usize,
    /// Whether loaded locks still have placeholders, which the next frame replaces.
    is_incomplete: bool,
    /// The value of [`Viewport::frame`] for which the rows were derived.
    frame: u32,
}

impl RenderedRows {
    fn has_placeholder(&self, row: usize) -> bool {
        let slot = row.checked_sub(self.rows_above);
        slot.and_then(|slot| self.slots.get(slot)) == Some(&RowSlot::Placeholder(row))
    }
}

/// The table of locks.
#[component]
pub fn LockTable(
    /// The filters, the sort order and the grouping.
    query: Memo<LocksQuery>,
    /// Opens the dialog that acquires a lock.
    #[prop(into)]
    on_acquire: Callback<()>,
) -> impl IntoView {
    TimeDisplay::provide();
    let live = Live::expect();
    DemandHistory::provide(live);
    let viewport = Viewport::new(live.offset_untracked());
    let order_freeze = OrderFreeze::new(live);
    let page = Memo::new(move |_| server_page(live, query.get()));
    let rows = derive_rows(live, page, viewport, order_freeze);
    let cursor = Cursor::new(rows, viewport);
    viewport.observe_scroll();
    cursor.listen();
    sync_scroll(live, query, page, viewport, rows);
    let rendered = derive_rendered(viewport, rows);
    let prefixes =
        Memo::new(move |_| rows.with(|rows| CommonPrefixes::of(rows.ids.iter().map(|id| &id.key))));
    let has_several_groups = Memo::new(move |_| live.with_groups(|groups| groups.len() > 1));
    let is_empty = Memo::new(move |_| rows.with(|rows| rows.total == 0));
    let is_stale = Memo::new(move |_| is_out_of_date(live));
    let pending = Memo::new(move |_| rows.with(|rows| rows.pending_changes));
    let counted = Signal::derive(move || {
        let listed = rows.with(|rows| rows.total.saturating_sub(rows.lingering));
        // Possible locks are not part of the total.
        let has_total =
            |query: &LocksQuery| query.is_filtered() && query.status != StatusFilter::Possible;
        let is_filtered = query.with(has_total);
        let all = live.with_counts(|counts| counts.unfiltered.all);
        match usize::try_from(all) {
            Ok(all) if is_filtered && all > listed => t::counted_of(listed, all),
            _ => t::counted(listed),
        }
    });
    let page_range = Memo::new(move |_| {
        rows.with(|rows| PageRange {
            from: rows.from,
            rows: rows.ids.len(),
            total: rows.total,
        })
    });
    let row_slot = move |row_slot: RowSlot| {
        let shows_group = has_several_groups.get_untracked();
        view! { <Row row_slot rows prefixes shows_group cursor /> }
    };
    let navigate = StoredValue::new(use_navigate());
    let open = move |opening: Option<RowOpening>, event: &web_sys::Event| {
        let Some(opening) = opening else { return };
        event.prevent_default();
        match opening {
            RowOpening::Here(address) => {
                navigate.with_value(|navigate| navigate(&address, NavigateOptions::default()));
            }
            RowOpening::NewTab(address) => {
                // Fails only if the browser blocks the tab, which it reports itself.
                let _blocked = window().open_with_url_and_target(&address, "_blank");
            }
        }
    };
    let pressed_at = StoredValue::new((0, 0));
    let close_peek = move |()| cursor.is_peeking.set(false);
    let peeked = Signal::derive(move || cursor.peeked());

    view! {
        <TableBar query counted pending order_freeze />
        <div class=CARD>
            {move || {
                if is_empty.get() {
                    return Either::Left(view! { <EmptyState query on_acquire /> });
                }
                // The group column changes every row, so the whole table is rendered again.
                let has_several_groups = has_several_groups.get();
                Either::Right(view! {
                    <table
                        role="table"
                        aria-label=t::locks()
                        aria-rowcount=move || rows.with(|rows| (rows.total + 1).to_string())
                        class="lock-table"
                        class=("is-stale", move || is_stale.get())
                        on:pointermove=move |event| order_freeze.on_pointer_move(&event)
                        on:pointerleave=move |_| order_freeze.on_pointer_leave()
                        on:focusin=move |_| order_freeze.set_focus(true)
                        on:focusout=move |_| order_freeze.set_focus(false)
                        on:pointerdown=move |event| pressed_at.set_value((event.client_x(), event.client_y()))
                        on:click=move |event| open(navigation::clicked_row(&event, pressed_at.get_value()), &event)
                        on:keydown=move |event| open(navigation::entered_row(&event), &event)
                    >
                        <TableHead query rows has_several_groups />
                        <tbody role="rowgroup" id="lock-rows">
                            <Spacer viewport rows=Signal::derive(move || rendered.read().rows_above) />
                            <For each=move || rendered.with(|rendered| rendered.slots.clone()) key=RowSlot::clone children=row_slot />
                            <Spacer viewport rows=Signal::derive(move || rendered.read().rows_below) />
                        </tbody>
                    </table>
                })
            }}
        </div>
        <LockPeek id=peeked on_close=close_peek />
        // With JavaScript, further rows load on scrolling.
        <div class="without-script">
            <Pager query page=page_range />
        </div>
    }
}

/// Whether the table may be out of date: no node is up, or the event stream is stale.
fn is_out_of_date(live: Live) -> bool {
    let none_up = live.with_groups(|groups| {
        !groups.is_empty() && groups.iter().all(|group| group.nodes_up() == 0)
    });
    none_up || matches!(live.freshness(), Freshness::Stale(_))
}

/// Takes the height of rows that are not rendered.
#[component]
fn Spacer(viewport: Viewport, rows: Signal<usize>) -> impl IntoView {
    move || {
        let rows = rows.get();
        let height = viewport.height_attribute(rows).filter(|_| rows > 0)?;
        let spacer = html::td().attr("height", height);
        Some(view! { <tr class="lock-spacer" aria-hidden="true">{spacer}</tr> })
    }
}

/// A lock's row, or a placeholder while the lock loads.
#[component]
fn Row(
    row_slot: RowSlot,
    rows: Memo<VirtualRows>,
    prefixes: Memo<CommonPrefixes>,
    shows_group: bool,
    cursor: Cursor,
) -> impl IntoView {
    match row_slot {
        RowSlot::Lock(id) => {
            let lock = Live::expect().lock_arc(&id);
            let index =
                Memo::new(move |_| rows.with(|rows| rows.row_of(&id).unwrap_or(rows.from) + 2));
            match lock {
                Some(lock) => Either::Left(
                    view! { <LockRow lock prefixes shows_group index=index.into() cursor /> },
                ),
                None => Either::Right(view! { <PlaceholderRow index=index.into() /> }),
            }
        }
        RowSlot::Placeholder(row) => {
            Either::Right(view! { <PlaceholderRow index=Signal::stored(row + 2) /> })
        }
    }
}

/// The part of the list that the server sent. Tracked.
fn server_page(live: Live, query: LocksQuery) -> ServerPage {
    let (from, ids) = live.rows(&query);
    ServerPage {
        is_current: live.lists(&query),
        query,
        from,
        ids,
        total: live.total(),
    }
}

/// Derives the rows to show from the list that the server sent and from the scroll position.
fn derive_rows(
    live: Live,
    page: Memo<ServerPage>,
    viewport: Viewport,
    order_freeze: OrderFreeze,
) -> Memo<VirtualRows> {
    // Changes only when a lock ends, and when its row has been displayed for long enough.
    let ended = Memo::new(move |_| live.recent_endings(LINGER_MS, MAX_LINGERING));
    let is_at_top = Memo::new(move |_| viewport.is_at_top());
    Memo::new(move |before: Option<&VirtualRows>| {
        let ended = ended.get();
        let origin = before.map_or(0, |before| before.origin);
        let visible = viewport.visible_rows_untracked(origin);
        let page = page.get();
        // A user who has scrolled is reading: rows must not move.
        let is_frozen = order_freeze.is_frozen() || !is_at_top.get();
        let view_state = ViewState {
            visible,
            is_frozen,
            apply_count: order_freeze.apply_count(),
        };
        let rows = VirtualRows::next(before, page, view_state);
        match before {
            // Frozen rows stay anyway.
            Some(before) if !is_frozen => rows.with_lingering(before, &ended),
            _ => rows,
        }
    })
}

/// Derives the rows to render. Placeholders are not replaced in the task that reads the server's
/// response, but in the next frames, a few in each, so that no task blocks the page.
fn derive_rendered(viewport: Viewport, rows: Memo<VirtualRows>) -> Memo<RenderedRows> {
    let rendered = Memo::new(move |before: Option<&RenderedRows>| {
        let frame = viewport.frame();
        rows.with(|rows| rows_to_render(rows, &viewport.rendered_rows(rows.origin), before, frame))
    });
    Effect::new(move || {
        if rendered.read().is_incomplete {
            viewport.request_frame();
        }
    });
    rendered
}

/// Keeps the visible rows in place when the list shifts, and requests the rows that scroll into
/// view.
fn sync_scroll(
    live: Live,
    query: Memo<LocksQuery>,
    page: Memo<ServerPage>,
    viewport: Viewport,
    rows: Memo<VirtualRows>,
) {
    Effect::new(move || {
        let origin = rows.with(|rows| rows.origin);
        viewport.set_origin(origin);
        viewport.schedule_measure();
    });
    Effect::new(move || {
        let range = rows.with(|rows| {
            let visible = viewport.visible_rows(rows.origin);
            page.with(|page| rows.current_range((page.from, &page.ids), &visible))
        });
        live.set_visible_rows(&range);
    });
    Effect::new(move |before: Option<LocksQuery>| {
        let query = query.get();
        if before.is_some_and(|before| before != query) {
            viewport.scroll_to_top();
        }
        query
    });
}

/// The column headings. Most of them sort the table.
#[component]
fn TableHead(
    query: Memo<LocksQuery>,
    rows: Memo<VirtualRows>,
    has_several_groups: bool,
) -> impl IntoView {
    view! {
        <thead role="rowgroup">
            <tr role="row" aria-rowindex="1">
                <th role="columnheader" scope="col" class="cell-select">
                    <SelectAllBox ids=Signal::derive(move || rows.with(|rows| rows.ids.clone())) />
                </th>
                <ColumnHeading query sort=Sort::Attention class="cell-verdict" />
                <ColumnHeading query sort=Sort::Key class="cell-lock" />
                {has_several_groups.then(|| view! { <th role="columnheader" scope="col" class="cell-group">{t::group()}</th> })}
                <ColumnHeading query sort=Sort::Owner class="cell-owner" />
                <ColumnHeading query sort=Sort::Lease class="cell-lease" />
                <ColumnHeading query sort=Sort::Held class="cell-held" />
                <ColumnHeading query sort=Sort::Contention class="cell-wanted" />
                <ColumnHeading query sort=Sort::Renewals class="cell-renewals" />
                <th role="columnheader" scope="col" class="cell-nodes" aria-label=t::nodes()>
                    {t::nodes()}
                    <HelpLink anchor="node-dots" topic=t::nodes() />
                </th>
            </tr>
        </thead>
    }
}

/// Splits the list into rendered rows and the space above and below. Replaces placeholders of
/// `before` only in another frame than before.
fn rows_to_render(
    rows: &VirtualRows,
    target: &Range<usize>,
    before: Option<&RenderedRows>,
    frame: u32,
) -> RenderedRows {
    let max_replaced = match before {
        Some(before) if before.frame == frame => 0,
        _ => MAX_REPLACED_PER_FRAME,
    };
    let start = target.start.min(rows.total);
    let end = target.end.clamp(start, rows.total);
    let (mut replaced, mut is_incomplete) = (0, false);
    let row_slot = |row: usize| {
        let Some(id) = rows.id_at(row) else {
            return RowSlot::Placeholder(row);
        };
        if before.is_some_and(|before| before.has_placeholder(row)) {
            if replaced == max_replaced {
                is_incomplete = true;
                return RowSlot::Placeholder(row);
            }
            replaced += 1;
        }
        RowSlot::Lock(id.clone())
    };
    RenderedRows {
        rows_above: start,
        slots: (start..end).map(row_slot).collect(),
        rows_below: rows.total - end,
        is_incomplete,
        frame,
    }
}

/// A placeholder for a lock that is still loading.
#[component]
fn PlaceholderRow(index: Signal<usize>) -> impl IntoView {
    view! {
        <tr role="row" class="lock-row is-gap" aria-rowindex=move || index.get().to_string()>
            <td role="cell" colspan="10">
                <span class="waiting block h-3 w-2/3 rounded bg-sunken"></span>
                <span class="sr-only">{t::loading_status()}</span>
            </td>
        </tr>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(loaded: usize) -> VirtualRows {
        let id = |n: usize| LockId {
            group: "jobs".into(),
            key: format!("lock:{n}").as_str().into(),
        };
        let page = ServerPage {
            query: LocksQuery::default(),
            is_current: true,
            from: 0,
            ids: (0..loaded).map(id).collect(),
            total: 100,
        };
        let view_state = ViewState {
            visible: 0..10,
            is_frozen: false,
            apply_count: 0,
        };
        VirtualRows::next(None, page, view_state)
    }

    fn placeholders(rendered: &RenderedRows) -> usize {
        let is_placeholder = |slot: &&RowSlot| matches!(slot, RowSlot::Placeholder(_));
        rendered.slots.iter().filter(is_placeholder).count()
    }

    #[test]
    fn placeholders_are_replaced_a_few_in_each_frame_and_new_rows_at_once() {
        let loading = rows_to_render(&rows(0), &(0..10), None, 0);
        assert_eq!((placeholders(&loading), loading.is_incomplete), (10, false));
        let arrived = rows_to_render(&rows(50), &(0..10), Some(&loading), 0);
        assert_eq!((placeholders(&arrived), arrived.is_incomplete), (10, true));
        let first = rows_to_render(&rows(50), &(0..10), Some(&arrived), 1);
        assert_eq!((placeholders(&first), first.is_incomplete), (6, true));
        // A change of the list in the same frame.
        let scrolled = rows_to_render(&rows(50), &(0..12), Some(&first), 1);
        assert_eq!((placeholders(&scrolled), scrolled.slots.len()), (6, 12));
        let second = rows_to_render(&rows(50), &(0..12), Some(&scrolled), 2);
        let last = rows_to_render(&rows(50), &(0..12), Some(&second), 3);
        assert_eq!((placeholders(&second), placeholders(&last)), (2, 0));
        assert!(!last.is_incomplete);
    }
}
