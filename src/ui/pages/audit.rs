//! `/audit`: who did what to which lock, why, and how it ended.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::domain::{AuditPage as Told, ChainCheck};
use crate::ui::audit_query::AuditQuery;
use crate::ui::components::audit_chain::AuditChain;
use crate::ui::components::audit_filter::AuditFilterForm;
use crate::ui::components::audit_table::AuditTable;
use crate::ui::components::loaded::{Loaded, OnBoard};
use crate::ui::kit::{Banner, Empty, Icon, Link, Sign, Tone};
use crate::ui::live::Loading;
use crate::ui::words::audit as words;
use crate::ui::{calls, format};

/// The audit.
#[component]
pub fn AuditPage() -> impl IntoView {
    let location = use_location();
    let shown = move || {
        let query = AuditQuery::parse(&location.search.read());
        view! { <Part query /> }
    };
    view! {
        <Title text=format!("{} · Lockkeeper", words::title()) />
        <h1 class="mb-4 text-xl font-semibold">{words::heading()}</h1>
        {move || shown()}
    }
}

#[component]
fn Part(query: AuditQuery) -> impl IntoView {
    let search = query.search();
    let asked = Loading::new(move || calls::audit(search.clone()));
    let chain = Loading::new(calls::audit_chain);
    let show = {
        let query = query.clone();
        Callback::new(move |page: Told| {
            view! { <Shown page query=query.clone() chain /> }.into_any()
        })
    };
    view! {
        <OnBoard>
            <AuditFilterForm query=query.clone() />
            <Loaded loading=asked show />
        </OnBoard>
    }
}

#[component]
fn Shown(page: Told, query: AuditQuery, chain: Loading<ChainCheck>) -> impl IntoView {
    const LINK: &str = "inline-flex h-8 items-center gap-1 rounded-md border border-line px-2.5 hover:border-line-strong";
    let is_first = query.cursor.is_none();
    let newest = query.from_cursor(None).path();
    let older = page
        .next_cursor
        .map(|cursor| query.from_cursor(Some(cursor)).path());
    let read_at = words::read_at(format::time_of_day(page.read_at));
    let acts = if page.acts.is_empty() {
        view! {
            <Empty title=words::nothing()>
                <p>{words::what_is_written()}</p>
            </Empty>
        }
        .into_any()
    } else {
        view! { <AuditTable acts=page.acts /> }.into_any()
    };
    view! {
        {acts}
        {page
            .is_cut
            .then(|| {
                view! {
                    <div class="mt-3">
                        <Banner tone=Tone::Unsure>
                            <p>{words::no_time()}</p>
                        </Banner>
                    </div>
                }
            })}
        <p class="mt-4 flex flex-wrap items-center gap-3">
            {(!is_first)
                .then(|| {
                    view! {
                        <Link href=newest class=LINK>
                            <Icon sign=Sign::ArrowLeft />
                            {words::latest()}
                        </Link>
                    }
                })}
            {older
                .map(|older| {
                    view! {
                        <Link href=older class=LINK>
                            {words::older()}
                        </Link>
                    }
                })}
            <span class="text-xs text-muted">{read_at}</span>
            <span class="ms-auto flex gap-3 text-xs">
                <a href=query.export("csv") rel="external" class="underline underline-offset-2">
                    {words::as_sheet()}
                </a>
                <a href=query.export("jsonl") rel="external" class="underline underline-offset-2">
                    {words::as_lines()}
                </a>
            </span>
        </p>
        <AuditChain asked=chain />
    }
}
