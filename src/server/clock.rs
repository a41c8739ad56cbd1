//! The clock: real in the product, moved by hand in tests. The only place that asks the machine what time it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::domain::Timestamp;

/// Tells the time. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Real,
    ByHand(Arc<AtomicI64>),
}

impl Clock {
    /// The machine's clock.
    pub fn real() -> Self {
        Self(Kind::Real)
    }

    /// A clock that stands still at `start` until it is moved.
    pub fn by_hand(start: Timestamp) -> Self {
        Self(Kind::ByHand(Arc::new(AtomicI64::new(start.millis()))))
    }

    /// Now.
    #[expect(clippy::disallowed_methods, reason = "this is the place that may ask")]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Kind::Real => {
                let since = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default();
                Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
            }
            Kind::ByHand(ms) => Timestamp::from_millis(ms.load(Ordering::SeqCst)),
        }
    }

    /// Moves a clock that is moved by hand; the real one goes its own way.
    pub fn advance(&self, span: Duration) {
        match &self.0 {
            Kind::Real => {}
            Kind::ByHand(ms) => {
                ms.fetch_add(
                    i64::try_from(span.as_millis()).unwrap_or(i64::MAX),
                    Ordering::SeqCst,
                );
            }
        }
    }
}
