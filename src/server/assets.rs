//! The web files that the binary carries: read from disk in development builds, from the binary in release builds.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use rust_embed::{Embed, EmbeddedFile};

/// What `cargo leptos build` put into the site folder.
#[derive(Embed)]
#[folder = "target/site"]
#[allow_missing = true]
struct Site;

/// Which build of the pages' program this is: another one after an upgrade.
pub fn build() -> &'static str {
    static BUILD: LazyLock<String> = LazyLock::new(|| {
        let program = Site::get("pkg/lockkeeper.wasm");
        let hash = program.map_or([0; 32], |file| file.metadata.sha256_hash());
        let hash: String = hash
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("{}+{hash}", env!("CARGO_PKG_VERSION"))
    });
    &BUILD
}

/// Whether there is a file at this path.
pub fn has(path: &str) -> bool {
    let path = path.trim_start_matches('/');
    !path.is_empty() && Site::get(path).is_some()
}

/// The file at this path, compressed as well as the browser takes it; nothing where there is none.
pub fn find(path: &str, request: &HeaderMap) -> Option<Response<Body>> {
    let path = path.trim_start_matches('/');
    if path.is_empty() || path.ends_with(".br") || path.ends_with(".gz") {
        return None;
    }
    let plain = Site::get(path)?;
    let accepted = request
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("");
    let accepts = |coding: &str| {
        accepted.split(',').any(|entry| {
            entry
                .split(';')
                .next()
                .is_some_and(|name| name.trim() == coding)
        })
    };
    let packed = [("br", "br"), ("gzip", "gz")]
        .into_iter()
        .filter(|(coding, _)| accepts(coding))
        .find_map(|(coding, ending)| Some((coding, Site::get(&format!("{path}.{ending}"))?)));

    let etag = etag(&plain);
    let mut response = if request
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| *known == etag)
    {
        let mut unchanged = Response::new(Body::empty());
        *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
        unchanged
    } else {
        let (coding, file) = packed.map_or((None, plain), |(coding, file)| (Some(coding), file));
        let mut found = Response::new(Body::from(file.data.into_owned()));
        if let Some(coding) = coding {
            found
                .headers_mut()
                .insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
        found
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, content_type(path));
    headers.insert(header::ETAG, etag);
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    // Names carry no hash, so a browser asks each time and is mostly told "unchanged".
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Some(response)
}

fn etag(file: &EmbeddedFile) -> HeaderValue {
    let hash: String = file
        .metadata
        .sha256_hash()
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    HeaderValue::from_str(&format!("\"{hash}\"")).expect("hex digits in quotes are a header value")
}

fn content_type(path: &str) -> HeaderValue {
    let known = match path.rsplit('.').next().unwrap_or("") {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "html" => "text/html; charset=utf-8",
        "txt" => "text/plain; charset=utf-8",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" | "map" => "application/json",
        _ => "application/octet-stream",
    };
    HeaderValue::from_static(known)
}
