//! `/api/docs`: Swagger UI and the OpenAPI document.
//!
//! The router of `utoipa_swagger_ui` redirects `/api/docs` to `/api/docs/`, because the page has
//! relative links. Here both paths serve the page, with a `<base>` element.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use utoipa::openapi::OpenApi;
use utoipa_swagger_ui::Config;

use super::ApiError;

const PAGE: &str = "/api/docs";
const DOCUMENT: &str = "/api/openapi.json";

/// The routes of Swagger UI and of the document.
pub fn routes<S: Clone + Send + Sync + 'static>(document: OpenApi) -> Router<S> {
    let config = Arc::new(Config::from(DOCUMENT));
    let page = {
        let config = Arc::clone(&config);
        move || async move { file("index.html", config) }
    };
    Router::new()
        .route(PAGE, get(page.clone()))
        .route(&format!("{PAGE}/"), get(page))
        .route(
            &format!("{PAGE}/{{*file}}"),
            get(move |Path(name): Path<String>| async move { file(&name, config) }),
        )
        .route(DOCUMENT, get(move || async { Json(document) }))
}

fn file(name: &str, config: Arc<Config<'static>>) -> Response {
    match utoipa_swagger_ui::serve(name, config) {
        Ok(Some(file)) => {
            let bytes = match name {
                "index.html" => Cow::Owned(with_base(&file.bytes)),
                _ => file.bytes,
            };
            ([(header::CONTENT_TYPE, file.content_type)], bytes).into_response()
        }
        Ok(None) => ApiError::NotFound.into_response(),
        Err(error) => {
            tracing::error!("cannot serve the API documentation: {error}");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Adds a `<base>` element, so that the relative links work under both paths.
fn with_base(page: &[u8]) -> Vec<u8> {
    let page = String::from_utf8_lossy(page);
    let head = format!("<head>\n    <base href=\"{PAGE}/\">");
    page.replacen("<head>", &head, 1).into_bytes()
}
