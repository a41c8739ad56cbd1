//! Data that is loaded from the server.

use leptos::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::OperationError;
use crate::ui::json::JsonCodec;

/// Data that is loaded from the server. The type is a cheap handle.
#[derive(Debug)]
pub struct ServerResource<T: Send + Sync + 'static>(Resource<Result<T, OperationError>, JsonCodec>);

impl<T: Send + Sync> Clone for ServerResource<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync> Copy for ServerResource<T> {}

impl<T: Clone + Serialize + DeserializeOwned + Send + Sync> ServerResource<T> {
    /// Starts loading. If the server renders the page, the result is sent with it.
    pub fn new<F>(ask: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<T, OperationError>> + Send + 'static,
    {
        Self(Resource::new_with_options(|| (), move |()| ask(), false))
    }

    /// Loads the data again.
    pub fn refetch(self) {
        self.0.refetch();
    }

    /// Waits for the result.
    pub async fn result(self) -> Result<T, OperationError> {
        self.0.await
    }
}
