//! `GET /api/v1/groups`: the groups, their nodes, how complete the picture is.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::refusals::Refusals;
use crate::domain::{GroupView, Timestamp};
use crate::server::access::Actor;
use crate::server::state::AppState;

/// The groups of the configuration.
#[derive(Serialize, ToSchema)]
pub struct Groups {
    /// Each with its nodes and the coverage of its last scan.
    groups: Vec<GroupView>,
    /// The server's clock when this was made.
    observed_at: Timestamp,
}

/// The groups, the health of their nodes, and how much of the keyspace was seen.
#[utoipa::path(get, path = "/api/v1/groups", tag = "watch", responses(Refusals, (status = 200, description = "The groups and their nodes", body = Groups)))]
pub async fn groups(State(state): State<AppState>, actor: Actor) -> Json<Groups> {
    Json(Groups {
        groups: state.operations.groups(&actor),
        observed_at: state.operations.index().now(),
    })
}
