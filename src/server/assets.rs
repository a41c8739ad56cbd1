//! The web files that the binary carries: read from disk in development builds, from the binary in release builds.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use data_encoding::HEXLOWER;
use rust_embed::{Embed, EmbeddedFile};
use sha2::{Digest as _, Sha256};

/// What `cargo leptos build` put into the site folder.
#[derive(Embed)]
#[folder = "target/site"]
#[allow_missing = true]
struct Site;

/// What this build of the pages' program is called: another name after an upgrade.
pub fn build() -> &'static str {
    static BUILD: LazyLock<String> =
        LazyLock::new(|| format!("{}+{}", env!("CARGO_PKG_VERSION"), fingerprint()));
    &BUILD
}

/// The path that the files of this build are found below. A page never gets a part of another build: its program would go wrong with it.
pub fn folder() -> &'static str {
    static FOLDER: LazyLock<String> = LazyLock::new(|| format!("/{OF_BUILD}{}", fingerprint()));
    &FOLDER
}

/// What stands before the name of a build in a path.
const OF_BUILD: &str = "build/";

/// Which files each part of the pages' program that is fetched later is made of.
pub fn parts() -> HashMap<String, Vec<String>> {
    let listed = Site::get("pkg/__wasm_split_manifest.json");
    listed.map_or_else(HashMap::new, |file| {
        serde_json::from_slice(&file.data).expect("the build writes it as JSON")
    })
}

/// Of all files that a page's program is made of.
fn fingerprint() -> &'static str {
    static FINGERPRINT: LazyLock<String> = LazyLock::new(|| {
        let mut names: Vec<_> = Site::iter()
            .filter(|name| name.starts_with("pkg/") && !is_packed(name))
            .collect();
        names.sort_unstable();
        let mut all = Sha256::new();
        for file in names.iter().filter_map(|name| Site::get(name)) {
            all.update(file.metadata.sha256_hash());
        }
        HEXLOWER.encode(&all.finalize()[..6])
    });
    &FINGERPRINT
}

fn is_packed(path: &str) -> bool {
    path.ends_with(".br") || path.ends_with(".gz")
}

/// A path within the site, and whether it names this build. Nothing where it names another.
fn within_site(path: &str) -> Option<(&str, bool)> {
    let path = path.trim_start_matches('/');
    match path.strip_prefix(OF_BUILD) {
        Some(of_build) => {
            let rest = of_build.strip_prefix(fingerprint())?.strip_prefix('/')?;
            Some((rest, true))
        }
        None => Some((path, false)),
    }
}

/// Whether there is a file at this path.
pub fn has(path: &str) -> bool {
    within_site(path).is_some_and(|(path, _)| !path.is_empty() && Site::get(path).is_some())
}

/// The file at this path, compressed as well as the browser takes it; nothing where there is none.
pub fn find(path: &str, request: &HeaderMap) -> Option<Response<Body>> {
    let (path, is_of_build) = within_site(path)?;
    if path.is_empty() || is_packed(path) {
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
    // What is found below the name of its build never changes, except while it is worked on. Everything else is asked for each time, and
    // mostly found "unchanged".
    let kept = if is_of_build && !cfg!(debug_assertions) {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    Some(response)
}

fn etag(file: &EmbeddedFile) -> HeaderValue {
    let hash = HEXLOWER.encode(&file.metadata.sha256_hash()[..12]);
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
