//! The running acquires with a key in this process, and a cache of their responses.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use parking_lot::Mutex;

use super::key::RequestDigest;
use super::{CompletedAcquire, IdempotentResponse, key_reused_error};
use crate::domain::{OperationError, Timestamp};

/// A running acquire that several requests await.
type SharedAttempt = Shared<BoxFuture<'static, Result<Arc<CompletedAcquire>, OperationError>>>;

/// The acquires by scope. Requests and keys are stored as digests: they can be long and contain
/// tokens.
#[derive(Clone)]
pub(super) struct InFlightAcquires(Arc<InFlightState>);

struct InFlightState {
    running: Mutex<HashMap<RequestDigest, InFlightAcquire>>,
    next_id: AtomicU64,
    /// Responses, with the digests of their requests. The oldest is evicted first. A retry after
    /// that is an ordinary acquire, which the lease of the first one still blocks.
    responses: Cache<RequestDigest, (RequestDigest, Arc<CompletedAcquire>)>,
}

/// A running acquire. It is owned by the waiting requests: when all of them are dropped, it is
/// cancelled.
struct InFlightAcquire {
    request: RequestDigest,
    id: u64,
    attempt: WeakShared<BoxFuture<'static, Result<Arc<CompletedAcquire>, OperationError>>>,
}

/// The state of a key when a request arrives.
enum IdempotencyLookup {
    Completed(Arc<CompletedAcquire>),
    InFlight(SharedAttempt),
    Started(SharedAttempt),
    /// The key was used for a different request. The attempt is returned only so that it is dropped
    /// without holding the mutex.
    KeyReused(Option<SharedAttempt>),
}

impl InFlightAcquires {
    /// Creates a cache of at most this many responses.
    pub(super) fn new(max_responses: u32) -> Self {
        let responses = Cache::builder()
            .max_capacity(max_responses.into())
            .eviction_policy(EvictionPolicy::lru());
        Self(Arc::new(InFlightState {
            running: Mutex::default(),
            next_id: AtomicU64::default(),
            responses: responses.build(),
        }))
    }

    /// Runs the acquire, joins a running one, or returns the cached response.
    pub(super) async fn run_once(
        &self,
        scope: RequestDigest,
        request: RequestDigest,
        now: Timestamp,
        acquire: impl Future<Output = Result<CompletedAcquire, OperationError>> + Send + 'static,
    ) -> Result<IdempotentResponse, OperationError> {
        let lookup = self.find_or_start(scope, request, now, acquire);
        let is_cached = matches!(lookup, IdempotencyLookup::Completed(_));
        let (completed, is_replay) = match lookup {
            IdempotencyLookup::Completed(completed) => (completed, true),
            IdempotencyLookup::InFlight(attempt) => (attempt.await?, true),
            IdempotencyLookup::Started(attempt) => (attempt.await?, false),
            IdempotencyLookup::KeyReused(_its_attempt) => return Err(key_reused_error()),
        };
        Ok(IdempotentResponse {
            acquired: completed.acquired.clone(),
            is_replay: is_replay || completed.was_completed_before,
            was_completed_before: is_cached || completed.was_completed_before,
        })
    }

    /// Nothing that could drop an attempt may be dropped in here: its destructor locks the same
    /// mutex.
    fn find_or_start(
        &self,
        scope: RequestDigest,
        request: RequestDigest,
        now: Timestamp,
        acquire: impl Future<Output = Result<CompletedAcquire, OperationError>> + Send + 'static,
    ) -> IdempotencyLookup {
        let mut running = self.0.running.lock();
        let response = self.0.responses.get(&scope);
        if let Some((existing, completed)) =
            response.filter(|(_, completed)| completed.expires_at > now)
        {
            return if existing == request {
                IdempotencyLookup::Completed(completed)
            } else {
                IdempotencyLookup::KeyReused(None)
            };
        }
        // If the upgrade fails, all waiting requests have just been dropped.
        if let Some(existing) = running.get(&scope)
            && let Some(attempt) = existing.attempt.upgrade()
        {
            return if existing.request == request {
                IdempotencyLookup::InFlight(attempt)
            } else {
                IdempotencyLookup::KeyReused(Some(attempt))
            };
        }
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let guard = InFlightGuard {
            attempts: self.clone(),
            scope,
            id,
        };
        let attempt = async move {
            // Moved into the future, so that it is dropped with it.
            let guard = guard;
            let completed = Arc::new(acquire.await?);
            let responses = &guard.attempts.0.responses;
            responses.insert(guard.scope, (request, Arc::clone(&completed)));
            // Moka evicts lazily; this enforces the limit at any time.
            responses.run_pending_tasks();
            Ok(completed)
        };
        let attempt = attempt.boxed().shared();
        let weak = attempt.downgrade();
        let in_flight = InFlightAcquire {
            request,
            id,
            attempt: weak
                .expect("the future was created here and has not been polled to completion"),
        };
        running.insert(scope, in_flight);
        IdempotencyLookup::Started(attempt)
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, u64) {
        (self.0.running.lock().len(), self.0.responses.entry_count())
    }
}

/// Part of an attempt: frees its key when the attempt ends or all waiting requests are dropped.
struct InFlightGuard {
    attempts: InFlightAcquires,
    scope: RequestDigest,
    id: u64,
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let mut running = self.attempts.0.running.lock();
        let is_this = |existing: &InFlightAcquire| existing.id == self.id;
        if running.get(&self.scope).is_some_and(is_this) {
            running.remove(&self.scope);
        }
    }
}
