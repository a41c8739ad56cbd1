//! `GET /api/v1/waits`: who waits for whom.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::refusals::Refusals;
use crate::domain::Waits;
use crate::server::access::Actor;
use crate::server::api::extract::Params;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// Which waits.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WaitsParams {
    /// Only this group.
    group: Option<String>,
}

/// The locks that somebody is seen to wait for: circles first (`deadlock`), then those whose owner waits for nobody. Only
/// Redisson's fair locks and this console tell who waits; of everybody else who tries, nothing is known.
#[utoipa::path(get, path = "/api/v1/waits", tag = "watch", params(WaitsParams), responses(Refusals,
    (status = 200, description = "Who waits for whom", body = Waits),
    (status = 400, description = "`bad-request`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn waits(
    State(state): State<AppState>,
    actor: Actor,
    Params(params): Params<WaitsParams>,
) -> Result<Json<Waits>, ApiError> {
    let waits = state
        .operations
        .waits(&actor, params.group.as_deref())
        .await?;
    Ok(Json(waits))
}
