//! The handles that the doors need.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use leptos::config::LeptosOptions;
use tokio_util::sync::CancellationToken;

use super::api::limits::Limits;
use super::operations::Operations;
use super::operations::idempotency::Repeats;

/// What every request can reach. Cloned several times for each of them, so all of it is behind one pointer.
#[derive(Clone)]
pub struct AppState(Arc<Handles>);

/// The handles.
pub struct Handles {
    /// How pages are rendered.
    pub leptos: LeptosOptions,
    /// Every verb.
    pub operations: Arc<Operations>,
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
