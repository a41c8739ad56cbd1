//! Repeated acquires: the same idempotency key joins the attempt that runs, or gets the first answer again.
//!
//! What is compared is the request as it was understood, not its bytes: a retry may write its JSON in another order. Keys
//! are told apart lock by lock. Nothing here prints a token or a key: whoever knows a key and its request gets the token.

mod claims;
mod key;
mod running;

use std::sync::Arc;
use std::time::Duration;

use super::{AcquireRequest, Acquired, Operations};
use crate::domain::{Fault, LockId, Timestamp};
use crate::server::access::Actor;
use crate::server::clock::Clock;
use crate::server::storage::Storage;
use claims::{Claim, Claims};
pub use key::IdempotencyKey;
use key::{print, scope};
use running::Attempts;

/// An answer to an acquire, and whether another request did the acquiring.
pub struct Given {
    /// The answer: the same for every repetition, but for the validity, which is that of now.
    pub acquired: Acquired,
    /// It was acquired by an earlier or simultaneous request with the same key.
    pub is_repeated: bool,
    /// It was answered before this request came.
    is_remembered: bool,
}

/// An acquire that succeeded.
struct Finished {
    acquired: Acquired,
    /// Until when it is given again.
    ends: Timestamp,
    /// It was done before, and its answer was found in storage.
    is_remembered: bool,
}

/// The acquires that run with a key, and the answers that are given again. Cheap to clone.
#[derive(Clone)]
pub struct Repeats {
    attempts: Attempts,
    claims: Claims,
}

impl Repeats {
    /// Remembers so many answers, in memory and in storage.
    pub fn new(max_answers: u32, storage: Storage, clock: Clock) -> Self {
        Self {
            attempts: Attempts::new(max_answers),
            claims: Claims {
                storage,
                clock,
                max_answers,
            },
        }
    }

    /// Acquires; with a key, only once for all requests that are the same.
    ///
    /// An answer is given again until its validity ends, or, where the lock is renewed from here, until the longest hold
    /// does, for as long as the lock is held; after that the repetition is told that it is over. It never takes the lock for
    /// somebody who has gone home.
    /// Failures are shared by those who waited together, and forgotten.
    pub async fn acquire(
        &self,
        operations: &Arc<Operations>,
        actor: Actor,
        key: Option<&IdempotencyKey>,
        id: LockId,
        request: AcquireRequest,
    ) -> Result<Given, Fault> {
        let Some(key) = key else {
            return Ok(Given {
                acquired: operations.acquire(&actor, &id, &request).await?,
                is_repeated: false,
                is_remembered: false,
            });
        };
        // An answer that is given again has the token in it: it goes to nobody who could not acquire the lock by now. Whoever may not
        // is refused as without a key.
        if operations.may_acquire(&actor, &id).is_err() {
            let acquired = operations.acquire(&actor, &id, &request).await?;
            return Ok(Given {
                acquired,
                is_repeated: false,
                is_remembered: false,
            });
        }
        let (asker, lock) = (actor.clone(), id.clone());
        let (scope, print) = (scope(&actor, &id, key), print(&request));
        let seal = claims::seal(key, actor.secret(), scope);
        let claim = Claim::new(self.claims.clone(), scope, print);
        let now = operations.index().now();
        let asked = Arc::clone(operations);
        let operations = Arc::clone(operations);
        let acquire = async move {
            let acquired = operations.acquire(&actor, &id, &request).await?;
            let kept = if request.auto_renew {
                operations.group(&id.group)?.config.locking.longest_hold
            } else {
                Duration::ZERO
            };
            let ends = acquired.expires_at.max(operations.index().now().plus(kept));
            Ok(Finished {
                acquired,
                ends,
                is_remembered: false,
            })
        };
        let acquire = async move { claim.once(seal, acquire).await };
        let mut given = self.attempts.once(scope, print, now, acquire).await?;
        // Keeping the answer took its time, and a remembered one may be of a lock that is over.
        let acquired = if given.is_remembered {
            asked.acquired_before(&lock, &given.acquired).await?
        } else {
            given.acquired.by_now(asked.index().now())
        };
        given.acquired = acquired;
        if given.is_repeated {
            asked.note_replay(&asker, &lock, &given.acquired).await?;
        }
        Ok(given)
    }
}

/// The refusal of a key that stands for another request.
fn another_request() -> Fault {
    Fault::Impossible {
        field: IdempotencyKey::NAME.to_owned(),
        detail: "stands for another request on this lock; take a new one for a new request"
            .to_owned(),
        min_ttl_ms: None,
    }
}

#[cfg(test)]
mod tests;
