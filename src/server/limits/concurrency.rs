//! A concurrency limit with a total and a per-client maximum.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{ClientKey, RETRY_AFTER_MS};
use crate::domain::OperationError;
use crate::domain::operation_error::{LimitReached, LimitedResource};

/// Limits concurrent work. Clones share their permits.
#[derive(Clone)]
pub struct ConcurrencyLimit {
    resource: LimitedResource,
    max: u32,
    max_per_client: u32,
    permits: Arc<Semaphore>,
    by_client: Arc<Mutex<HashMap<ClientKey, u32>>>,
}

impl ConcurrencyLimit {
    /// Creates a limit with a total and a per-client maximum.
    pub fn new(resource: LimitedResource, max: u32, max_per_client: u32) -> Self {
        Self {
            resource,
            max,
            max_per_client,
            permits: Arc::new(Semaphore::new(max as usize)),
            by_client: Arc::default(),
        }
    }

    /// Acquires a permit for this client. Fails with the name of the limit that was reached,
    /// total or per client.
    pub fn acquire(&self, client: ClientKey) -> Result<Permit, OperationError> {
        // The lock is held throughout, so that a rejected client never takes a permit away from
        // others, not even briefly.
        let mut by_client = self.by_client.lock();
        let in_all = self.acquire_unattributed()?;
        let count = by_client.entry(client).or_default();
        if *count >= self.max_per_client {
            return Err(self.limit_error(self.max_per_client, Some(client)));
        }
        *count += 1;
        drop(by_client);
        let of_client = ClientShare {
            by_client: Arc::clone(&self.by_client),
            client,
        };
        Ok(Permit {
            _client_share: Some(of_client),
            ..in_all
        })
    }

    /// Acquires a permit that counts for no client, for a caller that serves many clients (a
    /// proxy).
    pub fn acquire_unattributed(&self) -> Result<Permit, OperationError> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| self.limit_error(self.max, None))?;
        Ok(Permit {
            _global: permit,
            _client_share: None,
            rank: self.in_use().saturating_sub(1),
        })
    }

    /// The number of permits in use.
    pub fn in_use(&self) -> u32 {
        let free = u32::try_from(self.permits.available_permits()).unwrap_or(u32::MAX);
        self.max.saturating_sub(free)
    }

    fn limit_error(&self, max: u32, client: Option<ClientKey>) -> OperationError {
        OperationError::TooManyRequests {
            cause: LimitReached::Concurrency {
                resource: self.resource,
                client: client.map(|client| client.to_string()),
                max,
            },
            retry_after_ms: RETRY_AFTER_MS,
        }
    }
}

/// A permit of a [`ConcurrencyLimit`], released when it is dropped.
pub struct Permit {
    _global: OwnedSemaphorePermit,
    _client_share: Option<ClientShare>,
    rank: u32,
}

impl Permit {
    /// The number of other permits in use when this one was acquired.
    pub fn rank(&self) -> u32 {
        self.rank
    }
}

/// The per-client part of a permit.
struct ClientShare {
    by_client: Arc<Mutex<HashMap<ClientKey, u32>>>,
    client: ClientKey,
}

impl Drop for ClientShare {
    fn drop(&mut self) {
        let mut by_client = self.by_client.lock();
        if let Some(count) = by_client.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                by_client.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_released_and_a_rejection_takes_none() {
        let client = |text: &str| ClientKey::from_ip(text.parse().unwrap());
        let limit = ConcurrencyLimit::new(LimitedResource::Streams, 3, 2);
        let (one, other) = (client("10.0.0.1"), client("10.0.0.2"));
        let refused = |client| match limit.acquire(client).map(|permit| permit.rank()) {
            Err(OperationError::TooManyRequests { cause, .. }) => cause.to_string(),
            other => panic!("{other:?}"),
        };
        let permits = [limit.acquire(one).unwrap(), limit.acquire(one).unwrap()];
        assert_eq!(permits.each_ref().map(Permit::rank), [0, 1]);
        for _ in 0..10 {
            assert_eq!(
                refused(one),
                "limit `max_streams_per_client` reached: 2 event streams of 10.0.0.1 are open"
            );
        }
        let third = limit.acquire(other).unwrap();
        assert_eq!(
            refused(other),
            "limit `max_streams` reached: 3 event streams are open"
        );
        drop(third);
        assert!(limit.acquire(other).is_ok());
        drop(permits);
        assert!(limit.acquire(one).is_ok());
        assert_eq!(limit.in_use(), 0);
        assert!(limit.by_client.lock().is_empty());
    }
}
