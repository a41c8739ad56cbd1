//! Looking through the whole board for those who ask: on threads that serve nobody, and no more at once than half the processors.
//! However many ask, what is observed and everybody's acts go on.

use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

use super::Index;
use super::stream::Stream;
use crate::domain::{Fault, Timestamp, View};

/// The places of those who look through the board.
#[derive(Debug)]
pub struct Queries(Arc<Semaphore>);

impl Default for Queries {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new((processors / 2).max(1))))
    }
}

impl Index {
    /// Looks through the board when it is the caller's turn.
    pub async fn query<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Stream, Timestamp) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let places = Arc::clone(&self.stream.queries.0);
        let place = places.acquire_owned().await.expect("it is never closed");
        let index = self.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let found = look(&index.stream, index.now());
            drop(place);
            found
        });
        looking.await.map_err(|why| Fault::Internal {
            detail: format!("a search ended before it came to its end: {why}"),
        })
    }

    /// Has it known what there is to see of a part of the board: whoever looks at it then need not look through all of it.
    pub async fn prepare_window(&self, view: &View) {
        if self.stream.has_window(view) {
            return;
        }
        let view = view.clone();
        let looking = self.query(move |stream, now| drop(stream.window(&view, now)));
        // Whoever looks at it looks for themselves then.
        let _cut_off = looking.await;
    }
}
