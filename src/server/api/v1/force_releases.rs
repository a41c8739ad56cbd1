//! `POST /api/v1/force-releases`: many locks released by force in one go, or a look at what would come of it.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::refusals::{ActRefusals, Refusals};
use crate::domain::{Fingerprint, LockId, NodeAct, NodeAnswer, Timestamp};
use crate::server::access::Actor;
use crate::server::api::extract::Body;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::operations::{ForceReleases, ForcedItem};
use crate::server::state::AppState;

/// What forced releases came to.
#[derive(Serialize, ToSchema)]
pub struct ForcedBody {
    /// Whether nothing was done.
    dry_run: bool,
    /// How many were released, or would be.
    released: u32,
    /// What became of each, in the order that was asked for.
    items: Vec<ForcedOne>,
}

/// What became of one.
#[derive(Serialize, ToSchema)]
pub struct ForcedOne {
    /// Which lock.
    #[serde(flatten)]
    id: LockId,
    /// For which owner.
    fingerprint: Fingerprint,
    /// `released`; `releasable`, where nothing was to be done; or the `code` of the problem: `partly-released` where too few nodes
    /// are reached, also where nothing was to be done.
    outcome: &'static str,
    /// What happened on each node; where there is a problem, it has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<NodeAct>>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    /// What each node showed right afterwards; empty where none shows the lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_after: Option<Vec<NodeAnswer>>,
    /// Why it was not released: what a single `force-release` would have answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

/// Releases many locks by force, each exactly as if it were asked for alone: its owner compared on every node, refused where it
/// changed, logged. 200 says that all were dealt with, and each item what became of it.
///
/// Whoever hangs up stops it: releases that were begun come to their end, and no other is begun.
#[utoipa::path(post, path = "/api/v1/force-releases", tag = "act", request_body = ForceReleases, responses(Refusals, ActRefusals,
    (status = 200, description = "What became of each lock, in the order of the request", body = ForcedBody),
    (status = 422, description = "`impossible`: `items` is empty, too long, or names an owner's lock twice, a `fingerprint` is not 16 hex digits, or the reason is blank. Nothing was touched", body = Problem, content_type = "application/problem+json"),
))]
pub async fn force_releases(
    State(state): State<AppState>,
    actor: Actor,
    Body(body): Body<ForceReleases>,
) -> Result<Json<ForcedBody>, ApiError> {
    let dry_run = body.dry_run;
    let forced = state.operations.force_releases(&actor, body).await?;
    let released = forced.iter().filter(|item| item.end.is_ok()).count();
    Ok(Json(ForcedBody {
        dry_run,
        released: u32::try_from(released).unwrap_or(u32::MAX),
        items: forced
            .into_iter()
            .map(|item| ForcedOne::of(item, dry_run))
            .collect(),
    }))
}

impl ForcedOne {
    fn of(item: ForcedItem, dry_run: bool) -> Self {
        let ForcedItem {
            id,
            fingerprint,
            end,
        } = item;
        match end {
            Ok(released) => {
                let (outcome, seen_after) = if dry_run {
                    ("releasable", None)
                } else {
                    let seen_after = released.seen_after.as_ref().map(|lock| lock.nodes.clone());
                    (released.outcome(), Some(seen_after.unwrap_or_default()))
                };
                Self {
                    id,
                    fingerprint,
                    outcome,
                    nodes: Some(released.nodes),
                    at: Some(released.at),
                    seen_after,
                    problem: None,
                }
            }
            Err(fault) => Self {
                id,
                fingerprint,
                outcome: fault.code(),
                nodes: None,
                at: None,
                seen_after: None,
                problem: Some(ApiError::Fault(fault).problem()),
            },
        }
    }
}
