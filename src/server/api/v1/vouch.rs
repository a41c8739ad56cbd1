//! `POST …/nodes/{node}/vouch`: an operator says that a node lost no locks.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use utoipa::ToSchema;

use super::refusals::{ActRefusals, Refusals};
use crate::domain::NodeView;
use crate::server::access::Actor;
use crate::server::api::extract::Body;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// Why a node is vouched for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VouchBody {
    /// Why it is known that no lock was lost; it is written to the audit. At most 500 characters.
    #[schema(example = "restored from its append-only file, checked by hand")]
    reason: String,
    /// In a `production` group: the node's name once more.
    #[serde(default)]
    confirm: Option<String>,
}

/// Vouches for a node as it runs now: that no lock was lost on it, or that nobody relies on one that was. It takes new locks at
/// once.
///
/// A node that restarted without having kept every write, or that is new in a Redlock group, takes no new locks until the
/// last lock that it may lack has ended (`hazard_until`). Whoever vouches for one that did lose locks may have a lock given to
/// two owners. It counts until the server restarts again, also after a restart of the console.
#[utoipa::path(post, path = "/api/v1/groups/{group}/nodes/{node}/vouch", tag = "act", request_body = VouchBody,
    params(("group" = String, Path, description = "The group's name."), ("node" = String, Path, description = "The node's name in the configuration.")),
    responses(Refusals, ActRefusals,
    (status = 200, description = "The node as it is since", body = NodeView),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: the group has no such node, the node has not been reached yet, `reason` is blank, or `confirm` is not the node's name in production", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "Nothing was done: `audit-unavailable` (it cannot be written down) or `storage-unavailable` (the database of `[storage]` cannot be reached)", body = Problem, content_type = "application/problem+json"),
))]
pub async fn vouch(
    State(state): State<AppState>,
    actor: Actor,
    Path((group, node)): Path<(String, String)>,
    Body(body): Body<VouchBody>,
) -> Result<Json<NodeView>, ApiError> {
    let confirm = body.confirm.as_deref();
    let operations = &state.operations;
    let vouching = operations.vouch(&actor, &group, &node, &body.reason, confirm);
    let (view, _remembered_by_the_keeper) = vouching.await?;
    Ok(Json(view))
}
