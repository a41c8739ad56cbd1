//! `…/groups/{group}/prefixes`: the prefixes under which locks were found.

use axum::Json;
use axum::extract::{Path, State};

use super::error_responses::{CommonErrors, MutationErrors};
use crate::domain::{LockId, LockPrefix, PrefixList, PrefixSettings};
use crate::server::access::Principal;
use crate::server::api::extract::{JsonBody, LockPath};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// Returns the prefixes under which locks of the group were found, at most 1,000, with how they were
/// learned and what an admin decided about them.
#[utoipa::path(get, path = "/api/v1/groups/{group}/prefixes", operation_id = "list_prefixes", tag = "observation",
    params(("group" = String, Path, description = "The group's name.")),
    responses(CommonErrors,
    (status = 200, description = "The prefixes", body = PrefixList),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn prefixes(
    State(state): State<AppState>,
    principal: Principal,
    Path(group): Path<String>,
) -> Result<Json<PrefixList>, ApiError> {
    Ok(Json(state.operations.prefixes(&principal, &group)?))
}

/// Pins, excludes, names or resets a prefix. Requires the role `admin`. The request replaces state and
/// name, and can be repeated. The prefix need not be known.
///
/// `pinned`: a new key with the prefix is always read as soon as a node reports it, if locks of any
/// name are searched for. `excluded`: names with the prefix are not locks, as with `exclude` in the
/// configuration; their locks are not listed from then on. `learned`: neither. If a name has several
/// of these prefixes, `excluded` applies.
#[utoipa::path(post, path = "/api/v1/groups/{group}/prefixes/{prefix}", operation_id = "change_prefix", tag = "operations", request_body = PrefixSettings,
    params(("group" = String, Path, description = "The group's name."), ("prefix" = String, Path, description = "The prefix: one percent-encoded segment, at most 1,024 bytes.")),
    responses(CommonErrors, MutationErrors,
    (status = 200, description = "The prefix after the change", body = LockPrefix),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: the prefix is empty or too long, the name is too long or has a control character, or 1,000 prefixes are pinned, excluded or named", body = Problem, content_type = "application/problem+json"),
))]
pub async fn change_prefix(
    State(state): State<AppState>,
    principal: Principal,
    LockPath(LockId { group, key: prefix }): LockPath,
    JsonBody(settings): JsonBody<PrefixSettings>,
) -> Result<Json<LockPrefix>, ApiError> {
    let operations = &state.operations;
    let changing = operations.change_prefix(&principal, &group, &prefix, settings);
    Ok(Json(changing.await?))
}
