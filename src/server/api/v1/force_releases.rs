//! `POST /api/v1/force-releases`: force-releases many locks, or checks what would be released.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::error_responses::{CommonErrors, MutationErrors};
use crate::domain::release_advice::AdviceCounts;
use crate::domain::{AdviceLevel, Fingerprint, LockId, NodeObservation, NodeResult, Timestamp};
use crate::server::access::Principal;
use crate::server::api::extract::JsonBody;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::operations::{ForceItemResult, ForceReleases};
use crate::server::state::AppState;

/// The result of a bulk force-release.
#[derive(Serialize, ToSchema)]
pub struct ForceReleasesResponse {
    /// Whether this was a dry run.
    dry_run: bool,
    /// The number of locks that were or would be released.
    released: u32,
    /// In a dry run, the number of locks that would be released, by whether their owners show signs
    /// of life.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<AdviceCounts>,
    /// The result for each item, in the order of the request.
    items: Vec<ForceReleaseItem>,
}

/// The result for one item.
#[derive(Serialize, ToSchema)]
pub struct ForceReleaseItem {
    /// The lock.
    #[serde(flatten)]
    id: LockId,
    /// The expected owner.
    fingerprint: Fingerprint,
    /// `released`; `releasable` in a dry run; or the `code` of the problem. `partly-released` means
    /// that too few nodes were reached, or are reachable in a dry run.
    outcome: &'static str,
    /// In a dry run, whether the owner shows signs of life, as in the `release_advice` of the lock;
    /// absent if it would not be released.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<AdviceLevel>,
    /// The result on each node. If there is a problem, it contains them.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<NodeResult>>,
    /// The time of the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    /// What each node showed immediately after the release; empty if no node shows the lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_after: Option<Vec<NodeObservation>>,
    /// Why the lock was not released: the error response of a single `force-release`.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

/// Force-releases many locks. Each is handled like a single `force-release`: the owner is compared
/// on every node, the release is rejected if it changed, and the result is recorded in the audit
/// log. 200 means that all items were processed; see the result of each.
///
/// If the client disconnects, releases in progress are completed, and no further ones are started.
#[utoipa::path(post, path = "/api/v1/force-releases", operation_id = "force_release_locks", tag = "operations", request_body = ForceReleases, responses(CommonErrors, MutationErrors,
    (status = 200, description = "The result for each lock, in the order of the request", body = ForceReleasesResponse),
    (status = 422, description = "`impossible`: `items` is empty, too long, or contains a lock of an owner twice; a `fingerprint` is not 16 hex digits; or the reason is blank. Nothing was changed", body = Problem, content_type = "application/problem+json"),
))]
pub async fn force_releases(
    State(state): State<AppState>,
    principal: Principal,
    JsonBody(body): JsonBody<ForceReleases>,
) -> Result<Json<ForceReleasesResponse>, ApiError> {
    let dry_run = body.dry_run;
    let forced = state
        .operations
        .bulk_force_release(&principal, body)
        .await?;
    let released = forced.iter().filter(|item| item.result.is_ok()).count();
    Ok(Json(ForceReleasesResponse {
        dry_run,
        released: u32::try_from(released).unwrap_or(u32::MAX),
        advice: dry_run.then(|| AdviceCounts::of(forced.iter().filter_map(|item| item.advice))),
        items: forced
            .into_iter()
            .map(|item| ForceReleaseItem::from_item(item, dry_run))
            .collect(),
    }))
}

impl ForceReleaseItem {
    fn from_item(item: ForceItemResult, dry_run: bool) -> Self {
        let ForceItemResult {
            id,
            fingerprint,
            result: end,
            advice,
        } = item;
        match end {
            Ok(released) => {
                let (outcome, observed_after) = if dry_run {
                    ("releasable", None)
                } else {
                    let observed_after = released
                        .observed_after
                        .as_ref()
                        .map(|lock| lock.nodes.clone());
                    (released.outcome(), Some(observed_after.unwrap_or_default()))
                };
                Self {
                    id,
                    fingerprint,
                    outcome,
                    advice,
                    nodes: Some(released.nodes),
                    at: Some(released.at),
                    observed_after,
                    problem: None,
                }
            }
            Err(error) => Self {
                id,
                fingerprint,
                outcome: error.code(),
                advice,
                nodes: None,
                at: None,
                observed_after: None,
                problem: Some(ApiError::Operation(error).problem()),
            },
        }
    }
}
