//! `POST …/acquire`, `extend`, `release`, `force-release`: the verbs that change something.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{Fault, Fingerprint, Format, NodeAct, NodeAnswer, Released, Timestamp};
use crate::server::api::extract::{Body, LockParams, LockPath};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::operations::{AcquireRequest, Acquired, Extended};
use crate::server::state::AppState;

/// What an acquire asks for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcquireBody {
    /// The lease in milliseconds.
    #[schema(minimum = 10)]
    ttl_ms: u64,
    /// How long to wait for the lock, in milliseconds; 0 or absent: one try.
    #[serde(default)]
    wait_ms: Option<u64>,
    /// Who wants it, readable for everybody.
    #[serde(default)]
    label: Option<String>,
    /// The layout to write: `plain` (default), `redisson`, `redisson-fair` or `legacy-timestamp`.
    #[serde(default)]
    format: Option<Format>,
    /// One's own token: a lock that it already holds is extended (Redisson's is entered once more).
    #[serde(default)]
    token: Option<String>,
    /// Renew the lease at a third of it, until it is released or the longest hold is over.
    #[serde(default)]
    auto_renew: bool,
}

/// What an extend asks for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendBody {
    /// The owner's token.
    token: String,
    /// The new lease in milliseconds, from now.
    #[schema(minimum = 10)]
    ttl_ms: u64,
}

/// What a release asks for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseBody {
    /// The owner's token.
    token: String,
}

/// What a forced release asks for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceReleaseBody {
    /// The fingerprint of the owner that was seen: anybody else is left alone.
    fingerprint: String,
    /// Why the lock is broken.
    reason: String,
    /// In `production`: the lock's name.
    #[serde(default)]
    confirm: Option<String>,
}

/// What a release came to.
#[derive(Serialize, ToSchema)]
pub struct ReleasedBody {
    /// `released`; or `holds`, where a Redisson lock had been entered more than once: its owner holds it still.
    outcome: &'static str,
    /// How often the owner holds it still; absent where it is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<u32>,
    /// What happened on each node.
    nodes: Vec<NodeAct>,
    /// When.
    at: Timestamp,
    /// (After a forced release) what each node showed right afterwards; empty where none shows the lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_after: Option<Vec<NodeAnswer>>,
}

impl ReleasedBody {
    fn of(released: Released, seen_after: Option<Vec<NodeAnswer>>) -> Json<Self> {
        Json(Self {
            outcome: if released.holds.is_some() {
                "holds"
            } else {
                "released"
            },
            holds: released.holds,
            nodes: released.nodes,
            at: released.at,
            seen_after,
        })
    }
}

/// Takes the lock as any client of its format would.
#[utoipa::path(post, path = "/api/v1/groups/{group}/locks/{key}/acquire", tag = "act", request_body = AcquireBody, params(LockParams), responses(
    (status = 201, body = Acquired),
    (status = 409, description = "`held` by somebody else, or `wrong-type`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: a lease of 0 or beyond the longest", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`no-quorum`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn acquire(
    State(state): State<AppState>,
    LockPath(id): LockPath,
    Body(body): Body<AcquireBody>,
) -> Result<(StatusCode, Json<Acquired>), ApiError> {
    let request = AcquireRequest {
        ttl_ms: body.ttl_ms,
        wait_ms: body.wait_ms.unwrap_or(0),
        label: body.label,
        format: body.format.unwrap_or(Format::Plain),
        token: body.token,
        auto_renew: body.auto_renew,
    };
    Ok((
        StatusCode::CREATED,
        Json(state.operations.acquire(&id, &request).await?),
    ))
}

/// Renews a lease with the owner's token.
#[utoipa::path(post, path = "/api/v1/groups/{group}/locks/{key}/extend", tag = "act", request_body = ExtendBody, params(LockParams), responses(
    (status = 200, body = Extended),
    (status = 404, description = "`not-held`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`not-owner`", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`no-quorum`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn extend(
    State(state): State<AppState>,
    LockPath(id): LockPath,
    Body(body): Body<ExtendBody>,
) -> Result<Json<Extended>, ApiError> {
    Ok(Json(
        state
            .operations
            .extend(&id, &body.token, body.ttl_ms)
            .await?,
    ))
}

/// Releases a lock with the owner's token.
#[utoipa::path(post, path = "/api/v1/groups/{group}/locks/{key}/release", tag = "act", request_body = ReleaseBody, params(LockParams), responses(
    (status = 200, body = ReleasedBody),
    (status = 404, description = "`not-held`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`not-owner`", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`no-quorum`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn release(
    State(state): State<AppState>,
    LockPath(id): LockPath,
    Body(body): Body<ReleaseBody>,
) -> Result<Json<ReleasedBody>, ApiError> {
    let released = state.operations.release(&id, &body.token).await?;
    Ok(ReleasedBody::of(released, None))
}

/// Releases somebody else's lock on every node where its owner is still the one that was seen.
#[utoipa::path(post, path = "/api/v1/groups/{group}/locks/{key}/force-release", tag = "act", request_body = ForceReleaseBody, params(LockParams), responses(
    (status = 200, body = ReleasedBody),
    (status = 403, description = "`forbidden`: the group is read-only", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`not-held`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`owner-changed`: nothing was touched", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`confirm-required`, or a blank reason", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`no-quorum`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn force_release(
    State(state): State<AppState>,
    LockPath(id): LockPath,
    Body(body): Body<ForceReleaseBody>,
) -> Result<Json<ReleasedBody>, ApiError> {
    let fingerprint = Fingerprint::parse(&body.fingerprint).ok_or_else(|| Fault::Impossible {
        field: "fingerprint".into(),
        detail: "must be 16 hex digits".into(),
    })?;
    let released = state
        .operations
        .force_release(&id, &fingerprint, &body.reason, body.confirm.as_deref())
        .await?;
    let seen_after = released.seen_after.clone().map(|lock| lock.nodes);
    Ok(ReleasedBody::of(
        released,
        Some(seen_after.unwrap_or_default()),
    ))
}
