//! Repeated acquires: the same idempotency key joins the attempt that runs, or gets the first answer again.
//!
//! What is compared is the request as it was understood, not its bytes: a retry may write its JSON in another order. Keys
//! are told apart lock by lock. Nothing here prints a token or a key: whoever knows a key and its request gets the token.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use sha2::{Digest as _, Sha256};

use super::{AcquireRequest, Acquired, Operations};
use crate::domain::{Fault, LockId, Timestamp};
use crate::server::access::Actor;

/// What a client calls one acquire of its own, to be able to repeat it. As good as the token, so its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The header that carries it.
    pub const NAME: &'static str = "Idempotency-Key";
    /// The longest one, in characters.
    pub const LONGEST: usize = 255;

    /// The key with these bytes: 1 to 255 visible ASCII characters, quotes included if there are any.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let refused = |detail: String| Fault::Impossible {
            field: Self::NAME.to_owned(),
            detail,
        };
        if bytes.is_empty() {
            return Err(refused("is empty".to_owned()));
        }
        if bytes.len() > Self::LONGEST {
            return Err(refused(format!(
                "is longer than {} characters",
                Self::LONGEST
            )));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if bytes.iter().all(u8::is_ascii_graphic) => Ok(Self(text.to_owned())),
            Ok(_) | Err(_) => Err(refused(
                "has something else in it than visible ASCII characters".to_owned(),
            )),
        }
    }
}

impl std::fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IdempotencyKey(…)")
    }
}

/// An answer to an acquire, and whether another request did the acquiring.
pub struct Given {
    /// The answer, the very same for every repetition.
    pub acquired: Arc<Acquired>,
    /// It was acquired by an earlier or simultaneous request with the same key.
    pub is_repeated: bool,
}

/// The acquires that run with a key, and the answers that are given again. Cheap to clone.
#[derive(Clone)]
pub struct Repeats(Arc<Mutex<Book>>);

type Print = [u8; 32];
type Attempt = Shared<BoxFuture<'static, Result<Arc<Acquired>, Fault>>>;
type WeakAttempt = WeakShared<BoxFuture<'static, Result<Arc<Acquired>, Fault>>>;

/// What happened to one key so far. Requests and names are kept as digests: they may be long, and may carry tokens.
enum Entry {
    /// Somebody waits for it. The attempt belongs to those who wait: when all of them are gone, so is it.
    Running {
        request: Print,
        attempt: WeakAttempt,
        number: u64,
    },
    /// It was acquired.
    Answered {
        request: Print,
        acquired: Arc<Acquired>,
    },
}

/// All keys. Attempts that run are as many as requests; answers are at most `most`, and the oldest is forgotten first: what
/// a forgotten key repeats is an acquire like any other, which the first one's lease still refuses.
struct Book {
    most: usize,
    entries: HashMap<Print, Entry>,
    /// Answers by age, and by the moment from which they are not given any more.
    by_age: BTreeMap<u64, (Print, Timestamp)>,
    by_end: BTreeSet<(Timestamp, u64)>,
    next_number: u64,
}

enum Found {
    Answer(Arc<Acquired>),
    Running(Attempt),
    Started(Attempt),
    /// The key belongs to another request; its attempt is handed out only to be dropped without the lock.
    Another(Option<Attempt>),
}

impl Repeats {
    /// Remembers so many answers.
    pub fn new(most: u32) -> Self {
        Self(Arc::new(Mutex::new(Book {
            most: usize::try_from(most).unwrap_or(usize::MAX),
            entries: HashMap::new(),
            by_age: BTreeMap::new(),
            by_end: BTreeSet::new(),
            next_number: 0,
        })))
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
        let (scope, print) = (scope(&actor, &id, key), print(&request));
        let now = operations.index().now();
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
        self.once(scope, print, now, acquire).await
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
                return Err(Fault::Impossible {
                    field: IdempotencyKey::NAME.to_owned(),
                    detail:
                        "stands for another request on this lock; take a new one for a new request"
                            .to_owned(),
                });
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Book {
    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    fn remember(
        &mut self,
        scope: Print,
        request: Print,
        acquired: &Arc<Acquired>,
        ends: Timestamp,
    ) {
        let number = self.number();
        let acquired = Arc::clone(acquired);
        let entry = Entry::Answered { request, acquired };
        self.entries.insert(scope, entry);
        self.by_age.insert(number, (scope, ends));
        self.by_end.insert((ends, number));
        if self.by_age.len() > self.most
            && let Some((&oldest, _)) = self.by_age.first_key_value()
        {
            self.forget(oldest);
        }
    }

    fn forget_ended(&mut self, now: Timestamp) {
        while let Some(&(_, number)) = self.by_end.first().filter(|(ends, _)| *ends <= now) {
            self.forget(number);
        }
    }

    fn forget(&mut self, number: u64) {
        if let Some((scope, ends)) = self.by_age.remove(&number) {
            self.by_end.remove(&(ends, number));
            self.entries.remove(&scope);
        }
    }
}

/// What a key stands for is decided lock by lock, and for everybody alone: two locks may use the same, and who guesses that of
/// somebody else gets no token.
fn scope(actor: &Actor, id: &LockId, key: &IdempotencyKey) -> Print {
    let (kind, name) = actor.identity();
    digest(&[
        kind.as_bytes(),
        name.as_bytes(),
        id.group.as_bytes(),
        id.key.as_bytes(),
        key.0.as_bytes(),
    ])
}

fn print(request: &AcquireRequest) -> Print {
    // Named one by one, so that a new field is not forgotten here.
    let AcquireRequest {
        ttl_ms,
        wait_ms,
        label,
        format,
        token,
        auto_renew,
    } = request;
    let optional = |text: &Option<String>| match text {
        Some(text) => format!("+{text}"),
        None => String::new(),
    };
    digest(&[
        &ttl_ms.to_be_bytes(),
        &wait_ms.to_be_bytes(),
        optional(label).as_bytes(),
        format.slug().as_bytes(),
        optional(token).as_bytes(),
        &[u8::from(*auto_renew)],
    ])
}

/// Each part with its length before it, so that no two lists of parts look alike.
fn digest(parts: &[&[u8]]) -> Print {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
#[path = "idempotency_tests.rs"]
mod tests;
