//! The handles that the doors need.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use axum::http::request::Parts;
use leptos::config::LeptosOptions;
use leptos::prelude::use_context;
use tokio_util::sync::CancellationToken;

use super::access::{Access, Actor};
use super::limits::{Client, Limits, Permit};
use super::operations::Operations;
use super::operations::idempotency::Repeats;
use crate::domain::Fault;

/// What every request can reach. Cloned several times for each of them, so all of it is behind one pointer.
#[derive(Clone)]
pub struct AppState(Arc<Handles>);

/// The handles.
pub struct Handles {
    /// How pages are rendered.
    pub leptos: LeptosOptions,
    /// Every verb.
    pub operations: Arc<Operations>,
    /// Who may come in.
    pub access: Access,
    /// Acquires that may be repeated.
    pub repeats: Repeats,
    /// How much is taken on at once.
    pub limits: Arc<Limits>,
    /// Cancelled when the server stops: endless streams end then.
    pub stop: CancellationToken,
}

impl From<Handles> for AppState {
    fn from(handles: Handles) -> Self {
        Self(Arc::new(handles))
    }
}

impl Deref for AppState {
    type Target = Handles;

    fn deref(&self) -> &Handles {
        &self.0
    }
}

impl FromRef<AppState> for LeptosOptions {
    fn from_ref(state: &AppState) -> Self {
        state.leptos.clone()
    }
}

impl FromRef<AppState> for Arc<Limits> {
    fn from_ref(state: &AppState) -> Self {
        Arc::clone(&state.limits)
    }
}

/// What a server function needs: the handles, and who asks.
pub async fn asked() -> Result<(AppState, Actor), Fault> {
    let (state, request) = (use_context::<AppState>(), use_context::<Parts>());
    let (Some(state), Some(request)) = (state, request) else {
        return Err(Fault::Internal {
            detail: "this was not asked by a request".to_owned(),
        });
    };
    let actor = state.access.admit_request(&request).await?;
    Ok((state, actor))
}

/// A place for a server function that looks through the whole board.
pub fn place_to_query(state: &AppState) -> Result<Permit, Fault> {
    state.limits.query(client())
}

/// A place for a server function that waits for a lock, if it does.
pub fn place_to_wait(state: &AppState, wait_ms: u64) -> Result<Option<Permit>, Fault> {
    state.limits.wait(client(), wait_ms)
}

/// Where a server function is asked from.
fn client() -> Client {
    let request = use_context::<Parts>();
    request.map_or_else(Client::unknown, |request| {
        Client::in_extensions(&request.extensions)
    })
}
