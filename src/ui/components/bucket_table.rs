//! The table of buckets: locks grouped by prefix, owner or group, one bucket per row with a link to
//! its locks.

mod bucket_rows;

use leptos::ev;
use leptos::leptos_dom::helpers::window_event_listener;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use self::bucket_rows::BucketRows;
use super::bucket_row::BucketRow;
use super::lock_table::EmptyState;
use super::lock_table::keyboard::key_target;
use super::order_freeze::OrderFreeze;
use super::pager::Pager;
use super::table_bar::TableBar;
use super::time_display::TimeDisplay;
use crate::domain::GroupBy;
use crate::ui::i18n::{grouping as t, locks};
use crate::ui::kit::card::CARD;
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;

/// The table of buckets.
#[component]
pub fn BucketTable(
    /// The current query.
    query: Memo<LocksQuery>,
    /// The grouping.
    by: GroupBy,
    /// Opens the dialog that acquires a lock.
    on_acquire: Callback<()>,
) -> impl IntoView {
    TimeDisplay::provide();
    let live = Live::expect();
    let order_freeze = OrderFreeze::new(live);
    let rows = Memo::new(move |before: Option<&BucketRows>| {
        let view = (order_freeze.is_frozen(), order_freeze.apply_count());
        BucketRows::next(before, &query.read(), live.buckets(by), view)
    });
    listen_for_keys();
    let names = Memo::new(move |_| rows.with(BucketRows::names));
    let pending = Memo::new(move |_| rows.with(|rows| rows.pending_changes));
    let page = Memo::new(move |_| rows.with(|rows| rows.page));
    let counted = Signal::derive(move || match rows.with(|rows| rows.is_loaded) {
        true => t::counted(by, page.get().total, live.total()),
        false => locks::loading().to_owned(),
    });
    let is_empty = Memo::new(move |_| rows.with(|rows| rows.is_loaded && rows.rows.is_empty()));
    let row = move |nth: ReadSignal<usize>, name: String| {
        let bucket = rows.with_untracked(|rows| rows.bucket(&name).cloned())?;
        let current = Memo::new(move |before: Option<&_>| {
            let current = rows.with(|rows| rows.bucket(&name).cloned());
            current
                .or_else(|| before.cloned())
                .unwrap_or_else(|| bucket.clone())
        });
        let index = Signal::derive(move || (page.get().from + nth.get() + 2).to_string());
        Some(view! { <BucketRow query by bucket=current index /> })
    };
    let titles = [
        t::column(by),
        t::locks().to_owned(),
        t::attention().to_owned(),
        t::verdicts().to_owned(),
        t::oldest().to_owned(),
        t::first().to_owned(),
    ];
    let heading = |word: String| {
        view! {
            <th role="columnheader" scope="col" class="px-3 py-2 text-start font-medium whitespace-nowrap text-muted">
                {word}
            </th>
        }
    };
    let titles = StoredValue::new(titles);
    let table = move || {
        if is_empty.get() {
            return view! { <EmptyState query on_acquire /> }.into_any();
        }
        view! {
            <table
                role="table"
                aria-label=t::table(by)
                aria-rowcount=move || (page.get().total + 1).to_string()
                class="card-table bucket-table w-full"
                on:pointermove=move |event| order_freeze.on_pointer_move(&event)
                on:pointerleave=move |_| order_freeze.on_pointer_leave()
                on:focusin=move |_| order_freeze.set_focus(true)
                on:focusout=move |_| order_freeze.set_focus(false)
            >
                <thead role="rowgroup" class="border-b border-line">
                    <tr role="row" aria-rowindex="1">
                        {titles.get_value().map(heading).into_iter().collect_view()}
                    </tr>
                </thead>
                <tbody role="rowgroup" id="bucket-rows">
                    <ForEnumerate each=move || names.get() key=String::clone children=row />
                </tbody>
            </table>
        }
        .into_any()
    };
    view! {
        <TableBar query counted pending order_freeze />
        <div class=CARD>{move || table()}</div>
        <Pager query page />
    }
}

/// `j` and `k` move between buckets. Enter opens one, as on any link.
fn listen_for_keys() {
    Effect::new(move || {
        let listening = window_event_listener(ev::keydown, handle_key);
        on_cleanup(move || listening.remove());
    });
}

fn handle_key(event: ev::KeyboardEvent) {
    let with_others = event.ctrl_key() || event.meta_key() || event.alt_key();
    if with_others || key_target(&event).is_none() {
        return;
    }
    let Some(body) = document().get_element_by_id("bucket-rows") else {
        return;
    };
    let rows: Vec<web_sys::Element> = (0..body.child_element_count())
        .filter_map(|nth| body.children().item(nth))
        .collect();
    let focused = document().active_element();
    let at = rows.iter().position(|row| row.contains(focused.as_deref()));
    let to = match (event.key().as_str(), at) {
        ("j" | "k", None) => 0,
        ("j", Some(at)) => at + 1,
        ("k", Some(at)) => at.saturating_sub(1),
        _ => return,
    };
    let link = rows.get(to).and_then(|row| {
        let link = row.query_selector(".bucket-link").ok()??;
        link.dyn_into::<web_sys::HtmlElement>().ok()
    });
    if let Some(link) = link {
        event.prevent_default();
        // Fails only if the link was removed meanwhile.
        let _removed = link.focus();
    }
}
