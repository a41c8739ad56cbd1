//! `GET /api/v1/waits`: the wait-for graph.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::error_responses::CommonErrors;
use crate::domain::WaitForGraph;
use crate::server::access::Principal;
use crate::server::api::extract::QueryParams;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// The query parameters.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WaitsParams {
    /// Only this group.
    group: Option<String>,
}

/// Returns the locks with observed waiters: deadlock cycles first (`deadlock`), then locks whose
/// owner does not wait itself. Waiters are known only for Redisson's fair locks and for acquires
/// through this console.
#[utoipa::path(get, path = "/api/v1/waits", operation_id = "list_waits", tag = "observation", params(WaitsParams), responses(CommonErrors,
    (status = 200, description = "Locks, their owners and their waiters", body = WaitForGraph),
    (status = 400, description = "`bad-request`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn waits(
    State(state): State<AppState>,
    principal: Principal,
    QueryParams(params): QueryParams<WaitsParams>,
) -> Result<Json<WaitForGraph>, ApiError> {
    let waits = state
        .operations
        .waits(&principal, params.group.as_deref())
        .await?;
    Ok(Json(waits))
}
