//! `GET /api/v1/groups/{group}/findings`: whether a group is fit for locking, and what is not as it should be.

use axum::Json;
use axum::extract::{Path, State};

use super::refusals::Refusals;
use crate::domain::Checkup;
use crate::server::access::Actor;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// What the doctor finds: the nodes are asked about themselves, at most every five seconds however many ask here. `fit` says
/// that nothing is an `error`. What could not be looked into, mostly for lack of a permission, is `unchecked`.
#[utoipa::path(get, path = "/api/v1/groups/{group}/findings", tag = "watch",
    params(("group" = String, Path, description = "Its name in the configuration")),
    responses(Refusals,
    (status = 200, description = "Findings, and what could not be looked into", body = Checkup),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn findings(
    State(state): State<AppState>,
    actor: Actor,
    Path(group): Path<String>,
) -> Result<Json<Checkup>, ApiError> {
    Ok(Json(state.operations.checkup(&actor, &group).await?))
}
