//! `/owners`: the held locks by host or by process. `?q=web-2` shows the locks of web-2.

use std::time::Duration;

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::domain::{OwnerGrouping, OwnerList, OwnerQuery, OwnerSort, Timestamp};
use crate::ui::components::owner_table::OwnerTable;
use crate::ui::components::page_search::PageSearch;
use crate::ui::components::resource_view::{AwaitSnapshot, ResourceView};
use crate::ui::i18n::{owners as t, punctuation};
use crate::ui::kit::{Empty, Link};
use crate::ui::live::ServerResource;
use crate::ui::live::{Live, poll};
use crate::ui::{calls, format, owners_query, paths};

/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

const UNDERLINED: &str = "font-medium text-accent underline underline-offset-2";

/// The owners page.
#[component]
pub fn OwnersPage() -> impl IntoView {
    let search = use_location().search;
    let query = Memo::new(move |_| owners_query::parse(&search.read()));
    let query_string = Memo::new(move |_| query.with(owners_query::query_string));
    let loading = ServerResource::new(move || calls::owners(query_string.get_untracked()));
    let data = RwSignal::new(None::<OwnerList>);
    poll(POLL_INTERVAL, query_string, calls::owners, data);
    let show = Callback::new(move |owners: OwnerList| {
        data.set(Some(owners));
        view! { <OwnersContent data query /> }.into_any()
    });
    let with_text = Callback::new(move |text| {
        let query = query.get_untracked();
        owners_query::path(&OwnerQuery { text, ..query })
    });
    view! {
        <Title text=format!("{} · Lockkeeper", t::title()) />
        <header class="mb-4 flex flex-wrap items-baseline gap-x-4 gap-y-2">
            <h1 class="text-xl font-semibold">{t::heading()}</h1>
            <nav aria-label=t::group_by() class="flex gap-1">
                <GroupByLink query grouping=OwnerGrouping::Host label=t::host() />
                <GroupByLink query grouping=OwnerGrouping::Label label=t::process() />
            </nav>
        </header>
        <AwaitSnapshot>
            <div class="mb-4 flex">
                <PageSearch
                    text=Memo::new(move |_| query.with(|query| query.text.clone()))
                    page=paths::OWNERS
                    label=t::find()
                    hint=t::find_hint()
                    path=with_text
                >
                    {move || hidden_fields(&query.read())}
                </PageSearch>
            </div>
            <ResourceView loading show />
        </AwaitSnapshot>
    }
}

/// The fields of the URL without the search text, as hidden form fields.
fn hidden_fields(query: &OwnerQuery) -> impl IntoView + use<> {
    let by = (query.group_by == OwnerGrouping::Label).then_some(("group_by", "label"));
    let sort = (query.sort != OwnerSort::default()).then_some(("sort", query.sort.slug()));
    let field = |(name, value)| view! { <input type="hidden" name=name value=value /> };
    by.into_iter().chain(sort).map(field).collect_view()
}

/// A link that selects a grouping.
#[component]
fn GroupByLink(
    query: Memo<OwnerQuery>,
    grouping: OwnerGrouping,
    label: &'static str,
) -> impl IntoView {
    let class = "rounded-md px-2.5 py-1 text-muted hover:text-ink aria-[current]:bg-accent-soft aria-[current]:font-medium aria-[current]:text-ink";
    let href = Signal::derive(move || {
        let query = query.get();
        owners_query::path(&OwnerQuery {
            group_by: grouping,
            ..query
        })
    });
    view! {
        <Link href class current=Signal::derive(move || query.with(|query| query.group_by == grouping))>
            {label}
        </Link>
    }
}

#[component]
fn OwnersContent(data: RwSignal<Option<OwnerList>>, query: Memo<OwnerQuery>) -> impl IntoView {
    let live = Live::expect();
    // The time changes with every poll. It is left out here, so that unchanged rows are not
    // rendered again.
    let picture = Memo::new(move |_| {
        data.with(|data| {
            let owners = data.as_ref()?;
            Some(OwnerList {
                observed_at: Timestamp::from_millis(0),
                ..owners.clone()
            })
        })
    });
    let read_at = move || {
        let at = data.with(|data| data.as_ref().map(|owners| owners.observed_at))?;
        let age = format::ago(at, live.now.get());
        Some(t::as_of(format::time_of_day(at), age))
    };
    let drawn = move || Some(owners_view(picture.get()?, query.get_untracked()));
    view! {
        {drawn}
        <p class="mt-4 text-xs text-muted tabular-nums">{t::labels_not_verified()} {read_at}</p>
    }
}

fn owners_view(owners: OwnerList, query: OwnerQuery) -> AnyView {
    // The table has a row for them.
    let unnamed = owners.unlabeled.as_ref().filter(|_| owners.rows.is_empty());
    let unnamed = unnamed.map(|row| {
        view! {
            <p class="mt-3 text-muted">
                {t::unlabelled(row.lock_count) + punctuation::sentence_separator()}
                <Link href=paths::locks_of_host("") class=UNDERLINED>{t::show_unlabelled()}</Link>
            </p>
        }
    });
    let beyond = (owners.total as usize).saturating_sub(owners.rows.len());
    let beyond = (beyond > 0).then(|| {
        let message = t::not_shown(format::count(beyond as u64));
        view! { <p class="mt-3 text-muted">{message}</p> }
    });
    let only_one = match owners.rows.as_slice() {
        [row] if !query.text.is_empty() => {
            let data = t::holds_locks(row.lock_count, &format::escape_invisible(&row.name));
            Some(view! { <p class="mb-3 font-medium wrap-anywhere">{data}</p> })
        }
        _ => None,
    };
    let rows = match (owners.rows.is_empty(), query.text.is_empty()) {
        (true, true) => view! { <NoLabeledOwners /> }.into_any(),
        (true, false) => view! { <NoMatchingOwner query /> }.into_any(),
        (false, _) => {
            view! { <OwnerTable rows=owners.rows unlabeled=owners.unlabeled query=query /> }
                .into_any()
        }
    };
    view! { {only_one} {rows} {beyond} {unnamed} }.into_any()
}

#[component]
fn NoLabeledOwners() -> impl IntoView {
    view! {
        <Empty title=t::no_labels()>
            <p>
                {t::no_labels_hint()}
                <Link href=paths::LOCKS class="underline underline-offset-2 hover:text-ink">{t::list_of_locks()}</Link>
                {t::no_labels_hint_end()}
            </p>
        </Empty>
    }
}

#[component]
fn NoMatchingOwner(query: OwnerQuery) -> impl IntoView {
    let title = t::no_match(&format::escape_invisible(&format::shorten(&query.text, 40)));
    let href = owners_query::path(&OwnerQuery {
        text: String::new(),
        ..query
    });
    view! {
        <Empty title=title>
            <p>
                {t::no_match_hint()}
                <Link href=href no_scroll=true class=UNDERLINED>{t::show_all()}</Link>
            </p>
        </Empty>
    }
}
