//! `POST …/nodes/{node}/clear-restart-hazard`: ends the restart hazard of a node that lost no locks.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use utoipa::ToSchema;

use super::error_responses::{CommonErrors, MutationErrors};
use crate::domain::NodeView;
use crate::server::access::Principal;
use crate::server::api::extract::JsonBody;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// The request body.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClearRestartHazardBody {
    /// How the operator knows that no lock was lost; recorded in the audit log. At most 500
    /// characters.
    #[schema(example = "restored from its append-only file, checked by hand")]
    reason: String,
    /// The node's name; required in a `production` group.
    #[serde(default)]
    confirm: Option<String>,
}

/// Confirms that a node lost no locks in its last restart, or that no client relies on a lost one.
/// The node accepts new locks at once.
///
/// A node that restarted without persisting every write, or that was added to a Redlock group, is
/// excluded from new locks until the last lock that it may have lost has expired (`hazard_until`).
/// If the node did lose locks, confirming it can give one lock two owners. The confirmation applies
/// until the server restarts again and survives a restart of the console.
#[utoipa::path(post, path = "/api/v1/groups/{group}/nodes/{node}/clear-restart-hazard", operation_id = "clear_restart_hazard", tag = "operations", request_body = ClearRestartHazardBody,
    params(("group" = String, Path, description = "The group's name."), ("node" = String, Path, description = "The node's name in the configuration.")),
    responses(CommonErrors, MutationErrors,
    (status = 200, description = "The node after the change", body = NodeView),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: the group has no such node, the node has not been reached yet, `reason` is blank, or `confirm` is not the node's name in production", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "Nothing was done: `audit-unavailable` (the audit log is not writable) or `storage-unavailable` (the database of `[storage]` cannot be reached)", body = Problem, content_type = "application/problem+json"),
))]
pub async fn clear_restart_hazard(
    State(state): State<AppState>,
    principal: Principal,
    Path((group, node)): Path<(String, String)>,
    JsonBody(body): JsonBody<ClearRestartHazardBody>,
) -> Result<Json<NodeView>, ApiError> {
    let confirm = body.confirm.as_deref();
    let operations = &state.operations;
    let clearing =
        operations.clear_restart_hazard(&principal, &group, &node, &body.reason, confirm);
    let (view, _record) = clearing.await?;
    Ok(Json(view))
}
