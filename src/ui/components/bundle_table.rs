//! The table of bundles: locks that belong together in one row, with what is to be known of them. Each leads to its locks.

mod shown;

use leptos::ev;
use leptos::leptos_dom::helpers::window_event_listener;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use self::shown::Shown;
use super::bundle_row::BundleRow;
use super::holding::Holding;
use super::lock_table::Nothing;
use super::lock_table::keys::place_of;
use super::pager::Pager;
use super::table_bar::TableBar;
use super::times::Times;
use crate::domain::By;
use crate::ui::kit::card::CARD;
use crate::ui::live::Live;
use crate::ui::query::Query;
use crate::ui::words::{locks, rows as words};

/// The table of bundles.
#[component]
pub fn BundleTable(
    /// What is shown.
    query: Memo<Query>,
    /// What makes a bundle.
    by: By,
    /// Asks for a lock to be acquired.
    on_acquire: Callback<()>,
) -> impl IntoView {
    Times::provide();
    let live = Live::expect();
    let holding = Holding::of(live);
    let shown = Memo::new(move |before: Option<&Shown>| {
        let looking = (holding.holds(), holding.times_let_in());
        Shown::next(before, &query.read(), live.bundles(by), looking)
    });
    follow_keys();
    let names = Memo::new(move |_| shown.with(Shown::names));
    let waiting = Memo::new(move |_| shown.with(|shown| shown.waiting));
    let page = Memo::new(move |_| shown.with(|shown| shown.page));
    let counted = Signal::derive(move || match shown.with(|shown| shown.is_known) {
        true => words::counted(by, page.get().total, live.total()),
        false => locks::loading().to_owned(),
    });
    let is_empty = Memo::new(move |_| shown.with(|shown| shown.is_known && shown.rows.is_empty()));
    let row = move |nth: ReadSignal<usize>, name: String| {
        let bundle = shown.with_untracked(|shown| shown.bundle(&name).cloned())?;
        let now = Memo::new(move |before: Option<&_>| {
            let now = shown.with(|shown| shown.bundle(&name).cloned());
            now.or_else(|| before.cloned())
                .unwrap_or_else(|| bundle.clone())
        });
        let index = Signal::derive(move || (page.get().from + nth.get() + 2).to_string());
        Some(view! { <BundleRow query by bundle=now index /> })
    };
    let heads = [
        words::column(by),
        words::locks().to_owned(),
        words::attention().to_owned(),
        words::verdicts().to_owned(),
        words::oldest().to_owned(),
        words::first().to_owned(),
    ];
    let head = |word: String| {
        view! {
            <th role="columnheader" scope="col" class="px-3 py-2 text-start font-medium whitespace-nowrap text-muted">
                {word}
            </th>
        }
    };
    let heads = StoredValue::new(heads);
    let table = move || {
        if is_empty.get() {
            return view! { <Nothing query on_acquire /> }.into_any();
        }
        view! {
            <table
                role="table"
                aria-label=words::table(by)
                aria-rowcount=move || (page.get().total + 1).to_string()
                class="card-table bundle-table w-full"
                on:pointermove=move |event| holding.point(&event)
                on:pointerleave=move |_| holding.leave()
                on:focusin=move |_| holding.focus(true)
                on:focusout=move |_| holding.focus(false)
            >
                <thead role="rowgroup" class="border-b border-line">
                    <tr role="row" aria-rowindex="1">
                        {heads.get_value().map(head).into_iter().collect_view()}
                    </tr>
                </thead>
                <tbody role="rowgroup" id="bundle-rows">
                    <ForEnumerate each=move || names.get() key=String::clone children=row />
                </tbody>
            </table>
        }
        .into_any()
    };
    view! {
        <TableBar query counted waiting holding />
        <div class=CARD>{move || table()}</div>
        <Pager query page />
    }
}

/// `j` and `k` go from bundle to bundle; Enter on one opens it, as on any link.
fn follow_keys() {
    Effect::new(move || {
        let listening = window_event_listener(ev::keydown, press);
        on_cleanup(move || listening.remove());
    });
}

fn press(event: ev::KeyboardEvent) {
    let with_others = event.ctrl_key() || event.meta_key() || event.alt_key();
    if with_others || place_of(&event).is_none() {
        return;
    }
    let Some(body) = document().get_element_by_id("bundle-rows") else {
        return;
    };
    let rows: Vec<web_sys::Element> = (0..body.child_element_count())
        .filter_map(|nth| body.children().item(nth))
        .collect();
    let here = document().active_element();
    let at = rows.iter().position(|row| row.contains(here.as_deref()));
    let to = match (event.key().as_str(), at) {
        ("j" | "k", None) => 0,
        ("j", Some(at)) => at + 1,
        ("k", Some(at)) => at.saturating_sub(1),
        _ => return,
    };
    let link = rows.get(to).and_then(|row| {
        let link = row.query_selector(".bundle-link").ok()??;
        link.dyn_into::<web_sys::HtmlElement>().ok()
    });
    if let Some(link) = link {
        event.prevent_default();
        // A link that was taken away meanwhile cannot take it; nothing is lost then.
        let _refused = link.focus();
    }
}
