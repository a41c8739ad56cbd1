//! The acquires with a key that run in this process, and what was answered lately.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use parking_lot::Mutex;

use super::key::Print;
use super::{Finished, Given, another_request};
use crate::domain::{Fault, Timestamp};

/// An acquire that runs, for all who wait for it.
type Attempt = Shared<BoxFuture<'static, Result<Arc<Finished>, Fault>>>;

/// Requests and names are kept as digests: they may be long, and may carry tokens.
#[derive(Clone)]
pub(super) struct Attempts(Arc<Inner>);

struct Inner {
    running: Mutex<HashMap<Print, Running>>,
    begun: AtomicU64,
    /// Answers, with the digests of their requests. The oldest is forgotten first: what a forgotten key repeats is an acquire like
    /// any other, which the first one's lease still refuses.
    answers: Cache<Print, (Print, Arc<Finished>)>,
}

/// Somebody waits for it. The attempt belongs to those who wait: when all of them are gone, so is it.
struct Running {
    request: Print,
    number: u64,
    attempt: WeakShared<BoxFuture<'static, Result<Arc<Finished>, Fault>>>,
}

/// What stands under a key when somebody comes with it.
enum Found {
    Answer(Arc<Finished>),
    Running(Attempt),
    Started(Attempt),
    /// The key belongs to another request; its attempt is handed out only to be dropped without the lock.
    Another(Option<Attempt>),
}

impl Attempts {
    /// So many answers are remembered.
    pub(super) fn new(max_answers: u32) -> Self {
        let answers = Cache::builder()
            .max_capacity(max_answers.into())
            .eviction_policy(EvictionPolicy::lru());
        Self(Arc::new(Inner {
            running: Mutex::default(),
            begun: AtomicU64::default(),
            answers: answers.build(),
        }))
    }

    /// Acquires, joins who does, or answers what was answered.
    pub(super) async fn once(
        &self,
        scope: Print,
        request: Print,
        now: Timestamp,
        acquire: impl Future<Output = Result<Finished, Fault>> + Send + 'static,
    ) -> Result<Given, Fault> {
        let found = self.find_or_start(scope, request, now, acquire);
        let is_answered = matches!(found, Found::Answer(_));
        let (finished, is_repeated) = match found {
            Found::Answer(finished) => (finished, true),
            Found::Running(attempt) => (attempt.await?, true),
            Found::Started(attempt) => (attempt.await?, false),
            Found::Another(_its_attempt) => return Err(another_request()),
        };
        Ok(Given {
            acquired: finished.acquired.clone(),
            is_repeated: is_repeated || finished.is_remembered,
            is_remembered: is_answered || finished.is_remembered,
        })
    }

    /// Nothing that could end an attempt may be dropped in here: its end wants the same lock.
    fn find_or_start(
        &self,
        scope: Print,
        request: Print,
        now: Timestamp,
        acquire: impl Future<Output = Result<Finished, Fault>> + Send + 'static,
    ) -> Found {
        let mut running = self.0.running.lock();
        let answer = self.0.answers.get(&scope);
        if let Some((first, finished)) = answer.filter(|(_, finished)| finished.ends > now) {
            return if first == request {
                Found::Answer(finished)
            } else {
                Found::Another(None)
            };
        }
        // Where there is none to upgrade, all who waited for it have gone this very moment.
        if let Some(first) = running.get(&scope)
            && let Some(attempt) = first.attempt.upgrade()
        {
            return if first.request == request {
                Found::Running(attempt)
            } else {
                Found::Another(Some(attempt))
            };
        }
        let number = self.0.begun.fetch_add(1, Ordering::Relaxed);
        let unfinished = Unfinished {
            attempts: self.clone(),
            scope,
            number,
        };
        let attempt = async move {
            // Moved in here, so that it ends with the attempt.
            let unfinished = unfinished;
            let finished = Arc::new(acquire.await?);
            let answers = &unfinished.attempts.0.answers;
            answers.insert(unfinished.scope, (request, Arc::clone(&finished)));
            // Only as many as may be remembered, at any time.
            answers.run_pending_tasks();
            Ok(finished)
        };
        let attempt = attempt.boxed().shared();
        let weak = attempt.downgrade();
        let begun = Running {
            request,
            number,
            attempt: weak.expect("nobody has polled it to its end"),
        };
        running.insert(scope, begun);
        Found::Started(attempt)
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, u64) {
        (self.0.running.lock().len(), self.0.answers.entry_count())
    }
}

/// Lives in an attempt: when that ends, or everybody who waited for it is gone, its key is free again.
struct Unfinished {
    attempts: Attempts,
    scope: Print,
    number: u64,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut running = self.attempts.0.running.lock();
        let is_this = |first: &Running| first.number == self.number;
        if running.get(&self.scope).is_some_and(is_this) {
            running.remove(&self.scope);
        }
    }
}
