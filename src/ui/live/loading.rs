//! Something on its way from the server.

use leptos::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::Fault;

/// Something on its way from the server. A handle: copy it freely.
#[derive(Debug)]
pub struct Loading<T: Send + Sync + 'static>(Resource<Result<T, Fault>>);

impl<T: Send + Sync> Clone for Loading<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync> Copy for Loading<T> {}

impl<T: Clone + Serialize + DeserializeOwned + Send + Sync> Loading<T> {
    /// Starts to load; the server's answer comes along with the page that it painted.
    pub fn new<F>(ask: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        Self(Resource::new(|| (), move |()| ask()))
    }

    /// Asks again.
    pub fn again(self) {
        self.0.refetch();
    }

    /// What was answered.
    pub async fn answer(self) -> Result<T, Fault> {
        self.0.await
    }
}
