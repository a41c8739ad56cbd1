//! Queries over all locks run on blocking threads, on at most half of the processors, so that any
//! number of queries leaves capacity for observation and operations.

use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::Index;
use super::snapshot::IndexSnapshot;
use crate::domain::operation_error::InternalError;
use crate::domain::{OperationError, Timestamp};

/// Limits the number of concurrent queries.
#[derive(Clone, Debug)]
pub(super) struct QueryPermits(Arc<Semaphore>);

impl Default for QueryPermits {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new((processors / 2).max(1))))
    }
}

impl Index {
    /// Runs a query on the current snapshot as soon as a permit is free.
    pub async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&IndexSnapshot, Timestamp) -> T + Send + 'static,
    ) -> Result<T, OperationError> {
        let permits = Arc::clone(&self.queries.0);
        let permit = permits
            .acquire_owned()
            .await
            .expect("the semaphore is never closed");
        let (index, now) = (self.snapshot(), self.now());
        // The permit moves into the closure: a blocking task continues when its caller is
        // cancelled.
        let task = spawn_blocking(move || {
            let result = query(&index, now);
            drop(permit);
            result
        });
        task.await.map_err(|error| OperationError::Internal {
            cause: InternalError::QueryFailed {
                text: error.to_string(),
            },
        })
    }
}
