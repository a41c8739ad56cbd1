//! `POST …/nodes/{node}/monitor-sample`: who tries in vain to take which lock, for a few seconds.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use utoipa::ToSchema;

use super::refusals::{ActRefusals, Refusals};
use crate::domain::MonitorSample;
use crate::server::access::Actor;
use crate::server::api::extract::Body;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// How long a sample takes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleBody {
    /// In whole seconds, 1 to 10; 5 unless said otherwise.
    #[schema(minimum = 1, maximum = 10, example = 5)]
    #[serde(default = "five")]
    seconds: u32,
}

fn five() -> u32 {
    5
}

/// Records for some seconds what everybody asks of one node (`MONITOR`), and counts who tried to take which lock.
///
/// It changes nothing, and is answered in read-only groups too. But while it runs the node works a quarter up to twice as much
/// for each command, so a console takes one at a time, over a connection of its own, and ends it after 20 MB. What was sent is
/// counted and not kept: no value and no token is in the answer. The node's user needs `+monitor`; not over TLS.
#[utoipa::path(post, path = "/api/v1/groups/{group}/nodes/{node}/monitor-sample", tag = "watch",
    params(("group" = String, Path, description = "The group's name."), ("node" = String, Path, description = "The node's name in the configuration.")),
    request_body(content = SampleBody), responses(Refusals, ActRefusals,
    (status = 200, description = "What clients asked of the node meanwhile", body = MonitorSample),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: the group has no such node, or `seconds` is not from 1 to 10", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`unreachable`: the node cannot be reached. Nothing was touched where it is `audit-unavailable` (it cannot be written down) or `storage-unavailable` (the database of `[storage]` cannot be reached)", body = Problem, content_type = "application/problem+json"),
))]
pub async fn monitor_sample(
    State(state): State<AppState>,
    actor: Actor,
    Path((group, node)): Path<(String, String)>,
    Body(body): Body<SampleBody>,
) -> Result<Json<MonitorSample>, ApiError> {
    let how_long = Duration::from_secs(body.seconds.into());
    let operations = &state.operations;
    let sample = operations.monitor_sample(&actor, &group, &node, how_long);
    Ok(Json(sample.await?))
}
