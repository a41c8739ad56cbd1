//! What every answer tells a browser about how to treat it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;

/// For whatever is no page: nothing that is in it may load or run anything.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// For two years, as browsers ask for it.
pub const HSTS: HeaderValue = HeaderValue::from_static("max-age=63072000; includeSubDomains");

/// What no page of the console uses.
const PERMISSIONS: &str = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), display-capture=(), browsing-topics=()";

/// What every answer carries unless it says otherwise.
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
            value(PERMISSIONS),
        ),
        (header::CONTENT_SECURITY_POLICY, value(NOTHING)),
    ]
}

/// What a page may do: run its own scripts, those that carry this nonce, and the program they load; talk to this console; and be
/// framed by nobody.
pub fn for_page(nonce: &str) -> [(HeaderName, HeaderValue); 2] {
    let policy = format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; \
         font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    [
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_str(&policy).expect("a nonce is plain letters and digits"),
        ),
        // A browser that sends no referrer at all does not say either where a form comes from that it sends.
        (
            header::REFERRER_POLICY,
            HeaderValue::from_static("same-origin"),
        ),
    ]
}

/// The documentation of the API: pages of somebody else's, which style themselves and draw their own pictures.
pub async fn for_documentation(mut answer: Response) -> Response {
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                          connect-src 'self'; form-action 'none'; base-uri 'self'; frame-ancestors 'none'";
    let headers: &mut HeaderMap = answer.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    answer
}
