//! Chips that narrow the audit log to an operation, a result, an actor or a lock. A second press
//! removes the filter.

use leptos::prelude::*;

use super::lock_name::LockName;
use crate::domain::{AuditFacets, LockId};
use crate::ui::audit_query::AuditQuery;
use crate::ui::format;
use crate::ui::i18n::{audit as t, terms};
use crate::ui::kit::{Icon, IconName, Link};

/// The chips of the listed entries.
#[component]
pub fn AuditChips(
    /// The values.
    facets: AuditFacets,
    /// The current query.
    query: AuditQuery,
) -> impl IntoView {
    let filter = &query.filter;
    let operations = facets.operations.into_iter().map(|kind| {
        let is_selected = filter.action == Some(kind);
        let href = query.with_filter(|filter| filter.action = (!is_selected).then_some(kind));
        view! { <Chip href is_selected>{terms::operation(kind)}</Chip> }.into_any()
    });
    let results = facets.results.into_iter().map(|result| {
        let is_selected = filter.result == Some(result);
        let href = query.with_filter(|filter| filter.result = (!is_selected).then_some(result));
        view! { <Chip href is_selected>{terms::operation_result(result)}</Chip> }.into_any()
    });
    let actors = facets.actors.into_iter().map(|actor| {
        let is_selected = filter.actor.as_ref() == Some(&actor);
        let text = format::shorten(&format::escape_invisible(&actor), 32);
        let href = query.with_filter(|filter| filter.actor = (!is_selected).then_some(actor));
        view! { <Chip href is_selected><bdi>{text}</bdi></Chip> }.into_any()
    });
    let locks = facets.locks.into_iter().map(|LockId { group, key }| {
        let is_selected =
            filter.key.as_ref() == Some(&key) && filter.group.as_ref() == Some(&group);
        let href = query.with_filter(|filter| {
            let lock = (!is_selected).then(|| (group, key.clone()));
            (filter.group, filter.key) = lock.unzip();
        });
        view! { <Chip href is_selected><LockName key max_chars=28 /></Chip> }.into_any()
    });
    view! {
        // A phone has the same filters in the sheet, and its room is for the entries.
        <div class="mb-3 flex flex-wrap gap-x-5 gap-y-1.5 max-sm:hidden">
            <ChipGroup label=t::operation() is_filtered=filter.action.is_some() chips=operations.collect() />
            <ChipGroup label=t::result() is_filtered=filter.result.is_some() chips=results.collect() />
            <ChipGroup label=t::principal() is_filtered=filter.actor.is_some() chips=actors.collect() />
            <ChipGroup label=t::lock() is_filtered=filter.key.is_some() chips=locks.collect() />
        </div>
    }
}

/// The chips of one kind of value. A single value does not narrow the list.
#[component]
fn ChipGroup(label: &'static str, is_filtered: bool, chips: Vec<AnyView>) -> impl IntoView {
    (is_filtered || chips.len() > 1).then(|| {
        let chips = chips.into_iter().map(|chip| view! { <li>{chip}</li> });
        view! {
            <div class="flex min-w-0 flex-wrap items-center gap-1.5">
                <span class="text-xs text-muted" aria-hidden="true">{label}</span>
                <ul class="flex min-w-0 flex-wrap gap-1.5" aria-label=label>{chips.collect_view()}</ul>
            </div>
        }
    })
}

#[component]
fn Chip(href: AuditQuery, is_selected: bool, children: Children) -> impl IntoView {
    let class = "inline-flex h-7 max-w-full items-center gap-1 rounded-full border border-line bg-surface px-2.5 text-xs hover:border-line-strong aria-[current]:border-accent aria-[current]:bg-accent-soft aria-[current]:font-medium";
    view! {
        <Link href=href.path() class no_scroll=true current=Signal::stored(is_selected)>
            {children()}
            {is_selected
                .then(|| {
                    view! {
                        <Icon name=IconName::Cross />
                        <span class="sr-only">{t::remove_filter()}</span>
                    }
                })}
        </Link>
    }
}
