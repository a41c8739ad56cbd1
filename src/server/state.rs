//! The state shared by all request handlers.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use axum::http::request::Parts;
use leptos::config::LeptosOptions;
use leptos::prelude::use_context;
use tokio_util::sync::CancellationToken;

use super::access::{AccessControl, Principal};
use super::limits::{ClientKey, Permit, RequestLimits};
use super::operations::Operations;
use super::operations::idempotency::IdempotencyStore;
use crate::domain::OperationError;
use crate::domain::operation_error::InternalError;

/// Shared application state. It is cloned several times per request, so it is a single pointer.
#[derive(Clone)]
pub struct AppState(Arc<AppHandles>);

/// The components that handlers use.
pub struct AppHandles {
    /// Options for rendering pages.
    pub leptos: LeptosOptions,
    /// All operations on locks and nodes.
    pub operations: Arc<Operations>,
    /// Authentication and authorization.
    pub access: AccessControl,
    /// Results of acquires with an idempotency key.
    pub idempotency: IdempotencyStore,
    /// Request limits.
    pub limits: Arc<RequestLimits>,
    /// Cancelled when the server starts to shut down: event streams end.
    pub stop: CancellationToken,
}

impl From<AppHandles> for AppState {
    fn from(handles: AppHandles) -> Self {
        Self(Arc::new(handles))
    }
}

impl Deref for AppState {
    type Target = AppHandles;

    fn deref(&self) -> &AppHandles {
        &self.0
    }
}

impl FromRef<AppState> for LeptosOptions {
    fn from_ref(state: &AppState) -> Self {
        state.leptos.clone()
    }
}

impl FromRef<AppState> for Arc<RequestLimits> {
    fn from_ref(state: &AppState) -> Self {
        Arc::clone(&state.limits)
    }
}

/// The application state and the principal, for a server function.
pub async fn request_context() -> Result<(AppState, Principal), OperationError> {
    let (state, request) = (use_context::<AppState>(), use_context::<Parts>());
    let (Some(state), Some(request)) = (state, request) else {
        return Err(OperationError::Internal {
            cause: InternalError::OutsideRequest,
        });
    };
    let principal = state.access.authenticate_request(&request).await?;
    Ok((state, principal))
}

/// Acquires a permit for a server function that reads the whole index.
pub fn acquire_query_permit(state: &AppState) -> Result<Permit, OperationError> {
    state.limits.acquire_query_permit(current_client())
}

/// Acquires a permit for a server function that waits for a lock, if `wait_ms` is not 0.
pub fn acquire_wait_permit(
    state: &AppState,
    wait_ms: u64,
) -> Result<Option<Permit>, OperationError> {
    state.limits.acquire_queue_permit(current_client(), wait_ms)
}

/// The client of the current server function.
fn current_client() -> ClientKey {
    let request = use_context::<Parts>();
    request.map_or_else(ClientKey::unknown, |request| {
        ClientKey::from_extensions(&request.extensions)
    })
}
