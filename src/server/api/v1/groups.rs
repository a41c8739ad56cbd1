//! `GET /api/v1/groups`: groups, nodes and scan coverage.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::error_responses::CommonErrors;
use crate::domain::{GroupView, Timestamp};
use crate::server::access::Principal;
use crate::server::state::AppState;

/// The configured groups.
#[derive(Serialize, ToSchema)]
pub struct GroupsResponse {
    /// The groups, with their nodes and the coverage of the last scan.
    groups: Vec<GroupView>,
    /// The server time of the response.
    observed_at: Timestamp,
}

/// Returns the groups, the health of their nodes, and the scan coverage.
#[utoipa::path(get, path = "/api/v1/groups", operation_id = "list_groups", tag = "observation", responses(CommonErrors, (status = 200, description = "The groups and their nodes", body = GroupsResponse)))]
pub async fn groups(State(state): State<AppState>, principal: Principal) -> Json<GroupsResponse> {
    Json(GroupsResponse {
        groups: state.operations.groups(&principal),
        observed_at: state.operations.index().now(),
    })
}
