//! Error responses that are common to many requests, for the OpenAPI document.

use utoipa::IntoResponses;

use crate::server::api::problem::Problem;

/// Errors of any request.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only used for the OpenAPI document")]
pub enum CommonErrors {
    /// `sign-in-required`: authentication is enabled, and the request has neither an API token
    /// (`Authorization: Bearer …`) nor a session, or one that is unknown or expired.
    #[response(status = 401, content_type = "application/problem+json")]
    SignInRequired(Problem),
    /// `forbidden`: missing permission for this request or group; see `detail`. `outside-keys`: the
    /// name is outside of the group's `keys`, `roots` or `prefixes` (`setting`, `patterns`), or is a
    /// key that the console itself writes (no `patterns`).
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// `uri-too-long`: the URI is longer than that of any valid lock name. URIs over 64 kB receive
    /// this status without a body.
    #[response(status = 414, content_type = "application/problem+json")]
    UriTooLong(Problem),
    /// `too-many-requests`: a limit of this console was reached. `detail` contains its name, such
    /// as `max_connections`, `max_requests`, `max_requests_per_second`, `max_queued_acquires`,
    /// `max_queued_acquires_per_client`, `max_streams` or `max_streams_per_client`. Nothing was
    /// changed. Retry after `Retry-After` (seconds) or `retry_after_ms`.
    #[response(
        status = 429,
        content_type = "application/problem+json",
        headers(("Retry-After" = u64, description = "Seconds, rounded up")),
        example = json!({
            "type": "urn:lockkeeper:problem:too-many-requests", "title": "Too Many Requests", "status": 429,
            "detail": "limit `max_queued_acquires_per_client` reached: 256 acquires of 10.0.0.7 are waiting for their lock",
            "code": "too-many-requests", "advice": "Retry after `retry_after_ms`; nothing was changed.",
            "retry_after_ms": 1000
        })
    )]
    TooMany(Problem),
    /// `headers-too-large`: too many headers, or too many bytes of headers. More than 100 headers,
    /// or more than 128 kB including the URI, receive this status without a body.
    #[response(status = 431, content_type = "application/problem+json")]
    HeadersTooLarge(Problem),
    /// `storage-unavailable`: the database of `[storage]` cannot be reached, so sessions and
    /// idempotency keys cannot be verified. Nothing was changed.
    #[response(status = 503, content_type = "application/problem+json")]
    StorageUnavailable(Problem),
}

/// Additional errors of operations.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only used for the OpenAPI document")]
pub enum MutationErrors {
    /// `bad-request`: the body is not JSON, has a missing, unknown or duplicate field, or a value
    /// of the wrong type (numbers are integers without quotes); or the path contains an invalid `%`
    /// sequence. Nothing was changed.
    #[response(status = 400, content_type = "application/problem+json")]
    BadRequest(Problem),
    /// `forbidden`: missing permission for this operation, group or lock name; or the group is
    /// read-only in the configuration. See `detail`. `outside-keys`: the name is outside of the
    /// group's `keys`, `roots` or `prefixes` (`setting`, `patterns`), or is a key that the console
    /// itself writes (no `patterns`).
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// `request-timeout`: the body did not arrive within `read_timeout` (30 s unless configured).
    #[response(status = 408, content_type = "application/problem+json")]
    RequestTimeout(Problem),
    /// `payload-too-large`: the body is larger than `max_body_bytes` (131072 unless configured),
    /// regardless of the announced length.
    #[response(status = 413, content_type = "application/problem+json")]
    PayloadTooLarge(Problem),
    /// `unsupported-media-type`: the `Content-Type` is not JSON.
    #[response(status = 415, content_type = "application/problem+json")]
    UnsupportedMediaType(Problem),
    /// `audit-unavailable`: the audit log is not writable, and operations that cannot be recorded
    /// are rejected; or `storage-unavailable`: the database of `[storage]` cannot be reached.
    /// Nothing was changed.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(Problem),
}
