//! `GET /api/v1/owners`: locks grouped by owner, and one owner.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::error_responses::CommonErrors;
use super::query_values::parse_owner;
use crate::domain::{OwnerDetail, OwnerGrouping, OwnerList, OwnerQuery};
use crate::server::access::Principal;
use crate::server::api::extract::{PathText, QueryParams};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::limits::ClientKey;
use crate::server::state::AppState;

/// The query parameters of the list of owners.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OwnersParams {
    /// Only this group.
    group: Option<String>,
    /// The grouping of rows; `host` by default.
    #[serde(default)]
    group_by: OwnerGrouping,
}

/// Returns the number of locks per host or process, as identified by owner labels. At most 500
/// rows, those that need attention first. Owners whose format has no label are counted together.
#[utoipa::path(get, path = "/api/v1/owners", operation_id = "list_owners", tag = "observation", params(OwnersParams), responses(CommonErrors,
    (status = 200, description = "The owners and their locks", body = OwnerList),
    (status = 400, description = "`bad-request`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn owners(
    State(state): State<AppState>,
    principal: Principal,
    client: ClientKey,
    QueryParams(params): QueryParams<OwnersParams>,
) -> Result<Json<OwnerList>, ApiError> {
    let query = OwnerQuery {
        group_by: params.group_by,
        ..OwnerQuery::default()
    };
    let _permit = state.limits.acquire_query_permit(client)?;
    let owners = state
        .operations
        .owners(&principal, params.group.as_deref(), query)
        .await?;
    Ok(Json(owners))
}

/// The query parameters of one owner.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OwnerParams {
    /// What the path names: a `host` (default), or the `fingerprint` of an owner without a label.
    owner_by: Option<String>,
    /// The host, instead of the path segment: for hosts that a path cannot contain (`.`, `..`).
    name: Option<String>,
}

/// Returns one owner in all groups: the locks that it holds, each with the level of its
/// `release_advice`, and the locks that it waits for. A host is one owner with all of its processes,
/// whatever libraries and lock services they use. The answer for an owner without locks is empty:
/// `GET /api/v1/history?owner=` has its earlier holds.
#[utoipa::path(get, path = "/api/v1/owners/{owner}", operation_id = "get_owner", tag = "observation",
    params(("owner" = String, Path, description = "The host in the labels, or a fingerprint"), OwnerParams),
    responses(CommonErrors,
    (status = 200, description = "The owner and its locks", body = OwnerDetail),
    (status = 400, description = "`bad-request`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: not a fingerprint", body = Problem, content_type = "application/problem+json"),
))]
pub async fn owner(
    State(state): State<AppState>,
    principal: Principal,
    client: ClientKey,
    PathText(name): PathText,
    QueryParams(params): QueryParams<OwnerParams>,
) -> Result<Json<OwnerDetail>, ApiError> {
    let name = Some(params.name.unwrap_or(name));
    let Some(identity) = parse_owner(&name, params.owner_by.as_deref())? else {
        return Err(ApiError::NotFound);
    };
    let _permit = state.limits.acquire_query_permit(client)?;
    let owner = state.operations.owner_detail(&principal, identity).await?;
    Ok(Json(owner))
}
