//! Looking through all locks for those who ask: on threads that serve nobody, and no more at once than half the processors.
//! However many ask, what is observed and everybody's acts go on.

use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::Index;
use super::snapshot::IndexSnapshot;
use crate::domain::{Fault, Timestamp};

/// The permits of those who look through the locks.
#[derive(Clone, Debug)]
pub(super) struct Queries(Arc<Semaphore>);

impl Default for Queries {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new((processors / 2).max(1))))
    }
}

impl Index {
    /// Looks through what is observed when it is the caller's turn.
    pub async fn query<T: Send + 'static>(
        &self,
        look: impl FnOnce(&IndexSnapshot, Timestamp) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let permits = Arc::clone(&self.queries.0);
        let permit = permits.acquire_owned().await.expect("it is never closed");
        let (index, now) = (self.snapshot(), self.now());
        let looking = spawn_blocking(move || {
            let found = look(&index, now);
            drop(permit);
            found
        });
        looking.await.map_err(|why| Fault::Internal {
            detail: format!("a search ended before it came to its end: {why}"),
        })
    }
}
