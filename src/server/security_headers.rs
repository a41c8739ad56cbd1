//! Security headers of responses.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;

/// Content security policy of everything that is not a page: no scripts, styles or frames.
const DENY_ALL_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Two years, the value that <https://hstspreload.org> recommends.
pub const HSTS: HeaderValue = HeaderValue::from_static("max-age=63072000; includeSubDomains");

/// Disables browser features that the console does not use.
const PERMISSIONS_POLICY: &str = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), display-capture=(), browsing-topics=()";

/// Headers that are added to every response that does not set them itself.
pub fn defaults() -> [(HeaderName, HeaderValue); 8] {
    let value = HeaderValue::from_static;
    [
        (header::CACHE_CONTROL, value("no-store")),
        (header::X_CONTENT_TYPE_OPTIONS, value("nosniff")),
        (header::REFERRER_POLICY, value("no-referrer")),
        (header::X_FRAME_OPTIONS, value("DENY")),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            value("same-origin"),
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            value("same-origin"),
        ),
        (
            HeaderName::from_static("permissions-policy"),
            value(PERMISSIONS_POLICY),
        ),
        (header::CONTENT_SECURITY_POLICY, value(DENY_ALL_POLICY)),
    ]
}

/// Headers of a page. The policy allows the console's own scripts, inline scripts with this
/// nonce, WebAssembly, and connections to the console; framing is denied.
pub fn page_headers(nonce: &str) -> [(HeaderName, HeaderValue); 2] {
    let policy = format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; \
         font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    [
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_str(&policy).expect("a nonce is ASCII text"),
        ),
        // With `no-referrer` browsers send `Origin: null` for form posts, which the CSRF check
        // would reject.
        (
            header::REFERRER_POLICY,
            HeaderValue::from_static("same-origin"),
        ),
    ]
}

/// Sets the policy of Swagger UI, which uses inline styles and `data:` images.
pub async fn set_docs_policy(mut response: Response) -> Response {
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                          connect-src 'self'; form-action 'none'; base-uri 'self'; frame-ancestors 'none'";
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    response
}
