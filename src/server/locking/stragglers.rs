//! Nodes that have not answered when the others have decided: those that are about as quick are heard, nobody waits for the rest.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// How long they are listened to. What was sent to the others is on its way all the same.
const GRACE: Duration = Duration::from_millis(1);

/// Listens without limit until it is decided, then a moment longer.
#[derive(Default)]
pub struct Stragglers(Option<Instant>);

impl Stragglers {
    /// The others have decided.
    pub fn decided(&mut self) {
        self.0.get_or_insert_with(|| Instant::now() + GRACE);
    }

    /// The next answer; nothing when there is none, or none in time.
    pub async fn or<T>(&self, next: impl Future<Output = Option<T>>) -> Option<T> {
        match self.0 {
            None => next.await,
            Some(until) => timeout_at(until, next).await.ok().flatten(),
        }
    }
}
