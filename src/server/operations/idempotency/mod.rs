//! Idempotent acquires: a request with the same idempotency key joins the running acquire, or
//! receives the first response again.
//!
//! Requests are compared after parsing, not by their bytes, because a retry may order its JSON
//! fields differently. Keys are scoped by lock. Tokens and keys are never logged: a client that
//! knows a key and its request receives the token.

mod claim;
mod in_flight;
mod key;

use std::sync::Arc;
use std::time::Duration;

use super::{AcquireRequest, AcquiredLock, Operations};
use crate::domain::operation_error::InvalidValue;
use crate::domain::{LockId, OperationError, Timestamp};
use crate::server::access::Principal;
use crate::server::clock::Clock;
use crate::server::storage::Storage;
use claim::{ClaimStore, IdempotencyClaim};
use in_flight::InFlightAcquires;
pub use key::IdempotencyKey;
use key::{request_digest, scope_digest};

/// The response to an acquire, and whether it is a replay.
pub struct IdempotentResponse {
    /// The response: equal for all replays, except for the validity, which is current.
    pub acquired: AcquiredLock,
    /// An earlier or simultaneous request with the same key acquired the lock.
    pub is_replay: bool,
    /// The acquire was completed before this request arrived.
    was_completed_before: bool,
}

/// A successful acquire.
struct CompletedAcquire {
    acquired: AcquiredLock,
    /// Until when it is replayed.
    expires_at: Timestamp,
    /// The response was found in the database.
    was_completed_before: bool,
}

/// The running acquires with a key, and the responses that can be replayed. Cheap to clone.
#[derive(Clone)]
pub struct IdempotencyStore {
    in_flight: InFlightAcquires,
    claims: ClaimStore,
}

impl IdempotencyStore {
    /// Creates a store of at most `max_answers` responses, in memory and in the database.
    pub fn new(max_responses: u32, storage: Storage, clock: Clock) -> Self {
        Self {
            in_flight: InFlightAcquires::new(max_responses),
            claims: ClaimStore {
                storage,
                clock,
                max_responses,
            },
        }
    }

    /// Acquires a lock; with a key, once for all equal requests.
    ///
    /// A response is replayed while the lock is held: until its validity ends or, for an
    /// auto-renewed lock, until the maximum hold duration. After that a replay returns an error; it
    /// never acquires the lock again. Errors are shared by requests that waited at the same time,
    /// and not stored.
    pub async fn acquire(
        &self,
        operations: &Arc<Operations>,
        principal: Principal,
        key: Option<&IdempotencyKey>,
        id: LockId,
        request: AcquireRequest,
    ) -> Result<IdempotentResponse, OperationError> {
        let Some(key) = key else {
            return Ok(IdempotentResponse {
                acquired: operations.acquire(&principal, &id, &request).await?,
                is_replay: false,
                was_completed_before: false,
            });
        };
        // A replayed response contains the token, so the principal must still be allowed to acquire
        // the lock. Otherwise the request fails as without a key.
        if operations.authorize_acquire(&principal, &id).is_err() {
            let acquired = operations.acquire(&principal, &id, &request).await?;
            return Ok(IdempotentResponse {
                acquired,
                is_replay: false,
                was_completed_before: false,
            });
        }
        let (replay_principal, lock) = (principal.clone(), id.clone());
        let (scope, request_digest) =
            (scope_digest(&principal, &id, key), request_digest(&request));
        let seal = claim::response_seal(key, principal.secret(), scope);
        let claim = IdempotencyClaim::new(self.claims.clone(), scope, request_digest);
        let now = operations.index().now();
        let replay_operations = Arc::clone(operations);
        let operations = Arc::clone(operations);
        let acquire = async move {
            let acquired = operations.acquire(&principal, &id, &request).await?;
            let replay_for = if request.auto_renew {
                operations.group(&id.group)?.config.locking.max_hold
            } else {
                Duration::ZERO
            };
            let expires_at = acquired
                .expires_at
                .max(operations.index().now().plus(replay_for));
            Ok(CompletedAcquire {
                acquired,
                expires_at,
                was_completed_before: false,
            })
        };
        let acquire = async move { claim.run_once(seal, acquire).await };
        let mut response = self
            .in_flight
            .run_once(scope, request_digest, now, acquire)
            .await?;
        // Storing the response took time, and the lock of a stored response may have ended.
        let acquired = if response.was_completed_before {
            replay_operations
                .refresh_acquired(&lock, &response.acquired)
                .await?
        } else {
            response
                .acquired
                .with_remaining_validity(replay_operations.index().now())
        };
        response.acquired = acquired;
        if response.is_replay {
            replay_operations
                .audit_replay(&replay_principal, &lock, &response.acquired)
                .await?;
        }
        Ok(response)
    }
}

/// The error for a key that was used for a different request.
fn key_reused_error() -> OperationError {
    OperationError::invalid_field(IdempotencyKey::NAME, InvalidValue::KeyReused)
}

#[cfg(test)]
mod tests;
