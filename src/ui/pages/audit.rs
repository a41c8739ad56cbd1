//! `/audit`: the audit log.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::domain::{AuditFacets, AuditHistogram, AuditPage as AuditData, ChainCheck};
use crate::ui::audit_query::AuditQuery;
use crate::ui::components::audit_chain::AuditChain;
use crate::ui::components::audit_chips::AuditChips;
use crate::ui::components::audit_filter::AuditFilterForm;
use crate::ui::components::audit_histogram::AuditHistogramChart;
use crate::ui::components::audit_table::AuditTable;
use crate::ui::components::resource_view::{AwaitSnapshot, ResourceView};
use crate::ui::i18n::audit as t;
use crate::ui::kit::{Banner, Empty, Icon, IconName, Link, Tone};
use crate::ui::live::ServerResource;
use crate::ui::{calls, format};

/// The audit log page.
#[component]
pub fn AuditPage() -> impl IntoView {
    let location = use_location();
    let content = move || {
        let query = AuditQuery::parse(&location.search.read());
        view! { <AuditContent query /> }
    };
    view! {
        <Title text=format!("{} · Lockkeeper", t::title()) />
        <h1 class="mb-4 text-xl font-semibold">{t::heading()}</h1>
        {move || content()}
    }
}

#[component]
fn AuditContent(query: AuditQuery) -> impl IntoView {
    let search = query.query_string();
    let resource = ServerResource::new(move || calls::audit(search.clone()));
    let search = query.query_string();
    let counts = ServerResource::new(move || calls::audit_histogram(search.clone()));
    let chain = ServerResource::new(calls::audit_chain);
    let show = {
        let query = query.clone();
        Callback::new(move |page: AuditData| {
            view! { <AuditEntries page query=query.clone() chain /> }.into_any()
        })
    };
    view! {
        <AwaitSnapshot>
            <AuditFilterForm query=query.clone() />
            <Histogram counts query=query.clone() />
            <ResourceView loading=resource show />
        </AwaitSnapshot>
    }
}

/// The chart, as soon as the entries are counted. The list reports an error of the audit log.
#[component]
fn Histogram(counts: ServerResource<AuditHistogram>, query: AuditQuery) -> impl IntoView {
    let chart = move || {
        let query = query.clone();
        Suspend::new(async move {
            let histogram = counts.result().await.ok()?;
            (histogram.total() > 0).then(|| view! { <AuditHistogramChart histogram query /> })
        })
    };
    view! { <Suspense fallback=|| ()>{chart}</Suspense> }
}

#[component]
fn AuditEntries(
    page: AuditData,
    query: AuditQuery,
    chain: ServerResource<ChainCheck>,
) -> impl IntoView {
    const LINK: &str = "inline-flex h-8 items-center gap-1 rounded-md border border-line px-2.5 hover:border-line-strong";
    let is_first = query.cursor.is_none();
    let newest = query.with_cursor(None).path();
    let older = page
        .next_cursor
        .map(|cursor| query.with_cursor(Some(cursor)).path());
    let read_at = move || t::read_at(format::time_of_day(page.read_at));
    let facets = AuditFacets::of(&page.entries, &query.filter);
    let nothing_found = match query.fields().is_empty() {
        true => t::no_entries(),
        false => t::no_match(),
    };
    let acts = if page.entries.is_empty() {
        view! {
            <Empty title=nothing_found>
                <p>{t::scope_note()}</p>
            </Empty>
        }
        .into_any()
    } else {
        view! { <AuditTable entries=page.entries /> }.into_any()
    };
    view! {
        <AuditChips facets query=query.clone() />
        {acts}
        {page
            .truncated
            .then(|| {
                view! {
                    <div class="mt-3">
                        <Banner tone=Tone::Unsure>
                            <p>{t::search_timeout()}</p>
                        </Banner>
                    </div>
                }
            })}
        <p class="mt-4 flex flex-wrap items-center gap-3">
            {(!is_first)
                .then(|| {
                    view! {
                        <Link href=newest class=LINK>
                            <Icon name=IconName::ArrowLeft />
                            {t::newest()}
                        </Link>
                    }
                })}
            {older
                .map(|older| {
                    view! {
                        <Link href=older class=LINK>
                            {t::older()}
                        </Link>
                    }
                })}
            <span class="text-xs text-muted">{read_at}</span>
            <span class="ms-auto flex gap-3 text-xs">
                <a href=query.export_path("csv") rel="external" class="underline underline-offset-2">
                    {t::export_csv()}
                </a>
                <a href=query.export_path("jsonl") rel="external" class="underline underline-offset-2">
                    {t::export_json_lines()}
                </a>
            </span>
        </p>
        <AuditChain check=chain />
    }
}
