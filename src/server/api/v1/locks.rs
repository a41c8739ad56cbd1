//! `GET /api/v1/locks` and `GET …/locks/{key}`: observed locks.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::error_responses::CommonErrors;
use super::query_values::{parse_bool, parse_enum, parse_limit};
use crate::domain::operation_error::RequestError;
use crate::domain::{Filter, History, SearchQuery, Sort, VisibleGroups};
use crate::server::access::Principal;
use crate::server::api::extract::{LockParams, LockPath, QueryParams, bad_request};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::limits::ClientKey;
use crate::server::operations::{ListQuery, Listing, LockWithHistory};
use crate::server::state::AppState;

/// The default and maximum page size.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// The query parameters of a list of locks.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListParams {
    /// Only this group.
    pub(super) group: Option<String>,
    /// A search: words contained in the name, owner label or fingerprint, and terms such as
    /// `group:orders`, `verdict:held,split`, `flag:at-risk`, `format:redisson`, `owner:web-3`,
    /// `key:lock:invoice:*`, `prefix:lock:invoice:`, `host:web-3`, `node:c`, `held>10m`,
    /// `lease<5s`, `lease:none`, `is:attention`, `confidence:possible`. All terms must match. `-`
    /// negates a term, `"…"` quotes it, and a word with `*` or `?` is a pattern for the whole name.
    /// At most 1024 bytes and 32 terms. Combined with the other parameters.
    pub(super) q: Option<String>,
    /// Only this verdict: `held`, `partial`, `split`, `unknown`.
    pub(super) verdict: Option<String>,
    /// Only locks with this flag: `no-expiry`, `at-risk`, `overdue`, `endless`, `contended`,
    /// `split`, `fragment`, `restart-hazard`.
    pub(super) flag: Option<String>,
    /// `true`: only locks that need attention.
    pub(super) attention: Option<String>,
    /// Only this format.
    pub(super) format: Option<String>,
    /// Only locks with this confidence: `sure`, `likely` or `possible`. By default `sure` and
    /// `likely`.
    pub(super) confidence: Option<String>,
    /// Only this owner: a part of the label, or a prefix of the fingerprint.
    pub(super) owner: Option<String>,
    /// `attention` (default), `key`, `lease`, `held`, `owner`, `contention`, `renewals`.
    pub(super) sort: Option<String>,
    /// `asc` or `desc`. The default is descending for `attention`, `held`, `contention` and
    /// `renewals`, and ascending for the others.
    pub(super) order: Option<String>,
    /// Returns `buckets` instead of locks, each with its counts. `prefix` groups by the part of the
    /// name before its variable part, `owner` by the host in the label, `group` by the group.
    /// Buckets are ordered by their first lock. `limit` counts buckets, and there is only one page.
    pub(super) group_by: Option<String>,
    /// The maximum number of locks: 1 to 1000, default 100.
    pub(super) limit: Option<String>,
    /// `next_cursor` of the previous page.
    pub(super) cursor: Option<String>,
    /// (Export only) `json` or `csv`.
    pub(super) r#as: Option<String>,
}

impl ListParams {
    /// Whether no parameter except the group is set.
    pub(super) fn is_unfiltered(&self) -> bool {
        let params = [
            &self.q,
            &self.verdict,
            &self.flag,
            &self.attention,
            &self.format,
            &self.confidence,
            &self.owner,
            &self.sort,
            &self.order,
            &self.group_by,
            &self.limit,
            &self.cursor,
        ];
        params.iter().all(|params| params.is_none())
    }

    /// Validates the parameters.
    pub(super) fn into_query(self) -> Result<ListQuery, ApiError> {
        let limit = parse_limit(self.limit.as_deref(), DEFAULT_LIMIT, MAX_LIMIT)?;
        let sort: Sort = parse_enum("sort", self.sort)?.unwrap_or_default();
        let order = parse_enum("order", self.order)?.unwrap_or(sort.default_order());
        Ok(ListQuery {
            filter: Filter {
                visible_groups: VisibleGroups::All,
                group: self.group,
                search: parse_search(self.q.as_deref())?,
                verdict: parse_enum("verdict", self.verdict)?,
                flag: parse_enum("flag", self.flag)?,
                attention: parse_bool("attention", self.attention.as_deref())?,
                format: parse_enum("format", self.format)?,
                confidence: parse_enum("confidence", self.confidence)?,
                owner: self.owner.filter(|owner| !owner.is_empty()),
            },
            sort,
            order,
            group_by: parse_enum("by", self.group_by)?,
            limit,
            cursor: self.cursor,
        })
    }
}

/// Parses the search expression. An absent one matches everything.
fn parse_search(q: Option<&str>) -> Result<SearchQuery, ApiError> {
    q.unwrap_or_default()
        .parse()
        .map_err(|error| bad_request(RequestError::InvalidSearch { error }))
}

/// Returns the observed locks. Locks on unreachable nodes are included with their last known state.
#[utoipa::path(get, path = "/api/v1/locks", operation_id = "list_locks", tag = "observation", params(ListParams), responses(CommonErrors,
    (status = 200, description = "The locks, and their total number", body = Listing),
    (status = 400, description = "A parameter has an invalid value", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn locks(
    State(state): State<AppState>,
    principal: Principal,
    client: ClientKey,
    QueryParams(params): QueryParams<ListParams>,
) -> Result<Json<Listing>, ApiError> {
    let query = params.into_query()?;
    let _permit = state.limits.acquire_query_permit(client)?;
    Ok(Json(state.operations.list(&principal, &query).await?))
}

/// Returns one lock, read from the nodes now, with its history.
#[utoipa::path(get, path = "/api/v1/groups/{group}/locks/{key}", operation_id = "get_lock", tag = "observation", params(LockParams), responses(CommonErrors,
    (status = 200, description = "The current state of the lock", body = LockWithHistory),
    (status = 400, description = "`bad-request`: the path has a broken `%` sequence", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`not-observed`: all relevant nodes replied and none has the lock; or `unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: the key is longer than 16384 bytes", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`unreachable`: too few nodes are reachable; or `storage-unavailable` (the database of `[storage]` cannot be reached)", body = Problem, content_type = "application/problem+json"),
))]
pub async fn lock(
    State(state): State<AppState>,
    principal: Principal,
    LockPath(id): LockPath,
) -> Result<Json<LockWithHistory>, ApiError> {
    Ok(Json(
        state
            .operations
            .inspect_with_history(&principal, &id)
            .await?,
    ))
}

/// Returns the history of a lock as observed by this console, also after it was released. The nodes
/// are not queried.
#[utoipa::path(get, path = "/api/v1/groups/{group}/locks/{key}/history", operation_id = "get_lock_history", tag = "observation", params(LockParams), responses(CommonErrors,
    (status = 200, description = "The observed holds, latest first", body = History),
    (status = 400, description = "`bad-request`: the path has a broken `%` sequence", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: the key is longer than 16384 bytes", body = Problem, content_type = "application/problem+json"),
))]
pub async fn history(
    State(state): State<AppState>,
    principal: Principal,
    LockPath(id): LockPath,
) -> Result<Json<History>, ApiError> {
    Ok(Json(state.operations.history(&principal, &id)?))
}
