//! What every request passes on its way to a handler, and every response on its way back.

use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::csrf::CsrfLayer;
use tower_http::set_header::response::SetMultipleResponseHeadersLayer;

use super::access::RequestId;
use super::api::metrics;
use super::state::AppState;
use super::telemetry::traces;
use super::{cross_site, headers};

/// The routes within all layers. The first layer sees a request first and its response last.
pub fn apply(state: &AppState, routes: Router) -> Router {
    let default_headers = headers::defaults().map(Into::into).to_vec();
    routes.layer(
        ServiceBuilder::new()
            .layer(from_fn(identify))
            .layer(from_fn_with_state(state.clone(), note_origin))
            .layer(SetMultipleResponseHeadersLayer::if_not_present(
                default_headers,
            ))
            .layer(CatchPanicLayer::new())
            .layer(from_fn_with_state(state.clone(), cross_site::guard))
            .layer(CsrfLayer::new().with_rejection_response(|_| cross_site::refusal()))
            .layer(from_fn_with_state(state.clone(), metrics::timed)),
    )
}

/// Gives the request its id, has it answered, and says so in the log.
async fn identify(mut request: Request, next: Next) -> Response {
    let id = RequestId::of(request.headers());
    request.extensions_mut().insert(id.clone());
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let trace = traces::Request::begin(&method, uri.path(), request.headers());
    let name = id.clone();
    let answering = async move {
        let began = Instant::now();
        let response = next.run(request).await;
        let (status, took_ms) = (
            response.status().as_u16(),
            began.elapsed().as_secs_f64() * 1e3,
        );
        // Without the query: what somebody searches for is theirs.
        tracing::debug!(request.id = %name, %method, path = uri.path(), status, took_ms, "answered");
        response
    };
    let mut response = match trace {
        Some(trace) => {
            let response = trace.around(&id.0, answering).await;
            trace.answered(response.status().as_u16());
            response
        }
        None => answering.await,
    };
    response
        .headers_mut()
        .insert(RequestId::HEADER, id.header());
    response
}

/// Notes where the request comes from, and has a browser that came by `https` stay with it.
async fn note_origin(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    state.access.see_where_from(&mut request);
    let is_https = state.access.is_https(request.headers());
    let mut response = next.run(request).await;
    if is_https {
        let headers = response.headers_mut();
        headers.insert(header::STRICT_TRANSPORT_SECURITY, headers::HSTS);
    }
    response
}
