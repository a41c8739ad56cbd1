//! The audit entries of one lock.

use leptos::prelude::*;

use super::audit_filter::humanize_slug;
use super::audit_table::AuditEntryResult;
use super::error_notice::ErrorNotice;
use super::lock_history;
use super::resource_view::ResourceResultView;
use crate::domain::{AuditEntry, AuditPage, LockId, OperationError};
use crate::ui::audit_query::AuditQuery;
use crate::ui::i18n::error_causes;
use crate::ui::i18n::lock as t;
use crate::ui::kit::{Card, Link};
use crate::ui::live::ServerResource;
use crate::ui::{calls, format};

/// The number of entries shown.
const MAX_ENTRIES: usize = 5;

/// Loads the audit entries of a lock, and reloads them when its owner changes. Must not be called
/// inside a `Suspense`, see [`lock_history::load`].
pub fn load(id: &LockId) -> ServerResource<AuditPage> {
    let search = AuditQuery::for_lock(id).query_string();
    let entries = ServerResource::new(move || calls::audit(search.clone()));
    lock_history::reload_on_owner_change(id, entries);
    entries
}

/// The latest audit entries of a lock, with a link to all of them.
#[component]
pub fn LockAudit(
    /// The lock.
    id: LockId,
    /// The audit entries of the lock.
    entries: ServerResource<AuditPage>,
) -> impl IntoView {
    let all = AuditQuery::for_lock(&id).path();
    let show = Callback::new(move |result| {
        view! { <LockAuditContent result all=all.clone() /> }.into_any()
    });
    view! {
        <Card id="lock-audit" title=t::operations()>
            <ResourceResultView loading=entries show />
        </Card>
    }
}

#[component]
fn LockAuditContent(result: Result<AuditPage, OperationError>, all: String) -> impl IntoView {
    let page = match result {
        Ok(page) => page,
        // Without permission for the audit log, the rest of the page is complete, so this is not an
        // error.
        Err(OperationError::Forbidden { cause }) => {
            return view! { <p class="text-muted">{t::not_shown(&error_causes::denial(&cause))}</p> }
                .into_any();
        }
        Err(error) => return view! { <ErrorNotice error /> }.into_any(),
    };
    if page.entries.is_empty() {
        return view! { <p class="text-muted">{t::no_operations()}</p> }.into_any();
    }
    let shown_entries = page.entries.into_iter().take(MAX_ENTRIES);
    let lines = shown_entries.map(|entry| view! { <LockAuditItem entry /> });
    view! {
        <ul class="flex flex-col gap-2" aria-label=t::operation_list()>
            {lines.collect_view()}
        </ul>
        <p class="mt-3 text-xs">
            <Link href=all class="underline underline-offset-2">
                {t::all_operations()}
            </Link>
        </p>
    }
    .into_any()
}

#[component]
fn LockAuditItem(entry: AuditEntry) -> impl IntoView {
    let (operation, actor) = (
        humanize_slug(entry.action.slug()),
        format::escape_invisible(&entry.actor),
    );
    let reason = entry.reason.as_deref().map(format::escape_invisible);
    let started_at = entry.started_at;
    let time = move || format::date_time(started_at);
    view! {
        <li class="border-s-2 border-line ps-3">
            <p>
                <span class="font-medium">{operation}</span>
                {t::by()}
                <bdi>{actor}</bdi>
                <span class="text-muted tabular-nums">" · "{time}</span>
            </p>
            {reason.map(|reason| view! { <p class="wrap-anywhere text-muted"><bdi>{reason}</bdi></p> })}
            <AuditEntryResult entry />
        </li>
    }
}
