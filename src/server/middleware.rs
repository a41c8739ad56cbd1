//! The middleware stack of all requests.

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
use super::{cross_site, security_headers};

/// Wraps the routes in all layers. The first layer sees a request first and its response last.
pub fn apply(state: &AppState, routes: Router) -> Router {
    let default_headers = security_headers::defaults().map(Into::into).to_vec();
    routes.layer(
        ServiceBuilder::new()
            // First, so that every response has a request id, also after a panic or rejection.
            .layer(from_fn(assign_request_id))
            // Before everything that uses the client's address or forwarding headers.
            .layer(from_fn_with_state(state.clone(), record_client_address))
            .layer(SetMultipleResponseHeadersLayer::if_not_present(
                default_headers,
            ))
            // Inside the headers layer, so that the 500 response has the default headers.
            .layer(CatchPanicLayer::new())
            .layer(from_fn_with_state(
                state.clone(),
                cross_site::reject_cross_site,
            ))
            .layer(CsrfLayer::new().with_rejection_response(|_| cross_site::rejection_response()))
            .layer(from_fn_with_state(state.clone(), metrics::record_request)),
    )
}

/// Assigns a request id, creates the trace span and logs the response.
async fn assign_request_id(mut request: Request, next: Next) -> Response {
    let id = RequestId::from_headers_or_new(request.headers());
    request.extensions_mut().insert(id.clone());
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let trace = traces::RequestSpan::start(&method, uri.path(), request.headers());
    let name = id.clone();
    let respond = async move {
        let began = Instant::now();
        let response = next.run(request).await;
        let (status, took_ms) = (
            response.status().as_u16(),
            began.elapsed().as_secs_f64() * 1e3,
        );
        // The query string is not logged: it can contain search terms.
        tracing::debug!(request.id = %name, %method, path = uri.path(), status, took_ms, "request completed");
        response
    };
    let mut response = match trace {
        Some(trace) => {
            let response = trace.instrument(&id.0, respond).await;
            trace.finish(response.status().as_u16());
            response
        }
        None => respond.await,
    };
    response
        .headers_mut()
        .insert(RequestId::HEADER, id.to_header_value());
    response
}

/// Records the client's address, and sets HSTS on responses to HTTPS requests.
async fn record_client_address(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    state.access.resolve_client_address(&mut request);
    let is_https = state.access.is_https(request.headers());
    let mut response = next.run(request).await;
    if is_https {
        let headers = response.headers_mut();
        headers.insert(header::STRICT_TRANSPORT_SECURITY, security_headers::HSTS);
    }
    response
}
