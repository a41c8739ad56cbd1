//! `POST …/acquire`, `extend`, `release`, `force-release`: the verbs that change something.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::refusals::{ActRefusals, Refusals};
use crate::domain::{
    Fault, Fingerprint, Format, NodeAct, NodeAnswer, Released, SeenHold, Timestamp,
};
use crate::server::access::Actor;
use crate::server::api::extract::{Body, LockParams, LockPath, Repeatable};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::limits::Client;
use crate::server::operations::{AcquireRequest, Acquired, Extended, ForceRelease};
use crate::server::state::AppState;

/// What an acquire asks for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcquireBody {
    /// The lease in whole milliseconds: so long the lock lasts on the nodes unless it is extended. At least 10, at most the
    /// group's `longest_lease` (an hour unless configured). Choose it well above what the work takes, and far above a round
    /// trip to the nodes: what the acquire itself took, and the drift, are taken off. A lease that three round trips to the
    /// nearest majority would use up is refused: 422, with the shortest that works as `min_ttl_ms`.
    #[schema(minimum = 10, example = 30_000)]
    ttl_ms: u64,
    /// How long to wait for the lock, in whole milliseconds, at most 300000 (five minutes); 0, null or absent: one try.
    /// Waiting requests of one console are served in order. Hanging up ends the waiting and leaves nothing behind.
    #[schema(maximum = 300_000, example = 5_000)]
    #[serde(default)]
    wait_ms: Option<u64>,
    /// Who wants it, readable: up to 64 characters. It becomes part of the token and is shown to everybody who sees the
    /// lock, so put no secret into it.
    #[schema(max_length = 64, example = "deploy 7")]
    #[serde(default)]
    label: Option<String>,
    /// The layout to write, which decides whom the lock excludes: `plain` (default; `SET key token NX PX ttl`: redsync,
    /// node-redlock, redis-py, rslock …), `redisson` (its reentrant hash), `redisson-fair` (with its queue), or
    /// `legacy-timestamp` (a key whose value is the time at which it ends). Other formats of the list are recognised where
    /// they are found, but not acquired in: 422.
    #[serde(default)]
    format: Option<Format>,
    /// One's own token instead of a fresh one: 1 to 512 bytes, unguessable, used by nobody else, and not again once it was
    /// released, its acquire failed or was hung up on: a node that was out of reach may still be told of the release. After a
    /// failure or a hang-up it is taken back where a node said that it had not been there before; what a node did not answer
    /// in time ends with its lease, or with a release of this token, which is worth asking for after a 503. Where it
    /// already holds the lock, a `plain` lock is extended to `ttl_ms` if that is longer, and a Redisson lock is entered
    /// once more (and is to be released as often).
    #[schema(min_length = 1, max_length = 512)]
    #[serde(default)]
    token: Option<String>,
    /// Let this console renew the lease whenever a third of it has passed, until the lock is released, somebody else has it,
    /// or `longest_hold` or `most_extensions` of the group is reached. It is renewed whether or not the client still lives,
    /// and no longer once the console ends: the lock then ends with its lease. If it is lost before it is released, a `lost`
    /// event says so. 429 where the console keeps as many locks as it can.
    #[serde(default)]
    auto_renew: bool,
}

/// What an extend asks for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendBody {
    /// The owner's token, as the acquire answered it: 1 to 512 bytes.
    #[schema(min_length = 1, max_length = 512)]
    token: String,
    /// The new lease in whole milliseconds, from now: at least 10, at most the group's `longest_lease`. A lease
    /// never becomes shorter: where more than that is left, more stays, and the answer's `validity_ms` is this one's.
    #[schema(minimum = 10, example = 30_000)]
    ttl_ms: u64,
}

/// What a release asks for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseBody {
    /// The owner's token, as the acquire answered it: 1 to 512 bytes.
    #[schema(min_length = 1, max_length = 512)]
    token: String,
}

/// What a forced release asks for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceReleaseBody {
    /// The fingerprint of the owner that was seen: anybody else is left alone.
    #[schema(
        min_length = 16,
        max_length = 16,
        pattern = "^[0-9a-f]{16}$",
        example = "d3c19a0b5e6f7788"
    )]
    fingerprint: String,
    /// Why the lock is broken.
    reason: String,
    /// The lock's name: in `production`, and everywhere for formats whose release does harm. What harm, `confirm-required` says.
    #[serde(default)]
    confirm: Option<String>,
    /// The hold that was seen, with fields of the lock as they were. The fingerprint alone does not tell one hold of an owner
    /// that writes the same bytes each time (a thread, a process) from its next.
    #[serde(default)]
    seen: SeenHold,
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
            outcome: released.outcome(),
            holds: released.holds,
            nodes: released.nodes,
            at: released.at,
            seen_after,
        })
    }
}

/// Takes the lock as any client of its format would: on all nodes at once, and only if a majority gives it in time.
///
/// Rely on the lock until `expires_at` and no longer. Whatever was taken is given back on every node when it was not won: after
/// 409, 503 and a client that hung up.
#[utoipa::path(post, path = "/api/v1/groups/{group}/locks/{key}/acquire", tag = "act",
    request_body(content = AcquireBody, examples(
        ("one try" = (value = json!({"ttl_ms": 30_000, "label": "deploy 7"}))),
        ("waiting" = (value = json!({"ttl_ms": 30_000, "wait_ms": 5_000}))),
        ("kept by the console" = (value = json!({"ttl_ms": 30_000, "auto_renew": true}))),
        ("with Redisson clients" = (value = json!({"ttl_ms": 30_000, "format": "redisson"}))),
    )),
    params(LockParams, ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
        pattern = "^[!-~]{1,255}$", example = "8e03978e-40d5-43e8-bc93-6894a57f9324",
        description = "Makes a repeated acquire safe: the same key with the same request on the same lock gives the first \
            answer again, until its `expires_at` (with `auto_renew` until the longest hold is over), with the `validity_ms` \
            and `expires_at` of now. Once the lock was released or lost the answer is 410 `hold-ended`, so that a repetition \
            that comes late takes no lock. Requests at the same time join one attempt, which goes on while one of them waits. \
            `Idempotency-Replayed: true` marks what another request acquired. Failures are not remembered. The \
            request is compared as it is understood: order and spaces of its JSON do not count. With another request on \
            the same lock: 422 `impossible`. 1 to 255 visible ASCII characters, and unguessable (a UUID): who knows it \
            can ask for the token. The console remembers a bounded number, and forgets them when it restarts; then, a \
            repetition meets its own lock: 409 `held`.")),
    responses(Refusals, ActRefusals,
    (status = 201, description = "The lock is held under the token of the answer", body = Acquired, headers(("Idempotency-Replayed" = Option<String>, description = "`true` where another request with the same `Idempotency-Key` did the acquiring"))),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`held` by somebody else: `owner`, `lease_ms` (null where it has none or nobody has a quorum) and `retry_after_ms` say more; or `wrong-type`: the key holds something that is not a lock of this format. Nothing of ours is left", body = Problem, content_type = "application/problem+json",
        headers(("Retry-After" = u64, description = "With `held`: seconds, rounded up")),
        example = json!({
            "type": "urn:lockkeeper:problem:held", "title": "Conflict", "status": 409, "detail": "the lock is held by somebody else",
            "code": "held", "advice": "Try again after `retry_after_ms`.", "lease_ms": 26_000, "retry_after_ms": 26_000,
            "owner": {"fingerprint": "d3c19a0b5e6f7788", "label": "api-3", "format": "plain"},
            "nodes": [{"node": "a", "outcome": "other-owner", "owner": {"fingerprint": "d3c19a0b5e6f7788", "label": "api-3", "format": "plain"}}]
        })),
    (status = 410, description = "`hold-ended`: the lock that a request with the same `Idempotency-Key` acquired was released, lost or expired; stop relying on it. Nothing was acquired", body = Problem, content_type = "application/problem+json",
        headers(("Idempotency-Replayed" = String, description = "`true`"))),
    (status = 422, description = "`impossible`, and `field` says which: `ttl_ms` below 10, too short for the round trips to the nodes (`min_ttl_ms` is the shortest that works) or beyond the longest lease, `wait_ms`, `label`, `token` or `key` too long, a `format` that is not acquired in, an `Idempotency-Key` that is no key or stands for another request", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`no-quorum`: too few nodes took part in time. What was taken was given back; where a node could not be reached, this goes on in the background until the lease has ended. Nothing was touched where it is `audit-unavailable` (it cannot be written down) or `storage-unavailable` (the database of `[storage]` cannot be reached)", body = Problem, content_type = "application/problem+json"),
))]
pub async fn acquire(
    State(state): State<AppState>,
    actor: Actor,
    client: Client,
    LockPath(id): LockPath,
    Repeatable(key): Repeatable,
    Body(body): Body<AcquireBody>,
) -> Result<Response, ApiError> {
    let request = AcquireRequest {
        ttl_ms: body.ttl_ms,
        wait_ms: body.wait_ms.unwrap_or(0),
        label: body.label,
        format: body.format.unwrap_or(Format::Plain),
        token: body.token,
        auto_renew: body.auto_renew,
    };
    let _while_it_waits = state.limits.wait(client, request.wait_ms)?;
    let waits = request.wait_ms > 0;
    let acquiring =
        state
            .repeats
            .acquire(&state.operations, actor.clone(), key.as_ref(), id, request);
    let given = if waits {
        state.access.while_admitted(&actor, acquiring).await
    } else {
        acquiring.await
    };
    const REPLAYED: [(&str, &str); 1] = [("idempotency-replayed", "true")];
    let given = match given {
        Ok(given) => given,
        Err(fault @ Fault::HoldEnded { .. }) => {
            return Ok((REPLAYED, ApiError::from(fault)).into_response());
        }
        Err(fault) => return Err(fault.into()),
    };
    let replayed = given.is_repeated.then_some(REPLAYED);
    Ok((StatusCode::CREATED, replayed, Json(&given.acquired)).into_response())
}

/// Renews a lease with the owner's token: on every node where it is the owner's, and only counted if that is a majority in time.
///
/// With a quorum, nodes that lost the lock (they came back empty) are given it again: their outcome is `acquired`.
///
/// After 503 the lease is not what was asked for, and nowhere shorter than it was: extend again, or stop relying on it when
/// the last `expires_at` that was answered has passed.
#[utoipa::path(post, path = "/api/v1/groups/{group}/locks/{key}/extend", tag = "act", request_body = ExtendBody, params(LockParams), responses(Refusals, ActRefusals,
    (status = 200, description = "The lease is as long as asked for, from now on", body = Extended),
    (status = 404, description = "`not-held`: it expired or was released, stop relying on it; or `unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`not-owner`: somebody else has it, and nothing of theirs was touched; or `wrong-type`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`, and `field` says which: `token` empty or longer than 512 bytes, `ttl_ms` below 10, too short for the round trips to the nodes (`min_ttl_ms` is the shortest that works) or beyond the longest lease", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`no-quorum`: too few nodes took part in time. Nothing was touched where it is `storage-unavailable` (the database of `[storage]` cannot be reached)", body = Problem, content_type = "application/problem+json"),
))]
pub async fn extend(
    State(state): State<AppState>,
    actor: Actor,
    LockPath(id): LockPath,
    Body(body): Body<ExtendBody>,
) -> Result<Json<Extended>, ApiError> {
    Ok(Json(
        state
            .operations
            .extend(&actor, &id, &body.token, body.ttl_ms)
            .await?,
    ))
}

/// Releases a lock with the owner's token, on every node where it is the owner's. A Redisson lock is left once, and is free
/// when it was left as often as it was entered.
#[utoipa::path(post, path = "/api/v1/groups/{group}/locks/{key}/release", tag = "act", request_body = ReleaseBody, params(LockParams), responses(Refusals, ActRefusals,
    (status = 200, description = "What was done on each node", body = ReleasedBody),
    (status = 404, description = "`not-held`: it expired or was released before; or `unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`not-owner`: somebody else has it, and nothing of theirs was touched; what was left of the own hold is released", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: `token` empty or longer than 512 bytes", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`no-quorum`: too few nodes answered; the lock ends with its lease at the latest. `partly-released`: so few nodes were reached that the lock may be held on a quorum still (`released`, `remaining`, `quorum`, `nodes`); the others are told in the background for five minutes, and it ends with its lease at the latest. Nothing was touched where it is `storage-unavailable` (the database of `[storage]` cannot be reached)", body = Problem, content_type = "application/problem+json"),
))]
pub async fn release(
    State(state): State<AppState>,
    actor: Actor,
    LockPath(id): LockPath,
    Body(body): Body<ReleaseBody>,
) -> Result<Json<ReleasedBody>, ApiError> {
    let released = state.operations.release(&actor, &id, &body.token).await?;
    Ok(ReleasedBody::of(released, None))
}

/// Releases somebody else's lock on every node where its owner is still the one that was seen.
///
/// 200 says that its owner has no quorum left, whatever the nodes hold that could not be reached. They are released as they come
/// back, for up to an hour and with the same comparison; the audit has a `complete-release` for it.
#[utoipa::path(post, path = "/api/v1/groups/{group}/locks/{key}/force-release", tag = "act", request_body = ForceReleaseBody, params(LockParams), responses(Refusals, ActRefusals,
    (status = 200, description = "What was done on each node", body = ReleasedBody),
    (status = 404, description = "`not-held`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`owner-changed`: somebody else has it; `hold-changed`: the owner that was seen renewed, entered or acquired it again since. Nothing was touched", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`confirm-required`; `possible-lock`: it could be anything, a pin in the configuration makes it a lock; `not-releasable`: nobody can release a lock of that format for its owner; or a blank reason", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`no-quorum`; or `partly-released`: so few nodes were reached that its owner may hold a quorum still (`released`, `remaining`, `quorum`, `nodes`). It is completed as the nodes come back. Nothing was touched where it is `audit-unavailable` (it cannot be written down) or `storage-unavailable` (the database of `[storage]` cannot be reached)", body = Problem, content_type = "application/problem+json"),
))]
pub async fn force_release(
    State(state): State<AppState>,
    actor: Actor,
    LockPath(id): LockPath,
    Body(body): Body<ForceReleaseBody>,
) -> Result<Json<ReleasedBody>, ApiError> {
    let fingerprint = Fingerprint::parse(&body.fingerprint).ok_or_else(|| Fault::Impossible {
        field: "fingerprint".into(),
        detail: "must be 16 hex digits".into(),
        min_ttl_ms: None,
    })?;
    let released = state
        .operations
        .force_release(
            &actor,
            &id,
            ForceRelease {
                fingerprint: &fingerprint,
                seen: body.seen,
                reason: &body.reason,
                confirm: body.confirm.as_deref(),
            },
        )
        .await?;
    let seen_after = released.seen_after.clone().map(|lock| lock.nodes);
    Ok(ReleasedBody::of(
        released,
        Some(seen_after.unwrap_or_default()),
    ))
}
