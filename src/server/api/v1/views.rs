//! `/views`: the views of the lock list that all users share.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::error_responses::{CommonErrors, MutationErrors};
use crate::domain::{TeamView, TeamViewContents};
use crate::server::access::Principal;
use crate::server::api::extract::{JsonBody, PathText};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// The views of the team.
#[derive(Serialize, ToSchema)]
pub struct TeamViewList {
    /// The views, sorted by name.
    views: Vec<TeamView>,
}

/// Returns the views of the lock list that all users share, at most 200. Every user may read them,
/// including the names of groups and locks in their filters.
#[utoipa::path(get, path = "/api/v1/views", operation_id = "list_views", tag = "observation",
    responses(CommonErrors,
    (status = 200, description = "The views", body = TeamViewList),
))]
pub async fn views(
    State(state): State<AppState>,
    principal: Principal,
) -> Result<Json<TeamViewList>, ApiError> {
    let views = state.operations.team_views(&principal).await?;
    Ok(Json(TeamViewList { views }))
}

/// Saves a view for all users, or replaces the one of the same name. Requires the role `operator`.
/// The request can be repeated.
#[utoipa::path(put, path = "/api/v1/views/{name}", operation_id = "save_view", tag = "operations", request_body = TeamViewContents,
    params(("name" = String, Path, description = "The view's name: one percent-encoded segment, 1 to 80 characters without control characters.")),
    responses(CommonErrors, MutationErrors,
    (status = 200, description = "The saved view", body = TeamView),
    (status = 422, description = "`impossible`: the name is blank, too long or has a control character, the path is too long or not one of the lock list, or there are 200 other views", body = Problem, content_type = "application/problem+json"),
))]
pub async fn save_view(
    State(state): State<AppState>,
    principal: Principal,
    PathText(name): PathText,
    JsonBody(TeamViewContents { path }): JsonBody<TeamViewContents>,
) -> Result<Json<TeamView>, ApiError> {
    let operations = &state.operations;
    let view = operations.save_team_view(&principal, &name, &path).await?;
    Ok(Json(view))
}

/// Deletes a view for all users. Requires the role `operator`. The request can be repeated: a name
/// without a view is not an error.
#[utoipa::path(delete, path = "/api/v1/views/{name}", operation_id = "delete_view", tag = "operations",
    params(("name" = String, Path, description = "The view's name: one percent-encoded segment.")),
    responses(CommonErrors, MutationErrors,
    (status = 204, description = "There is no view of this name"),
    (status = 422, description = "`impossible`: the name is blank, too long or has a control character", body = Problem, content_type = "application/problem+json"),
))]
pub async fn delete_view(
    State(state): State<AppState>,
    principal: Principal,
    PathText(name): PathText,
) -> Result<StatusCode, ApiError> {
    state.operations.delete_team_view(&principal, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
