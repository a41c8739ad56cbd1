//! A concurrency limit: so many permits in all, and so many of them for one client.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Client, RETRY_AFTER_MS};
use crate::domain::Fault;

/// How many of something may go on at once. Clones share their permits.
#[derive(Clone)]
pub struct ConcurrencyLimit {
    /// The limit's name in the configuration; the one of each client is called the same with `_per_client` behind it.
    name: &'static str,
    /// What is limited and what it does, in words: `("event streams", "are open")`.
    what: (&'static str, &'static str),
    max: u32,
    max_per_client: u32,
    permits: Arc<Semaphore>,
    by_client: Arc<Mutex<HashMap<Client, u32>>>,
}

impl ConcurrencyLimit {
    /// All permits are free.
    pub fn new(
        name: &'static str,
        what: (&'static str, &'static str),
        max: u32,
        max_per_client: u32,
    ) -> Self {
        Self {
            name,
            what,
            max,
            max_per_client,
            permits: Arc::new(Semaphore::new(max as usize)),
            by_client: Arc::default(),
        }
    }

    /// A permit for this client; [`Fault::TooMany`] with the limit's name if there is none left, in all or for the client.
    pub fn acquire(&self, client: Client) -> Result<Permit, Fault> {
        // Held throughout, so that a client that is refused takes no permit from others, not for a moment either.
        let mut by_client = self.by_client.lock();
        let in_all = self.acquire_in_all()?;
        let count = by_client.entry(client).or_default();
        if *count >= self.max_per_client {
            return Err(self.too_many("_per_client", self.max_per_client, Some(client)));
        }
        *count += 1;
        drop(by_client);
        let of_client = ClientShare {
            by_client: Arc::clone(&self.by_client),
            client,
        };
        Ok(Permit {
            _of_client: Some(of_client),
            ..in_all
        })
    }

    /// A permit that counts for no client, because the caller speaks for many.
    pub fn acquire_in_all(&self) -> Result<Permit, Fault> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| self.too_many("", self.max, None))?;
        Ok(Permit {
            _in_all: permit,
            _of_client: None,
            rank: self.count().saturating_sub(1),
        })
    }

    /// How many permits are taken.
    pub fn count(&self) -> u32 {
        let free = u32::try_from(self.permits.available_permits()).unwrap_or(u32::MAX);
        self.max.saturating_sub(free)
    }

    fn too_many(&self, of_client: &str, max: u32, client: Option<Client>) -> Fault {
        let (noun, verb) = self.what;
        let of = client.map_or_else(String::new, |client| format!(" of {client}"));
        let name = self.name;
        Fault::TooMany {
            detail: format!(
                "the limit `{name}{of_client}` is reached: {max} {noun}{of} {verb} already"
            ),
            retry_after_ms: RETRY_AFTER_MS,
        }
    }
}

/// One of the permits of a [`ConcurrencyLimit`], given back when it is dropped.
pub struct Permit {
    _in_all: OwnedSemaphorePermit,
    _of_client: Option<ClientShare>,
    rank: u32,
}

impl Permit {
    /// How many permits were taken when this one was.
    pub fn rank(&self) -> u32 {
        self.rank
    }
}

/// What a permit counts for its client.
struct ClientShare {
    by_client: Arc<Mutex<HashMap<Client, u32>>>,
    client: Client,
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
    fn permits_are_given_back_and_a_refusal_takes_none() {
        let client = |text: &str| Client::of(text.parse().unwrap());
        let limit = ConcurrencyLimit::new("streams", ("streams", "are open"), 3, 2);
        let (one, other) = (client("10.0.0.1"), client("10.0.0.2"));
        let refused = |client| match limit.acquire(client).map(|permit| permit.rank()) {
            Err(Fault::TooMany { detail, .. }) => detail,
            other => panic!("{other:?}"),
        };
        let permits = [limit.acquire(one).unwrap(), limit.acquire(one).unwrap()];
        assert_eq!(permits.each_ref().map(Permit::rank), [0, 1]);
        for _ in 0..10 {
            assert_eq!(
                refused(one),
                "the limit `streams_per_client` is reached: 2 streams of 10.0.0.1 are open already"
            );
        }
        let third = limit.acquire(other).unwrap();
        assert_eq!(
            refused(other),
            "the limit `streams` is reached: 3 streams are open already"
        );
        drop(third);
        assert!(limit.acquire(other).is_ok());
        drop(permits);
        assert!(limit.acquire(one).is_ok());
        assert_eq!(limit.count(), 0);
        assert!(limit.by_client.lock().is_empty());
    }
}
