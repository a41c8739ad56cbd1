//! `GET /api/v1/owners`: locks grouped by owner.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::error_responses::CommonErrors;
use crate::domain::{OwnerGrouping, OwnerList, OwnerQuery};
use crate::server::access::Principal;
use crate::server::api::extract::QueryParams;
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
