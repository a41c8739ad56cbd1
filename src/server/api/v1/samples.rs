//! `POST …/nodes/{node}/monitor-sample`: records failed acquires with `MONITOR` for a few seconds.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use utoipa::ToSchema;

use super::error_responses::{CommonErrors, MutationErrors};
use crate::domain::MonitorSample;
use crate::server::access::Principal;
use crate::server::api::extract::JsonBody;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// A request for a sample.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleBody {
    /// The duration in seconds: 1 to 10, default 5.
    #[schema(minimum = 1, maximum = 10, example = 5)]
    #[serde(default = "default_seconds")]
    seconds: u32,
}

fn default_seconds() -> u32 {
    5
}

/// Records the commands of all clients of one node for some seconds (`MONITOR`), and counts the
/// attempts to acquire each lock.
///
/// It changes nothing and is available in read-only groups too. While it runs, the node needs 25 to
/// 100 % more CPU time per command. A console therefore takes one sample at a time, over a separate
/// connection, and ends it after 20 MB. Commands are counted and discarded; the response contains
/// no value and no token. The node's user needs `+monitor`. TLS is not supported.
#[utoipa::path(post, path = "/api/v1/groups/{group}/nodes/{node}/monitor-sample", operation_id = "create_monitor_sample", tag = "observation",
    params(("group" = String, Path, description = "The group's name."), ("node" = String, Path, description = "The node's name in the configuration.")),
    request_body(content = SampleBody), responses(CommonErrors, MutationErrors,
    (status = 200, description = "The commands that clients sent to the node", body = MonitorSample),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: the group has no such node, or `seconds` is not from 1 to 10", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`unreachable`: the node cannot be reached; `audit-unavailable` (the audit log is not writable) or `storage-unavailable` (the database of `[storage]` cannot be reached): nothing was done", body = Problem, content_type = "application/problem+json"),
))]
pub async fn monitor_sample(
    State(state): State<AppState>,
    principal: Principal,
    Path((group, node)): Path<(String, String)>,
    JsonBody(body): JsonBody<SampleBody>,
) -> Result<Json<MonitorSample>, ApiError> {
    let duration = Duration::from_secs(body.seconds.into());
    let operations = &state.operations;
    let sample = operations.monitor_sample(&principal, &group, &node, duration);
    Ok(Json(sample.await?))
}
