//! The handles that the doors need.

use std::sync::Arc;

use axum::extract::FromRef;
use leptos::config::LeptosOptions;
use tokio_util::sync::CancellationToken;

use super::api::limits::Limits;
use super::operations::Operations;
use super::operations::idempotency::Repeats;

/// What every request can reach.
#[derive(Clone, FromRef)]
pub struct AppState {
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
