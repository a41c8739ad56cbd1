//! Static files of the web console. Debug builds read them from disk, release builds embed
//! them.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use data_encoding::HEXLOWER;
use rust_embed::{Embed, EmbeddedFile};
use sha2::{Digest as _, Sha256};

/// The output of `cargo leptos build`.
#[derive(Embed)]
#[folder = "target/site"]
#[allow_missing = true]
struct Site;

/// Identifies this build of the browser code: the version and a hash of its files.
pub fn build_id() -> &'static str {
    static BUILD: LazyLock<String> =
        LazyLock::new(|| format!("{}+{}", env!("CARGO_PKG_VERSION"), build_hash()));
    &BUILD
}

/// The URL prefix of this build's files. It contains the build hash, so a page never loads a
/// chunk of another build: WASM chunks of different builds are incompatible.
pub fn build_path() -> &'static str {
    static FOLDER: LazyLock<String> = LazyLock::new(|| format!("/{BUILD_PREFIX}{}", build_hash()));
    &FOLDER
}

const BUILD_PREFIX: &str = "build/";

/// The files of each lazily loaded WASM chunk, from the manifest that the build writes. Empty
/// in builds without code splitting.
pub fn split_chunks() -> HashMap<String, Vec<String>> {
    let manifest = Site::get("pkg/__wasm_split_manifest.json");
    manifest.map_or_else(HashMap::new, |file| {
        serde_json::from_slice(&file.data).expect("cargo-leptos writes the manifest as JSON")
    })
}

/// Hash over all uncompressed files in `pkg/`.
fn build_hash() -> &'static str {
    static FINGERPRINT: LazyLock<String> = LazyLock::new(|| {
        let mut names: Vec<_> = Site::iter()
            .filter(|name| name.starts_with("pkg/") && !is_compressed(name))
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

fn is_compressed(path: &str) -> bool {
    path.ends_with(".br") || path.ends_with(".gz")
}

/// Maps a URL path to a path in the site, and reports whether it has the prefix of this build.
/// `None` if it has the prefix of another build.
fn resolve(path: &str) -> Option<(&str, bool)> {
    let path = path.trim_start_matches('/');
    match path.strip_prefix(BUILD_PREFIX) {
        Some(of_build) => {
            let rest = of_build.strip_prefix(build_hash())?.strip_prefix('/')?;
            Some((rest, true))
        }
        None => Some((path, false)),
    }
}

pub fn exists(path: &str) -> bool {
    resolve(path).is_some_and(|(path, _)| !path.is_empty() && Site::get(path).is_some())
}

/// Serves the file at this path, with the best encoding that the client accepts. `None` if
/// there is no such file.
pub fn respond(path: &str, request: &HeaderMap) -> Option<Response<Body>> {
    let (path, is_of_build) = resolve(path)?;
    if path.is_empty() || is_compressed(path) {
        return None;
    }
    let uncompressed = Site::get(path)?;
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
    let compressed = [("br", "br"), ("gzip", "gz")]
        .into_iter()
        .filter(|(coding, _)| accepts(coding))
        .find_map(|(coding, ending)| Some((coding, Site::get(&format!("{path}.{ending}"))?)));

    let etag = etag(&uncompressed);
    let mut response = if request
        .get(header::IF_NONE_MATCH)
        .is_some_and(|sent| *sent == etag)
    {
        let mut unchanged = Response::new(Body::empty());
        *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
        unchanged
    } else {
        let (coding, file) =
            compressed.map_or((None, uncompressed), |(coding, file)| (Some(coding), file));
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
    // URLs with the build hash never change, so browsers may cache them for ever. Debug builds
    // read files from disk, where they do change. Everything else is revalidated with its ETag.
    let cache_control = if is_of_build && !cfg!(debug_assertions) {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static(cache_control),
    );
    Some(response)
}

fn etag(file: &EmbeddedFile) -> HeaderValue {
    let hash = HEXLOWER.encode(&file.metadata.sha256_hash()[..12]);
    HeaderValue::from_str(&format!("\"{hash}\"")).expect("hex digits in quotes are a header value")
}

fn content_type(path: &str) -> HeaderValue {
    let media_type = match path.rsplit('.').next().unwrap_or("") {
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
    HeaderValue::from_static(media_type)
}
