//! The keys of acquires that run here or were answered, and when they are forgotten.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use futures::future::{BoxFuture, Shared, WeakShared};

use super::key::Print;
use crate::domain::{Fault, Timestamp};
use crate::server::operations::Acquired;

/// An acquire that runs, for all who wait for it.
pub(super) type Attempt = Shared<BoxFuture<'static, Result<Arc<Acquired>, Fault>>>;
/// The same, for those who only know of it.
pub(super) type WeakAttempt = WeakShared<BoxFuture<'static, Result<Arc<Acquired>, Fault>>>;

/// What happened to one key so far. Requests and names are kept as digests: they may be long, and may carry tokens.
pub(super) enum Entry {
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
pub(super) struct Book {
    most: usize,
    pub(super) entries: HashMap<Print, Entry>,
    /// Answers by age, and by the moment from which they are not given any more.
    pub(super) by_age: BTreeMap<u64, (Print, Timestamp)>,
    pub(super) by_end: BTreeSet<(Timestamp, u64)>,
    next_number: u64,
}

/// What stands under a key when somebody comes with it.
pub(super) enum Found {
    Answer(Arc<Acquired>),
    Running(Attempt),
    Started(Attempt),
    /// The key belongs to another request; its attempt is handed out only to be dropped without the lock.
    Another(Option<Attempt>),
}

impl Book {
    /// So many answers are remembered.
    pub(super) fn of(most: u32) -> Self {
        Self {
            most: usize::try_from(most).unwrap_or(usize::MAX),
            entries: HashMap::new(),
            by_age: BTreeMap::new(),
            by_end: BTreeSet::new(),
            next_number: 0,
        }
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    pub(super) fn remember(
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

    pub(super) fn forget_ended(&mut self, now: Timestamp) {
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
