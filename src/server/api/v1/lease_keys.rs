//! `…/lease-keys`: the keys that end with the lease of a lock in etcd.

use axum::Json;
use axum::extract::State;

use super::error_responses::CommonErrors;
use crate::domain::LeaseKeys;
use crate::server::access::Principal;
use crate::server::api::extract::{LockParams, LockPath};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// Returns the keys of the lease that a lock in etcd is held with, read now. All of them are deleted
/// by a `force-release` with `revoke_lease`. Empty for a lock without a lease, and for other
/// services. Requires the role `operator`.
#[utoipa::path(get, path = "/api/v1/groups/{group}/locks/{key}/lease-keys", operation_id = "list_lease_keys", tag = "observation", params(LockParams), responses(CommonErrors,
    (status = 200, description = "The keys of the lease", body = LeaseKeys),
    (status = 400, description = "`bad-request`: the path has a broken `%` sequence", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`not-observed`: the lock is not held; or `unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: the key is longer than 16384 bytes", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`unreachable`: no server replied", body = Problem, content_type = "application/problem+json"),
))]
pub async fn lease_keys(
    State(state): State<AppState>,
    principal: Principal,
    LockPath(id): LockPath,
) -> Result<Json<LeaseKeys>, ApiError> {
    Ok(Json(state.operations.lease_keys(&principal, &id).await?))
}
