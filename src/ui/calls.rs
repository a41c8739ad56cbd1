//! The server functions of the console, and the only ones of the crate. Permissions are checked in
//! `operations`.
use leptos::prelude::*;
use leptos::server_fn::error::{FromServerFnError, ServerFnErrorErr};

use crate::domain::operation_error::{InternalError, RequestError};
use crate::domain::raw::RawNode;
use crate::domain::release_advice::AdviceFacts;
use crate::domain::trend::TrendPoint;
use crate::domain::{
    Activity, ActivityQuery, AuditHistogram, AuditPage, ChainCheck, ConsoleLock, Fingerprint,
    Format, History, InitialState, LeaseKeys, Lock, LockId, LockKey, MonitorSample, NodesReport,
    ObservedHold, OperationError, OwnerDetail, OwnerIdentity, OwnerList, PrefixList,
    PrefixSettings, RecordedLock, ReleaseDryRun, ReleaseMethod, ReleaseResult, ReleaseTarget,
    SearchHit, TeamView, Timestamp, WaitForGraph, WebhookAttempt, WebhookView,
};
use crate::ui::json::{Json, JsonCodec};

impl FromServerFnError for OperationError {
    type Encoder = JsonCodec;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Request(detail)
            | ServerFnErrorErr::Response(detail)
            | ServerFnErrorErr::Deserialization(detail)
            | ServerFnErrorErr::UnsupportedRequestMethod(detail) => Self::NoResponse { detail },
            ServerFnErrorErr::Args(text) | ServerFnErrorErr::MissingArg(text) => Self::BadRequest {
                cause: RequestError::InvalidArguments { text },
            },
            ServerFnErrorErr::Registration(text)
            | ServerFnErrorErr::ServerError(text)
            | ServerFnErrorErr::MiddlewareError(text)
            | ServerFnErrorErr::Serialization(text) => Self::Internal {
                cause: InternalError::ServerFunction { text },
            },
        }
    }
}

/// The user, and the part of the lock index that a page shows. During server rendering the URL of
/// the request determines the page, otherwise `page` does.
#[server(name = GetInitialState, input = Json, output = Json)]
pub async fn initial_state(page: String) -> Result<InitialState, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let request_url =
        use_context::<axum::http::request::Parts>().map(|parts| parts.uri.to_string());
    let page_url = request_url.filter(|address| !address.starts_with("/_fn/"));
    let (view, also) = super::initial_view::initial_window(page_url.as_deref().unwrap_or(&page));
    let _permit = crate::server::state::acquire_query_permit(&state)?;
    Ok(InitialState {
        user: state.access.current_user(&actor),
        snapshot: state.operations.view_snapshot(&actor, view, also).await?,
    })
}

/// Inspects one lock on its nodes.
#[server(name = GetLock, input = Json, output = Json)]
pub async fn lock(id: LockId) -> Result<Lock, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.inspect(&actor, &id).await
}

/// The first locks whose name, owner or fingerprint matches a text.
#[server(name = FindLocks, input = Json, output = Json)]
pub async fn find(text: String) -> Result<Vec<SearchHit>, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let text: String = text.chars().take(200).collect();
    let view = super::locks_query::LocksQuery::default()
        .with_text(text)
        .window_query(8);
    let _permit = crate::server::state::acquire_query_permit(&state)?;
    let snapshot = state
        .operations
        .view_snapshot(&actor, view, Vec::new())
        .await?;
    let hits = snapshot.locks.iter().map(|lock| SearchHit {
        id: lock.id.clone(),
        verdict: lock.verdict,
    });
    Ok(hits.collect())
}

/// The history of one lock. The nodes are not queried.
#[server(name = GetHistory, input = Json, output = Json)]
pub async fn history(id: LockId) -> Result<History, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.history(&actor, &id)
}

/// The recorded history of a range of time. The nodes are not queried.
#[server(name = GetActivity, input = Json, output = Json)]
pub async fn activity(query: ActivityQuery) -> Result<Activity, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let _permit = crate::server::state::acquire_query_permit(&state)?;
    state.operations.activity(&actor, query).await
}

/// The recorded history that the activity page shows. `search` is the query string of the page; a
/// range up to now ends at the time of the server.
#[server(name = GetActivityPage, input = Json, output = Json)]
pub async fn activity_page(search: String, limit: u32) -> Result<Activity, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let view = super::activity_view::ActivityView::parse(&search);
    let query = view.activity_query(state.operations.index().now(), limit);
    let _permit = crate::server::state::acquire_query_permit(&state)?;
    state.operations.activity(&actor, query).await
}

/// A lock at a time in the past, from the recorded history. The nodes are not queried.
#[server(name = GetRecordedLock, input = Json, output = Json)]
pub async fn recorded_lock(id: LockId, at: Timestamp) -> Result<RecordedLock, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let _permit = crate::server::state::acquire_query_permit(&state)?;
    state.operations.recorded_lock(&actor, id, at).await
}

/// The inputs of the advice before a forced release that are not part of the lock.
#[server(name = GetAdviceFacts, input = Json, output = Json)]
pub async fn advice_facts(id: LockId) -> Result<AdviceFacts, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.advice_facts(&actor, &id).await
}

/// The raw value of one lock on its nodes, with tokens masked.
#[server(input = Json, output = Json)]
pub async fn raw(id: LockId) -> Result<Vec<RawNode>, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.raw(&actor, &id).await
}

/// The keys of the lease that a lock is held with.
#[server(name = GetLeaseKeys, input = Json, output = Json)]
pub async fn lease_keys(id: LockId) -> Result<LeaseKeys, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.lease_keys(&actor, &id).await
}

/// The lock waits of all groups.
#[server(name = GetWaits, input = Json, output = Json)]
pub async fn waits() -> Result<WaitForGraph, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.waits(&actor, None).await
}

/// A page of the audit log. `search` is the query string of the page.
#[server(name = GetAudit, input = Json, output = Json)]
pub async fn audit(search: String) -> Result<AuditPage, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let super::audit_query::AuditQuery { filter, cursor } =
        super::audit_query::AuditQuery::parse(&search);
    let operations = &state.operations;
    operations.search_audit(&actor, filter, 100, cursor).await
}

/// The entries of the audit log over time. `search` is the query string of the page.
#[server(name = GetAuditHistogram, input = Json, output = Json)]
pub async fn audit_histogram(search: String) -> Result<AuditHistogram, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let filter = super::audit_query::AuditQuery::parse(&search).filter;
    let _permit = crate::server::state::acquire_query_permit(&state)?;
    state.operations.audit_histogram(&actor, filter).await
}

/// The result of the verification of the hash chain.
#[server(name = GetAuditChain, input = Json, output = Json)]
pub async fn audit_chain() -> Result<ChainCheck, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.chain_check(&actor).await
}

/// The owners of all groups. `search` is the query string of the page.
#[server(name = GetOwners, input = Json, output = Json)]
pub async fn owners(search: String) -> Result<OwnerList, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let query = super::owners_query::parse(&search);
    let _permit = crate::server::state::acquire_query_permit(&state)?;
    state.operations.owners(&actor, None, query).await
}

/// One owner in all groups.
#[server(name = GetOwner, input = Json, output = Json)]
pub async fn owner(identity: OwnerIdentity) -> Result<OwnerDetail, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let _permit = crate::server::state::acquire_query_permit(&state)?;
    state.operations.owner_detail(&actor, identity).await
}

/// The health history of the visible nodes, and the findings of the doctor in the locale of the
/// page. `search` is the query string of the page.
#[server(name = GetNodes, input = Json, output = Json)]
pub async fn nodes(search: String) -> Result<NodesReport, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let query = super::nodes_query::NodesQuery::parse(&search);
    let (names, _) = query.visible_groups(&state.operations.groups(&actor));
    let diagnoses = state.operations.diagnose_named_groups(&actor, &names);
    let diagnoses = diagnoses.await;
    Ok(NodesReport {
        diagnoses: diagnoses
            .iter()
            .map(super::i18n::findings::localized)
            .collect(),
        groups: state.operations.node_histories(&actor, &names),
    })
}

/// The figures of the overview's charts, the oldest first.
#[server(name = GetTrends, input = Json, output = Json)]
pub async fn trends() -> Result<Vec<TrendPoint>, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    Ok(state.operations.trends(&actor))
}

/// Acquires a lock for the user of this console. The token stays on the server.
#[server(input = Json, output = Json)]
pub async fn acquire(
    group: String,
    key: LockKey,
    format: Format,
    ttl_ms: u64,
    wait_ms: u64,
    label: Option<String>,
    auto_renew: bool,
) -> Result<ConsoleLock, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let request = crate::server::operations::AcquireRequest {
        ttl_ms,
        wait_ms,
        label,
        format,
        token: None,
        auto_renew,
    };
    let id = LockId { group, key };
    let _permit = crate::server::state::acquire_wait_permit(&state, wait_ms)?;
    let acquiring = state.operations.acquire_console_lock(&actor, id, &request);
    state.access.run_while_authorized(&actor, acquiring).await
}

/// The locks acquired through this console.
#[server(name = ListMine, input = Json, output = Json)]
pub async fn mine() -> Result<Vec<ConsoleLock>, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    Ok(state.operations.console_locks(&actor))
}

/// Extends a lock acquired through this console.
#[server(input = Json, output = Json)]
pub async fn extend_mine(id: LockId, ttl_ms: u64) -> Result<ConsoleLock, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state
        .operations
        .extend_console_lock(&actor, &id, ttl_ms)
        .await
}

/// Releases a lock acquired through this console.
#[server(input = Json, output = Json)]
pub async fn release_mine(id: LockId) -> Result<ReleaseResult, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.release_console_lock(&actor, &id).await
}

/// Reveals the token of a lock acquired through this console, once.
#[server(input = Json, output = Json)]
pub async fn reveal_token(id: LockId) -> Result<String, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.reveal_token(&actor, &id).await
}

/// Force-releases a lock, if its owner and hold have not changed.
#[server(input = Json, output = Json)]
pub async fn force_release(
    id: LockId,
    fingerprint: Fingerprint,
    expected_hold: ObservedHold,
    reason: String,
    confirm: Option<String>,
    method: ReleaseMethod,
) -> Result<ReleaseResult, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let request = crate::server::operations::ForceReleaseRequest {
        fingerprint: &fingerprint,
        expected_hold,
        reason: &reason,
        confirm: confirm.as_deref(),
        method: &method,
    };
    state.operations.force_release(&actor, &id, request).await
}

/// Clears the restart hazard of a node, so that it accepts new locks again.
#[server(name = ClearRestartHazard, input = Json, output = Json)]
pub async fn clear_restart_hazard(
    group: String,
    node: String,
    reason: String,
    confirm: Option<String>,
) -> Result<(), OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let operations = &state.operations;
    let clearing =
        operations.clear_restart_hazard(&actor, &group, &node, &reason, confirm.as_deref());
    clearing.await.map(|_| ())
}

/// The prefixes under which locks of a group were found.
#[server(input = Json, output = Json)]
pub async fn prefixes(group: String) -> Result<PrefixList, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.prefixes(&actor, &group)
}

/// Pins, excludes, names or resets a prefix of lock names.
#[server(input = Json, output = Json)]
pub async fn change_prefix(
    group: String,
    prefix: LockKey,
    settings: PrefixSettings,
) -> Result<(), OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let operations = &state.operations;
    let changing = operations.change_prefix(&actor, &group, &prefix, settings);
    changing.await.map(|_| ())
}

/// The views of the lock list that all users share.
#[server(name = GetTeamViews, input = Json, output = Json)]
pub async fn team_views() -> Result<Vec<TeamView>, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.team_views(&actor).await
}

/// Saves a view of the lock list for all users, or replaces the one of the same name.
#[server(input = Json, output = Json)]
pub async fn save_team_view(name: String, path: String) -> Result<(), OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let saving = state.operations.save_team_view(&actor, &name, &path);
    saving.await.map(|_| ())
}

/// Deletes a view of the lock list for all users.
#[server(input = Json, output = Json)]
pub async fn delete_team_view(name: String) -> Result<(), OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.delete_team_view(&actor, &name).await
}

/// The webhooks of the configuration.
#[server(input = Json, output = Json)]
pub async fn webhooks() -> Result<Vec<WebhookView>, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.list_webhooks(&actor)
}

/// Sends a test event to a webhook.
#[server(input = Json, output = Json)]
pub async fn test_webhook(name: String) -> Result<WebhookAttempt, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state.operations.test_webhook(&actor, &name).await
}

/// The first holds of a list that the user may release in one request. `search` is the query string
/// of the page.
#[server(name = SelectReleasable, input = Json, output = Json)]
pub async fn select_releasable(search: String) -> Result<Vec<ReleaseTarget>, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let mut view = super::locks_query::LocksQuery::parse(&search).window_query(usize::MAX);
    (view.group_by, view.offset) = (None, 0);
    let _permit = crate::server::state::acquire_query_permit(&state)?;
    state.operations.pick_holds(&actor, view).await
}

/// The dry run of a bulk release, in the order of `targets`. Nothing is changed on any node.
#[server(input = Json, output = Json)]
pub async fn dry_run_releases(
    targets: Vec<ReleaseTarget>,
) -> Result<Vec<ReleaseDryRun>, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    state
        .operations
        .dry_run_bulk_force_release(&actor, targets)
        .await
}

/// Runs MONITOR on one node for some seconds and counts acquire attempts.
#[server(name = RunMonitor, input = Json, output = Json)]
pub async fn monitor_sample(
    group: String,
    node: String,
    seconds: u32,
) -> Result<MonitorSample, OperationError> {
    let (state, actor) = crate::server::state::request_context().await?;
    let duration = std::time::Duration::from_secs(seconds.into());
    let operations = &state.operations;
    operations
        .monitor_sample(&actor, &group, &node, duration)
        .await
}
