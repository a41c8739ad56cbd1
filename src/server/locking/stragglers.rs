//! Nodes that have not answered when the others have decided: those that are about as quick are heard, nobody waits for the rest.

use std::time::Duration;

use tokio::time::Instant;

use crate::server::clock::Clock;

/// Listens without limit until it is decided, then a moment longer.
pub struct Stragglers<'a> {
    clock: &'a Clock,
    began: Instant,
    until: Option<Instant>,
}

impl<'a> Stragglers<'a> {
    /// The longest that they are listened to.
    const GRACE: Duration = Duration::from_millis(20);

    /// The question is about to be sent.
    pub fn begin(clock: &'a Clock) -> Self {
        Self {
            clock,
            began: clock.instant(),
            until: None,
        }
    }

    /// The others have decided. What was sent to these is on its way all the same; they are listened to for half the
    /// time that it took so far.
    pub fn decided(&mut self) {
        self.until.get_or_insert_with(|| {
            let now = self.clock.instant();
            now + Self::GRACE.min((now - self.began) / 2)
        });
    }

    /// The next answer; nothing when there is none, or none in time.
    pub async fn or<T>(&self, next: impl Future<Output = Option<T>>) -> Option<T> {
        match self.until {
            None => next.await,
            Some(until) => self.clock.timeout_at(until, next).await.flatten(),
        }
    }
}
