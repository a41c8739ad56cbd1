//! `GET /api/v1/owners`: who holds what.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::refusals::Refusals;
use crate::domain::{Owners, OwnersAsked, OwnersBy};
use crate::server::access::Actor;
use crate::server::api::extract::Params;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::limits::Client;
use crate::server::state::AppState;

/// Which owners.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OwnersParams {
    /// Only this group.
    group: Option<String>,
    /// What makes one row; `host` unless said otherwise.
    #[serde(default)]
    by: OwnersBy,
}

/// The locks of each host or process added up, as far as owners' labels tell them apart. At most 500 rows, those that need
/// attention first; owners whose format carries no label are counted together.
#[utoipa::path(get, path = "/api/v1/owners", tag = "watch", params(OwnersParams), responses(Refusals,
    (status = 200, description = "The owners and what they hold", body = Owners),
    (status = 400, description = "`bad-request`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn owners(
    State(state): State<AppState>,
    actor: Actor,
    client: Client,
    Params(params): Params<OwnersParams>,
) -> Result<Json<Owners>, ApiError> {
    let asked = OwnersAsked {
        by: params.by,
        ..OwnersAsked::default()
    };
    let _while_it_is_added_up = state.limits.query(client)?;
    let owners = state
        .operations
        .owners(&actor, params.group.as_deref(), asked)
        .await?;
    Ok(Json(owners))
}
