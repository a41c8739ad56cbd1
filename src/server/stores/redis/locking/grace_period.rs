//! A short grace period after a round is decided, so that nodes with similar latency can still
//! reply.

use std::time::Duration;

use tokio::time::Instant;

use crate::server::clock::Clock;

/// Waits for replies without limit until the round is decided, then for a short time longer.
pub struct GracePeriod<'a> {
    clock: &'a Clock,
    started_at: Instant,
    deadline: Option<Instant>,
}

impl<'a> GracePeriod<'a> {
    /// The upper bound of the grace period.
    const MAX_GRACE: Duration = Duration::from_millis(20);

    /// Starts measuring when the requests are about to be sent.
    pub fn new(clock: &'a Clock) -> Self {
        Self {
            clock,
            started_at: clock.instant(),
            deadline: None,
        }
    }

    /// Begins the grace period because the round is decided: half the time that it has taken so
    /// far. Requests to the other nodes have been sent and are executed regardless.
    pub fn begin(&mut self) {
        // Only the first call counts: later replies do not prolong the grace period.
        self.deadline.get_or_insert_with(|| {
            let now = self.clock.instant();
            now + Self::MAX_GRACE.min((now - self.started_at) / 2)
        });
    }

    /// The next reply; `None` if there are no more, or the grace period is over.
    pub async fn next_reply<T>(&self, next: impl Future<Output = Option<T>>) -> Option<T> {
        match self.deadline {
            None => next.await,
            Some(deadline) => self.clock.timeout_at(deadline, next).await.flatten(),
        }
    }
}
