//! The toolbar above a table: the number of locks, sort order, pause, grouping, saved views,
//! exports and pending changes.

use leptos::prelude::*;
use strum::VariantArray as _;

use super::copy_link::CopiedPageLink;
use super::order_freeze::OrderFreeze;
use super::saved_views::SavedViews;
use super::time_display::TimeDisplay;
use crate::domain::GroupBy;
use crate::domain::listing::Sort;
use crate::ui::i18n::{grouping, locks as t, punctuation, shell};
use crate::ui::kit::controlled::control_value;
use crate::ui::kit::menu::MENU_ENTRY;
use crate::ui::kit::{Icon, IconName, Link, Menu, PhoneSheet, use_replace_address};
use crate::ui::lazy::{lazy, lazy_view};
use crate::ui::locks_query::LocksQuery;

/// The class of the toolbar's buttons.
const BUTTON_CLASS: &str = "needs-script inline-flex h-7 items-center gap-1 rounded-md px-2 hover:bg-sunken hover:text-ink aria-pressed:bg-accent-soft [&_svg]:size-3.5";

/// The toolbar above a table.
#[component]
pub fn TableBar(
    /// The current query.
    query: Memo<LocksQuery>,
    /// The number of rows, as text.
    #[prop(into)]
    counted: Signal<String>,
    /// The number of pending changes.
    #[prop(into)]
    pending: Signal<usize>,
    /// The freeze state of the table.
    order_freeze: OrderFreeze,
) -> impl IntoView {
    let is_paused = order_freeze.is_paused;
    let apply = move || order_freeze.apply_pending();
    let time_display = TimeDisplay::expect();
    view! {
        <div class="-my-2 flex min-h-8 flex-wrap items-center gap-x-3 gap-y-1 text-muted">
            <p>{move || counted.get()}</p>
            <SortChoice query />
            // On phones the other controls are in a sheet, so that the first rows are on the first
            // screen.
            <PhoneSheet id="table-more" label=t::more().to_owned() class="h-7 rounded-md px-2 hover:bg-sunken" close_label=t::close()>
            <button
                type="button"
                class=BUTTON_CLASS
                aria-pressed=move || is_paused.get().to_string()
                title=t::pause_description()
                on:click=move |_| {
                    is_paused.update(|is_paused| *is_paused = !*is_paused);
                    if !is_paused.get_untracked() {
                        apply();
                    }
                }
            >
                {move || match is_paused.get() {
                    true => view! { <Icon name=IconName::Play /> {t::resume()} },
                    false => view! { <Icon name=IconName::Pause /> {t::pause()} },
                }}
            </button>
            <GroupByMenu query />
            <SavedViews query />
            <button
                type="button"
                class=BUTTON_CLASS
                aria-pressed=move || time_display.0.get().to_string()
                on:click=move |_| time_display.set(!time_display.0.get_untracked())
            >
                {t::absolute_times()}
            </button>
            <ExportMenu query />
            <PageLinkButton />
            </PhoneSheet>
            <span role="status">
                {move || {
                    (pending.get() > 0)
                        .then(|| {
                            view! {
                                <button
                                    type="button"
                                    class="fixed end-4 bottom-[calc(var(--nav-edge)+1rem)] z-10 inline-flex h-8 items-center gap-1.5 rounded-md bg-accent px-3 font-medium text-on-accent shadow-high hover:bg-accent-strong"
                                    on:click=move |_| apply()
                                >
                                    <Icon name=IconName::Refresh />
                                    {move || t::pending_changes(pending.get())}
                                </button>
                            }
                        })
                }}
            </span>
        </div>
    }
}

lazy! { dialogs: fn copied_page_link() -> view! { <CopiedPageLink /> } }

/// A button that copies the URL of the page. Its code is loaded when it is pressed.
#[component]
fn PageLinkButton() -> impl IntoView {
    let presses = RwSignal::new(0_u32);
    // Each press shows a new result.
    let result = move || (presses.get() > 0).then(|| lazy_view(copied_page_link));
    view! {
        <button type="button" class=BUTTON_CLASS on:click=move |_| presses.update(|presses| *presses += 1)>
            {shell::copy_link()}
        </button>
        <span role="status">{result}</span>
    }
}

/// A menu that exports the filtered and sorted list as a file.
#[component]
fn ExportMenu(query: Memo<LocksQuery>) -> impl IntoView {
    let link = move |kind: &'static str, label: &'static str, title: &'static str| {
        view! {
            <a
                href=move || query.with(|query| query.export_path(kind))
                rel="external"
                download=format!("locks.{kind}")
                title=title
                class=MENU_ENTRY
            >
                {label}
            </a>
        }
    };
    view! {
        <Menu label=t::export().to_owned() icon=IconName::Download>
            {link("csv", "CSV", t::export_csv())}
            {link("json", "JSON", t::export_json())}
        </Menu>
    }
}

/// A menu for the sort order, on phones and for sort keys without a column.
#[component]
fn SortChoice(query: Memo<LocksQuery>) -> impl IntoView {
    let go = use_replace_address();
    let choose = move |slug: String| {
        let sort = slug.parse::<Sort>().unwrap_or_default();
        go.run(query.with_untracked(|query| query.with_sort(sort).path()));
    };
    let control = NodeRef::new();
    let value = Memo::new(move |_| query.with(|query| query.sort.slug().to_owned()));
    control_value(control, value, choose);
    let option = move |sort: Sort| {
        let is_chosen = move || query.with(|query| query.sort == sort);
        view! { <option value=sort.slug() selected=is_chosen>{t::order(sort)}</option> }
    };
    view! {
        <select
            node_ref=control
            autocomplete="off"
            aria-label=t::sorted_by()
            class="needs-script h-7 rounded-md border border-line bg-surface px-1.5 hover:text-ink"
            on:change=move |event| choose(event_target_value(&event))
        >
            {Sort::VARIANTS.iter().copied().map(option).collect_view()}
        </select>
    }
}

/// The grouping. The choices are links, so that they work without JavaScript.
#[component]
fn GroupByMenu(query: Memo<LocksQuery>) -> impl IntoView {
    let name = |by: Option<GroupBy>| by.map_or_else(grouping::no_grouping, grouping::by);
    let choice = move |by: Option<GroupBy>| {
        let href = Signal::derive(move || query.with(|query| query.with_group_by(by).path()));
        let current = Memo::new(move |_| query.with(|query| query.group_by == by));
        let title = by.map_or_else(grouping::no_grouping_description, grouping::description);
        view! {
            <Link href current no_scroll=true title=title class=MENU_ENTRY>
                {name(by)}
            </Link>
        }
    };
    let all = [None]
        .into_iter()
        .chain(GroupBy::VARIANTS.iter().copied().map(Some));
    let label = Signal::derive(move || {
        let by = query.with(|query| query.group_by);
        punctuation::labelled(grouping::group_by(), name(by))
    });
    view! {
        <nav aria-label=grouping::group_by()>
            <Menu label>{all.map(choice).collect_view()}</Menu>
        </nav>
    }
}
