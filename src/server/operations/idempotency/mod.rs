//! Repeated acquires: the same idempotency key joins the attempt that runs, or gets the first answer again.
//!
//! What is compared is the request as it was understood, not its bytes: a retry may write its JSON in another order. Keys
//! are told apart lock by lock. Nothing here prints a token or a key: whoever knows a key and its request gets the token.

mod book;
mod elsewhere;
mod key;
mod sealed;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;

use super::{AcquireRequest, Acquired, Operations};
use crate::domain::{Fault, LockId, Timestamp};
use crate::server::access::Actor;
use crate::server::shared::Shared;
use book::{Book, Entry, Found};
use elsewhere::Elsewhere;
pub use key::IdempotencyKey;
use key::{Print, print, scope};
use sealed::Seal;

/// An answer to an acquire, and whether another request did the acquiring.
pub struct Given {
    /// The answer, the very same for every repetition.
    pub acquired: Arc<Acquired>,
    /// It was acquired by an earlier or simultaneous request with the same key.
    pub is_repeated: bool,
}

/// The acquires that run with a key, and the answers that are given again. Cheap to clone.
#[derive(Clone)]
pub struct Repeats {
    book: Arc<Mutex<Book>>,
    shared: Option<Shared>,
}

impl Repeats {
    /// Remembers so many answers; with `shared`, also those of all consoles that share it.
    pub fn new(most: u32, shared: Option<Shared>) -> Self {
        Self {
            book: Arc::new(Mutex::new(Book::of(most))),
            shared,
        }
    }

    /// Acquires; with a key, only once for all requests that are the same.
    ///
    /// An answer is given again until its validity ends, or, where the lock is renewed from here, until the longest hold
    /// does. Also after a release: a repetition that comes late must not take the lock for somebody who has gone home.
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
                acquired: Arc::new(operations.acquire(&actor, &id, &request).await?),
                is_repeated: false,
            });
        };
        // An answer that is given again has the token in it: it goes to nobody who could not acquire the lock by now. Whoever may not
        // is refused as without a key.
        if operations.may_acquire(&actor, &id).is_err() {
            let acquired = operations.acquire(&actor, &id, &request).await?;
            return Ok(Given {
                acquired: Arc::new(acquired),
                is_repeated: false,
            });
        }
        let (asker, lock) = (actor.clone(), id.clone());
        let (scope, print) = (scope(&actor, &id, key), print(&request));
        let elsewhere = self.shared.clone().map(|shared| {
            let seal = Seal::of(key, actor.secret(), scope);
            Elsewhere::new(shared, scope, print, seal)
        });
        let was_elsewhere = Arc::new(AtomicBool::new(false));
        let tells = Arc::clone(&was_elsewhere);
        let now = operations.index().now();
        let hand_out = Arc::clone(operations);
        let operations = Arc::clone(operations);
        let acquire = async move {
            let acquired = operations.acquire(&actor, &id, &request).await?;
            let kept = if request.auto_renew {
                operations.group(&id.group)?.config.locking.longest_hold
            } else {
                Duration::ZERO
            };
            let ends = acquired.expires_at.max(operations.index().now().plus(kept));
            Ok((acquired, ends))
        };
        let acquire = async move {
            let Some(elsewhere) = elsewhere else {
                return acquire.await;
            };
            let (acquired, ends, is_from_there) = elsewhere.once(acquire).await?;
            tells.store(is_from_there, Ordering::Relaxed);
            Ok((acquired, ends))
        };
        let mut given = self.once(scope, print, now, acquire).await?;
        given.is_repeated |= was_elsewhere.load(Ordering::Relaxed);
        if given.is_repeated {
            hand_out.note_replay(&asker, &lock, &given.acquired).await?;
        }
        Ok(given)
    }

    async fn once(
        &self,
        scope: Print,
        request: Print,
        now: Timestamp,
        acquire: impl Future<Output = Result<(Acquired, Timestamp), Fault>> + Send + 'static,
    ) -> Result<Given, Fault> {
        let found = self.find_or_start(scope, request, now, acquire);
        let (acquired, is_repeated) = match found {
            Found::Answer(acquired) => (acquired, true),
            Found::Running(attempt) => (attempt.await?, true),
            Found::Started(attempt) => (attempt.await?, false),
            Found::Another(_its_attempt) => {
                return Err(another_request());
            }
        };
        Ok(Given {
            acquired,
            is_repeated,
        })
    }

    /// Nothing that could end an attempt may be dropped in here: its end wants the same lock.
    fn find_or_start(
        &self,
        scope: Print,
        request: Print,
        now: Timestamp,
        acquire: impl Future<Output = Result<(Acquired, Timestamp), Fault>> + Send + 'static,
    ) -> Found {
        let mut book = self.book();
        book.forget_ended(now);
        match book.entries.get(&scope) {
            Some(Entry::Answered {
                request: first,
                acquired,
            }) => {
                return if *first == request {
                    Found::Answer(Arc::clone(acquired))
                } else {
                    Found::Another(None)
                };
            }
            Some(Entry::Running {
                request: first,
                attempt,
                ..
            }) => match attempt.upgrade() {
                Some(attempt) if *first == request => return Found::Running(attempt),
                Some(attempt) => return Found::Another(Some(attempt)),
                // All who waited for it have gone this very moment.
                None => {}
            },
            None => {}
        }
        let number = book.number();
        let unfinished = Unfinished {
            repeats: self.clone(),
            scope,
            number,
        };
        let attempt = async move {
            let (acquired, ends) = acquire.await?;
            let acquired = Arc::new(acquired);
            unfinished
                .repeats
                .book()
                .remember(scope, request, &acquired, ends);
            Ok(acquired)
        };
        let attempt = attempt.boxed().shared();
        let weak = attempt.downgrade();
        book.entries.insert(
            scope,
            Entry::Running {
                request,
                attempt: weak.expect("nobody has polled it to its end"),
                number,
            },
        );
        Found::Started(attempt)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // Every change below is made whole before anything can panic.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The refusal of a key that stands for another request.
fn another_request() -> Fault {
    Fault::Impossible {
        field: IdempotencyKey::NAME.to_owned(),
        detail: "stands for another request on this lock; take a new one for a new request"
            .to_owned(),
    }
}

/// Lives in an attempt: when that fails, or everybody who waited for it is gone, its key is free again.
struct Unfinished {
    repeats: Repeats,
    scope: Print,
    number: u64,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut book = self.repeats.book();
        let is_this = matches!(
            book.entries.get(&self.scope),
            Some(Entry::Running { number, .. }) if *number == self.number
        );
        if is_this {
            book.entries.remove(&self.scope);
        }
    }
}

#[cfg(test)]
mod tests;
