//! Sessions that several consoles share. Where nobody can be asked, those that were seen here lately go on for looking, and what
//! was ended here stays ended and is told as soon as somebody can be.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Loaded, SessionKey, Stamp};
use crate::domain::Fault;
use crate::server::access::secret::{SecretDigest, mint};
use crate::server::config::access::SessionsConfig;
use crate::server::shared::sessions::Found;
use crate::server::shared::{Gone, Shared};

/// So many sessions are known from before, and so many ends are kept until they can be told.
const MOST: usize = 10_000;

/// Sessions in the Redis that consoles share.
pub struct There {
    config: SessionsConfig,
    shared: Shared,
    known: Mutex<Known>,
}

/// What this console knows by itself.
#[derive(Default)]
struct Known {
    /// Whose a session was when it was looked up last, and when that was.
    seen: HashMap<SecretDigest, (Found, Instant)>,
    /// What was ended and could not be told: a session of a person, or all of theirs.
    untold: Vec<(String, Option<SecretDigest>)>,
}

impl There {
    pub fn new(config: SessionsConfig, shared: Shared) -> Self {
        Self {
            config,
            shared,
            known: Mutex::default(),
        }
    }

    pub async fn create(&self, user: &str, stamp: Stamp, max: Duration) -> Result<String, Fault> {
        self.tell_what_ended().await?;
        let (secret, spans) = (mint(), (self.config.idle, max));
        let (digest, stamp) = (SecretDigest::of(&secret), stamp.to_string());
        self.shared
            .begin_session(&digest.digits(), user, &stamp, spans)
            .await?;
        let person = user.to_owned();
        self.known().note(digest, Some(Found { person, stamp }));
        Ok(secret)
    }

    pub async fn load(&self, digest: SecretDigest) -> Result<Option<Loaded>, Fault> {
        let looked_up = match self.tell_what_ended().await {
            Ok(()) => {
                let (digits, idle) = (digest.digits(), Some(self.config.idle));
                self.shared.load_session(&digits, idle).await
            }
            Err(gone) => Err(gone),
        };
        let is_confirmed = looked_up.is_ok();
        let found = match looked_up {
            Ok(found) => {
                self.known().note(digest, found.clone());
                found
            }
            // Who is known from before may look; of others nothing can be said.
            Err(gone) => Some(self.seen(digest).ok_or(gone)?),
        };
        Ok(found.and_then(|found| {
            let stamp = Stamp::read(&found.stamp)?;
            Some(Loaded {
                key: SessionKey { digest, stamp },
                user: found.person,
                is_confirmed,
            })
        }))
    }

    pub async fn goes_on(&self, key: &SessionKey) -> bool {
        match self.shared.load_session(&key.digest.digits(), None).await {
            Ok(found) => {
                let goes_on = found.is_some() && self.known().is_not_ended(key.digest);
                self.known().note(key.digest, found);
                goes_on
            }
            Err(_) => self.seen(key.digest).is_some(),
        }
    }

    pub async fn end(&self, user: &str, digest: Option<SecretDigest>) {
        self.known().end(user, digest);
        // Where it cannot be told now, it is with whatever is asked next.
        let _told_later = self.tell_what_ended().await;
    }

    /// Tells what was ended here, before anything else is asked.
    async fn tell_what_ended(&self) -> Result<(), Gone> {
        loop {
            let Some((user, digest)) = self.known().untold.first().cloned() else {
                return Ok(());
            };
            let digits = digest.map(|digest| digest.digits());
            self.shared.end_sessions(&user, digits.as_deref()).await?;
            let told = (user, digest);
            self.known().untold.retain(|untold| *untold != told);
        }
    }

    /// A session that was looked up here no longer ago than one may be idle.
    fn seen(&self, digest: SecretDigest) -> Option<Found> {
        let known = self.known();
        let (found, at) = known.seen.get(&digest)?;
        (at.elapsed() < self.config.idle).then(|| found.clone())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Only ever changed by whole sessions.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn note(&mut self, digest: SecretDigest, found: Option<Found>) {
        let Some(found) = found else {
            self.seen.remove(&digest);
            return;
        };
        if self.seen.len() >= MOST && !self.seen.contains_key(&digest) {
            let oldest = self.seen.iter().min_by_key(|(_, (_, at))| *at);
            if let Some(oldest) = oldest.map(|(digest, _)| *digest) {
                self.seen.remove(&oldest);
            }
        }
        self.seen.insert(digest, (found, Instant::now()));
    }

    fn end(&mut self, user: &str, digest: Option<SecretDigest>) {
        match digest {
            Some(digest) => drop(self.seen.remove(&digest)),
            None => self.seen.retain(|_, (found, _)| found.person != user),
        }
        let ended = (user.to_owned(), digest);
        if self.untold.len() < MOST && !self.untold.contains(&ended) {
            self.untold.push(ended);
        }
    }

    fn is_not_ended(&self, digest: SecretDigest) -> bool {
        !self.untold.iter().any(|(_, ended)| *ended == Some(digest))
    }
}
