//! `POST …/acquire`, `extend`, `release` and `force-release`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::error_responses::{CommonErrors, MutationErrors};
use crate::domain::operation_error::{InvalidValue, RequestError};
use crate::domain::{
    Fingerprint, Format, NodeObservation, NodeResult, ObservedHold, OperationError, ReleaseMethod,
    ReleaseResult, Timestamp,
};
use crate::server::access::Principal;
use crate::server::api::extract::{IdempotencyKeyHeader, JsonBody, LockParams, LockPath};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::limits::ClientKey;
use crate::server::operations::{AcquireRequest, AcquiredLock, ExtendedLease, ForceReleaseRequest};
use crate::server::state::AppState;

/// An acquire request.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcquireBody {
    /// The lease in milliseconds, after which the lock expires unless it is extended. At least 10,
    /// at most the group's `max_lease` (one hour unless configured). Choose it well above the
    /// duration of the work and far above a round trip to the nodes: the duration of the acquire
    /// and the drift are subtracted. A lease that three round trips to the nearest majority would
    /// consume is rejected with 422 and the shortest possible lease as `min_ttl_ms`.
    #[schema(minimum = 10, example = 30_000)]
    ttl_ms: u64,
    /// How long to wait for the lock in milliseconds, at most 300000 (five minutes). With 0, null
    /// or no value there is a single attempt. Waiting requests of one console are served in order.
    /// If the client disconnects, waiting ends and nothing remains on the nodes.
    #[schema(maximum = 300_000, example = 5_000)]
    #[serde(default)]
    wait_ms: Option<u64>,
    /// A readable name of the client, up to 64 characters. It becomes part of the token and is
    /// visible to every user who can see the lock, so it must not contain secrets.
    #[schema(max_length = 64, example = "deploy 7")]
    #[serde(default)]
    label: Option<String>,
    /// The format of the lock, which determines the clients that it excludes: `plain` (default;
    /// `SET key token NX PX ttl`: redsync, node-redlock, redis-py, rslock …), `redisson` (reentrant
    /// hash), `redisson-fair` (with a queue), or `legacy-timestamp` (a key whose value is its
    /// expiry time). Other formats are recognized, but cannot be acquired: 422.
    #[serde(default)]
    format: Option<Format>,
    /// A caller-supplied token instead of a generated one: 1 to 512 bytes, unguessable, and not
    /// used by another client. Do not reuse it after a release, a failed acquire or a disconnect:
    /// an unreachable node may still receive a delayed release. After a failure or disconnect, the
    /// acquire is rolled back on nodes that reported that the token did not hold the lock before.
    /// On nodes that did not reply in time, the lock expires with its lease or is released by a
    /// release with this token, which is recommended after a 503. If the token already holds the
    /// lock, a `plain` lock is extended to `ttl_ms` if that is longer, and a Redisson lock is
    /// re-entered (and must be released as often).
    #[schema(min_length = 1, max_length = 512)]
    #[serde(default)]
    token: Option<String>,
    /// Renew the lease automatically, each time a third of it has passed, until the lock is
    /// released, another owner has it, or the group's `max_hold` or `max_renewals` is reached.
    /// Auto-renewal does not depend on the client, and ends with the console; the lock then expires
    /// with its lease. If the lock is lost before it is released, a `lost` event is sent. 429 if
    /// the console already renews the maximum number of locks.
    #[serde(default)]
    auto_renew: bool,
}

/// An extend request.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendBody {
    /// The owner's token, as returned by the acquire: 1 to 512 bytes.
    #[schema(min_length = 1, max_length = 512)]
    token: String,
    /// The new lease in milliseconds from now: at least 10, at most the group's `max_lease`. A
    /// lease is never shortened: if the remaining lease is longer, it stays, and the returned
    /// `validity_ms` is that of this request.
    #[schema(minimum = 10, example = 30_000)]
    ttl_ms: u64,
}

/// A release request.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseBody {
    /// The owner's token, as returned by the acquire: 1 to 512 bytes.
    #[schema(min_length = 1, max_length = 512)]
    token: String,
}

/// A force-release request.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceReleaseBody {
    /// The fingerprint of the expected owner. The lock is not released if it has another owner.
    #[schema(
        min_length = 16,
        max_length = 16,
        pattern = "^[0-9a-f]{16}$",
        example = "d3c19a0b5e6f7788"
    )]
    fingerprint: String,
    /// The reason, recorded in the audit log.
    reason: String,
    /// The lock's name. Required in `production`, and for formats whose forced release can do harm;
    /// the `confirm-required` error describes the harm.
    #[serde(default)]
    confirm: Option<String>,
    /// The hold that the client observed, with fields of the lock as they were. The request is
    /// rejected if the owner has acquired or extended the lock since. The fingerprint alone cannot
    /// show this for an owner that writes the same bytes each time (a thread, a process).
    #[serde(default)]
    expected_hold: ObservedHold,
    /// (etcd) Revoke the lease of the lock, which deletes all of its keys and which an owner can
    /// notice, instead of deleting only the key of the lock. The value is the `fingerprint` of `GET
    /// …/lease-keys`. The request is rejected if the lease has other keys since.
    #[schema(min_length = 16, max_length = 16, pattern = "^[0-9a-f]{16}$")]
    #[serde(default)]
    revoke_lease: Option<String>,
    /// (PostgreSQL) Cancel the statement that the connection of the owner runs, instead of ending the
    /// connection. This aborts its transaction and releases the locks of the transaction. A lock of
    /// the session stays, and the request fails with `cancel-failed`. Not together with
    /// `revoke_lease`.
    #[serde(default)]
    cancel_statement: bool,
}

impl ForceReleaseBody {
    fn method(&self) -> Result<ReleaseMethod, OperationError> {
        let Some(keys) = &self.revoke_lease else {
            return Ok(match self.cancel_statement {
                true => ReleaseMethod::CancelStatement,
                false => ReleaseMethod::Lock,
            });
        };
        if self.cancel_statement {
            return Err(OperationError::BadRequest {
                cause: RequestError::InvalidBody {
                    text: "`revoke_lease` and `cancel_statement` exclude each other".to_owned(),
                },
            });
        }
        let keys = Fingerprint::parse(keys).ok_or_else(|| {
            OperationError::invalid_field("revoke_lease", InvalidValue::NotAFingerprint)
        })?;
        Ok(ReleaseMethod::RevokeLease(keys))
    }
}

/// The result of a release.
#[derive(Serialize, ToSchema)]
pub struct ReleaseResponse {
    /// `released`, or `holds` if a Redisson lock was entered more than once and its owner still
    /// holds it.
    outcome: &'static str,
    /// How many times the owner still holds the lock; absent if it is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    hold_count: Option<u32>,
    /// The result on each node.
    nodes: Vec<NodeResult>,
    /// The time of the release.
    at: Timestamp,
    /// What each node showed immediately after a forced release; empty if no node shows the lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_after: Option<Vec<NodeObservation>>,
}

impl ReleaseResponse {
    fn new(released: ReleaseResult, observed_after: Option<Vec<NodeObservation>>) -> Json<Self> {
        Json(Self {
            outcome: released.outcome(),
            hold_count: released.hold_count,
            nodes: released.nodes,
            at: released.at,
            observed_after,
        })
    }
}

/// Acquires the lock as any client of its format would: on all nodes in parallel, and only if a
/// majority grants it in time.
///
/// The lock is valid until `expires_at`. A failed acquire is rolled back on every node: after 409,
/// 503 and a client disconnect.
#[utoipa::path(post, path = "/api/v1/groups/{group}/locks/{key}/acquire", operation_id = "acquire_lock", tag = "operations",
    request_body(content = AcquireBody, examples(
        ("single attempt" = (value = json!({"ttl_ms": 30_000, "label": "deploy 7"}))),
        ("waiting" = (value = json!({"ttl_ms": 30_000, "wait_ms": 5_000}))),
        ("auto-renewal" = (value = json!({"ttl_ms": 30_000, "auto_renew": true}))),
        ("with Redisson clients" = (value = json!({"ttl_ms": 30_000, "format": "redisson"}))),
    )),
    params(LockParams, ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
        pattern = "^[!-~]{1,255}$", example = "8e03978e-40d5-43e8-bc93-6894a57f9324",
        description = "Makes retries of an acquire safe. The same key with the same request on the same lock returns the first \
            response again, with current values of `validity_ms` and `expires_at`, until its `expires_at` (with `auto_renew` \
            until `max_hold`). After the lock was released or lost, the response is 410 `hold-ended`, so that a late retry \
            acquires nothing. Concurrent requests share one attempt, which continues while one of them waits. \
            `Idempotency-Replayed: true` marks a response that another request caused. Failures are not stored. \
            Requests are compared after parsing: the order of fields and white space do not matter. The same key with a \
            different request on the same lock is rejected with 422 `impossible`. 1 to 255 visible ASCII characters, \
            unguessable (a UUID): anyone who knows the key can obtain the token. Responses are kept in \
            the storage, also across a restart. Their number is bounded: after the oldest was removed, a retry finds its own lock, 409 `held`.")),
    responses(CommonErrors, MutationErrors,
    (status = 201, description = "The lock was acquired with the returned token", body = AcquiredLock, headers(("Idempotency-Replayed" = Option<String>, description = "`true` if another request with the same `Idempotency-Key` acquired the lock"))),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`held`: another owner has the lock; see `owner`, `lease_ms` (null if the lock has no expiry or no owner has a quorum) and `retry_after_ms`. `wrong-type`: the value of the key is not a lock of this format. The attempt was rolled back", body = Problem, content_type = "application/problem+json",
        headers(("Retry-After" = u64, description = "With `held`: seconds, rounded up")),
        example = json!({
            "type": "urn:lockkeeper:problem:held", "title": "Conflict", "status": 409, "detail": "the lock is held by another owner",
            "code": "held", "advice": "Retry after `retry_after_ms`.", "lease_ms": 26_000, "retry_after_ms": 26_000,
            "owner": {"fingerprint": "d3c19a0b5e6f7788", "label": "api-3", "format": "plain"},
            "nodes": [{"node": "a", "outcome": "other-owner", "owner": {"fingerprint": "d3c19a0b5e6f7788", "label": "api-3", "format": "plain"}}]
        })),
    (status = 410, description = "`hold-ended`: the lock that a request with the same `Idempotency-Key` acquired was released, lost or expired. Nothing was acquired", body = Problem, content_type = "application/problem+json",
        headers(("Idempotency-Replayed" = String, description = "`true`"))),
    (status = 422, description = "`impossible`, with the name of the `field`: `ttl_ms` below 10, too short for the round trips to the nodes (`min_ttl_ms` is the minimum) or above the longest lease; `wait_ms`, `label`, `token` or `key` too long; a `format` that cannot be acquired; an `Idempotency-Key` that is malformed or was used for another request", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`no-quorum`: too few nodes replied in time. The attempt was rolled back; for unreachable nodes the rollback continues in the background until the lease has expired. `audit-unavailable` (the audit log is not writable) or `storage-unavailable` (the database of `[storage]` cannot be reached): nothing was changed", body = Problem, content_type = "application/problem+json"),
))]
pub async fn acquire(
    State(state): State<AppState>,
    principal: Principal,
    client: ClientKey,
    LockPath(id): LockPath,
    IdempotencyKeyHeader(key): IdempotencyKeyHeader,
    JsonBody(body): JsonBody<AcquireBody>,
) -> Result<Response, ApiError> {
    let request = AcquireRequest {
        ttl_ms: body.ttl_ms,
        wait_ms: body.wait_ms.unwrap_or(0),
        label: body.label,
        format: body
            .format
            .unwrap_or_else(|| state.operations.default_format(&id.group)),
        token: body.token,
        auto_renew: body.auto_renew,
    };
    let _permit = state.limits.acquire_queue_permit(client, request.wait_ms)?;
    let waits = request.wait_ms > 0;
    let acquiring = state.idempotency.acquire(
        &state.operations,
        principal.clone(),
        key.as_ref(),
        id,
        request,
    );
    let outcome = if waits {
        state
            .access
            .run_while_authorized(&principal, acquiring)
            .await
    } else {
        acquiring.await
    };
    const REPLAYED: [(&str, &str); 1] = [("idempotency-replayed", "true")];
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error @ OperationError::HoldEnded { .. }) => {
            return Ok((REPLAYED, ApiError::from(error)).into_response());
        }
        Err(error) => return Err(error.into()),
    };
    let replayed = outcome.is_replay.then_some(REPLAYED);
    Ok((StatusCode::CREATED, replayed, Json(&outcome.acquired)).into_response())
}

/// Extends a lease with the owner's token on every node where it is the owner. Succeeds only on a
/// majority, in time.
///
/// If a quorum is reached, nodes that lost the lock (they restarted without data) are granted it
/// again, with the outcome `acquired`.
///
/// After a 503 the lease is not extended everywhere, and nowhere shortened: retry, or stop when the
/// last returned `expires_at` has passed.
#[utoipa::path(post, path = "/api/v1/groups/{group}/locks/{key}/extend", operation_id = "extend_lock", tag = "operations", request_body = ExtendBody, params(LockParams), responses(CommonErrors, MutationErrors,
    (status = 200, description = "The lease was extended", body = ExtendedLease),
    (status = 404, description = "`not-held`: the lock expired or was released; or `unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`not-owner`: another owner has the lock, which was not changed; or `wrong-type`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`, with the name of the `field`: `token` empty or longer than 512 bytes; `ttl_ms` below 10, too short for the round trips to the nodes (`min_ttl_ms` is the minimum) or above the longest lease", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`no-quorum`: too few nodes replied in time. `storage-unavailable` (the database of `[storage]` cannot be reached): nothing was changed", body = Problem, content_type = "application/problem+json"),
))]
pub async fn extend(
    State(state): State<AppState>,
    principal: Principal,
    LockPath(id): LockPath,
    JsonBody(body): JsonBody<ExtendBody>,
) -> Result<Json<ExtendedLease>, ApiError> {
    Ok(Json(
        state
            .operations
            .extend(&principal, &id, &body.token, body.ttl_ms)
            .await?,
    ))
}

/// Releases a lock with the owner's token on every node where it is the owner. A Redisson lock is
/// left once, and is free when it was left as often as it was entered.
#[utoipa::path(post, path = "/api/v1/groups/{group}/locks/{key}/release", operation_id = "release_lock", tag = "operations", request_body = ReleaseBody, params(LockParams), responses(CommonErrors, MutationErrors,
    (status = 200, description = "The lock was released, with the result on each node", body = ReleaseResponse),
    (status = 404, description = "`not-held`: the lock expired or was released before; or `unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`not-owner`: another owner has the lock, which was not changed; remains of the caller's own hold were released", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: `token` empty or longer than 512 bytes", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`no-quorum`: too few nodes replied; the lock expires with its lease. `partly-released`: the lock may still be held on a quorum, because too few nodes were reached (`released`, `remaining`, `quorum`, `nodes`); the release is retried in the background for five minutes, and the lock expires with its lease. `storage-unavailable` (the database of `[storage]` cannot be reached): nothing was changed", body = Problem, content_type = "application/problem+json"),
))]
pub async fn release(
    State(state): State<AppState>,
    principal: Principal,
    LockPath(id): LockPath,
    JsonBody(body): JsonBody<ReleaseBody>,
) -> Result<Json<ReleaseResponse>, ApiError> {
    let released = state
        .operations
        .release(&principal, &id, &body.token)
        .await?;
    Ok(ReleaseResponse::new(released, None))
}

/// Releases the lock of another owner on every node where the owner is still the expected one.
///
/// 200 means that the owner no longer has a quorum, regardless of the state of unreachable nodes.
/// These are released when they are reachable again, for up to an hour and with the same
/// comparison; the audit log then contains a `complete-release`.
#[utoipa::path(post, path = "/api/v1/groups/{group}/locks/{key}/force-release", operation_id = "force_release_lock", tag = "operations", request_body = ForceReleaseBody, params(LockParams), responses(CommonErrors, MutationErrors,
    (status = 200, description = "The lock was released, with the result on each node", body = ReleaseResponse),
    (status = 404, description = "`not-held`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`owner-changed`: the lock has another owner; `hold-changed`: the owner has extended, re-entered or re-acquired the lock since; `lease-not-revoked`: the lease has other keys. Nothing was changed. `cancel-failed`: the statement was cancelled, but the lock belongs to the session", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`confirm-required`; `possible-lock`: the key is only a possible lock; configure its format to make it releasable; `not-releasable`: locks of this format can only be released by their owner; `lease-not-revoked`: there is no lease, or not all of its keys are listed; `cancel-failed`: the connection of the owner runs no statement; or the reason is blank", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`no-quorum`; or `partly-released`: the owner may still have a quorum, because too few nodes were reached (`released`, `remaining`, `quorum`, `nodes`). The release is completed when the nodes are reachable again. `audit-unavailable` (the audit log is not writable) or `storage-unavailable` (the database of `[storage]` cannot be reached): nothing was changed", body = Problem, content_type = "application/problem+json"),
))]
pub async fn force_release(
    State(state): State<AppState>,
    principal: Principal,
    LockPath(id): LockPath,
    JsonBody(body): JsonBody<ForceReleaseBody>,
) -> Result<Json<ReleaseResponse>, ApiError> {
    let fingerprint = Fingerprint::parse(&body.fingerprint).ok_or_else(|| {
        OperationError::invalid_field("fingerprint", InvalidValue::NotAFingerprint)
    })?;
    let method = body.method()?;
    let released = state
        .operations
        .force_release(
            &principal,
            &id,
            ForceReleaseRequest {
                fingerprint: &fingerprint,
                expected_hold: body.expected_hold,
                reason: &body.reason,
                confirm: body.confirm.as_deref(),
                method: &method,
            },
        )
        .await?;
    let observed_after = released.observed_after.clone().map(|lock| lock.nodes);
    Ok(ReleaseResponse::new(
        released,
        Some(observed_after.unwrap_or_default()),
    ))
}
