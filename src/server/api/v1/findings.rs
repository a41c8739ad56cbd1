//! `GET /api/v1/groups/{group}/findings`: the doctor's findings for a group.

use axum::Json;
use axum::extract::{Path, State};

use super::error_responses::CommonErrors;
use crate::domain::DiagnosisView;
use crate::server::access::Principal;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// Returns the doctor's findings for a group. Nodes are queried at most every five seconds,
/// regardless of the number of requests. `fit` is true if no finding is an `error`. Checks that
/// could not run, mostly for lack of a permission, are listed in `unchecked`.
#[utoipa::path(get, path = "/api/v1/groups/{group}/findings", operation_id = "list_findings", tag = "observation",
    params(("group" = String, Path, description = "The group's name.")),
    responses(CommonErrors,
    (status = 200, description = "The findings, and the checks that could not run", body = DiagnosisView),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn findings(
    State(state): State<AppState>,
    principal: Principal,
    Path(group): Path<String>,
) -> Result<Json<DiagnosisView>, ApiError> {
    let diagnosis = state.operations.diagnose_group(&principal, &group).await?;
    Ok(Json(diagnosis.english_view()))
}
