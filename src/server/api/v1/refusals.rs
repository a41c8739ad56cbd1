//! What every request may be refused with, whatever it asks for: it only describes.

use utoipa::IntoResponses;

use crate::server::api::problem::Problem;

/// What a request may meet before anybody looks at what it asks for.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it only describes")]
pub enum Refusals {
    /// `sign-in-required`: the configuration names who may come in, and the request has neither an API token
    /// (`Authorization: Bearer …`) nor a browser's session, or one that is unknown, expired or over.
    #[response(status = 401, content_type = "application/problem+json")]
    SignInRequired(Problem),
    /// `forbidden`: whoever asks may not do that, or not in this group; `detail` says why. `outside-keys`: the name matches none of
    /// the group's `keys` (`patterns`), or is one that the console itself writes (no `patterns`).
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// `address-too-long`: longer than any lock's address. Far longer ones (64 kB) get this status without a body.
    #[response(status = 414, content_type = "application/problem+json")]
    AddressTooLong(Problem),
    /// `too-many-requests`: a limit of this console is reached, and `detail` names it: `connections`, `requests`,
    /// `requests_per_second`, `waiting`, `waiting_per_client`, `streams`, `streams_per_client`. Nothing was touched;
    /// `Retry-After` (seconds) and `retry_after_ms` say when to come back.
    #[response(
        status = 429,
        content_type = "application/problem+json",
        headers(("Retry-After" = u64, description = "Seconds, rounded up")),
        example = json!({
            "type": "urn:lockkeeper:problem:too-many-requests", "title": "Too Many Requests", "status": 429,
            "detail": "the limit `waiting_per_client` is reached: 256 requests of 10.0.0.7 wait for their lock already",
            "code": "too-many-requests", "advice": "Try again after `retry_after_ms`; nothing was changed.",
            "retry_after_ms": 1000
        })
    )]
    TooMany(Problem),
    /// `headers-too-large`: too many headers, or too many bytes of them. More than 100, or more than 128 kB together with
    /// the address, get this status without a body.
    #[response(status = 431, content_type = "application/problem+json")]
    HeadersTooLarge(Problem),
    /// `storage-unavailable`: the database of `[storage]` cannot be reached, and without it nobody can tell whose session this is, or
    /// whether this was done before. Nothing was touched.
    #[response(status = 503, content_type = "application/problem+json")]
    StorageUnavailable(Problem),
}

/// What an act may meet besides: its body, and a group that may not be acted on.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it only describes")]
pub enum ActRefusals {
    /// `bad-request`: the body is not JSON, lacks a field, has one that is unknown or twice, or a value of the wrong type
    /// (numbers are whole and written without quotes); or the path has a broken `%` sequence. Nothing was touched.
    #[response(status = 400, content_type = "application/problem+json")]
    BadRequest(Problem),
    /// `forbidden`: whoever asks may not do that, or not in this group, or not to a lock of this name; or the group is
    /// read-only in the configuration. `detail` says which. `outside-keys`: the name matches none of the group's `keys` (`patterns`),
    /// or is one that the console itself writes (no `patterns`).
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// `too-slow`: the body did not arrive in time (`read_timeout`, 30 s unless configured).
    #[response(status = 408, content_type = "application/problem+json")]
    TooSlow(Problem),
    /// `too-large`: the body is larger than `body_bytes` (131072 unless configured), whatever length was announced.
    #[response(status = 413, content_type = "application/problem+json")]
    TooLarge(Problem),
    /// `not-json`: the `Content-Type` is not JSON.
    #[response(status = 415, content_type = "application/problem+json")]
    NotJson(Problem),
    /// `audit-unavailable`: it cannot be written down, and what is not written down is not done; or `storage-unavailable`: the
    /// database of `[storage]` cannot be reached. Nothing was touched.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(Problem),
}
