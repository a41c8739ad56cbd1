//! Sessions of people who signed in: kept in memory, by the digest of what their browser has.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::secret::{SecretDigest, mint};
use crate::domain::Timestamp;
use crate::server::config::access::SessionsConfig;

/// So many sessions are kept in all; the one that was not used for longest ends first.
const MOST: usize = 10_000;
/// So many of one person.
const MOST_OF_ONE: usize = 50;
/// A clock that goes back further than this makes the age of sessions unknown: they end.
const LARGEST_STEP: Duration = Duration::from_mins(1);

/// A session, for everybody but the browser that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionKey(SecretDigest);

/// Everybody who is signed in.
pub struct Sessions {
    config: SessionsConfig,
    open: Mutex<HashMap<SecretDigest, Session>>,
}

struct Session {
    user: String,
    began: Timestamp,
    used: Timestamp,
}

impl Session {
    fn is_over(&self, config: &SessionsConfig, now: Timestamp) -> bool {
        now.since(self.used) >= config.idle
            || now.since(self.began) >= config.longest
            || self.used.since(now) > LARGEST_STEP
    }
}

impl Sessions {
    /// Nobody is signed in.
    pub fn new(config: SessionsConfig) -> Self {
        Self {
            config,
            open: Mutex::default(),
        }
    }

    /// How long a session lasts at most.
    pub fn longest(&self) -> Duration {
        self.config.longest
    }

    /// Begins one, and says what the browser is to have for it: nobody else ever hears that.
    pub async fn create(&self, user: &str, now: Timestamp) -> String {
        let secret = mint();
        let mut open = self.open();
        open.retain(|_, session| !session.is_over(&self.config, now));
        let of_user = open.values().filter(|session| session.user == user).count();
        if of_user >= MOST_OF_ONE {
            end_oldest(&mut open, |session| session.user == user);
        } else if open.len() >= MOST {
            end_oldest(&mut open, |_| true);
        }
        let session = Session {
            user: user.to_owned(),
            began: now,
            used: now,
        };
        open.insert(SecretDigest::of(&secret), session);
        secret
    }

    /// Whose session it is that somebody's browser has, if it goes on. It is in use then.
    pub async fn load(&self, secret: &str, now: Timestamp) -> Option<(SessionKey, String)> {
        let key = SecretDigest::of(secret);
        let mut open = self.open();
        let session = open.get_mut(&key)?;
        if session.is_over(&self.config, now) {
            open.remove(&key);
            return None;
        }
        session.used = now;
        Some((SessionKey(key), session.user.clone()))
    }

    /// Whether a session goes on. Asking does not count as use.
    pub async fn goes_on(&self, key: &SessionKey, now: Timestamp) -> bool {
        let open = self.open();
        let session = open.get(&key.0);
        session.is_some_and(|session| !session.is_over(&self.config, now))
    }

    /// Ends a session.
    pub async fn end(&self, key: &SessionKey) {
        self.open().remove(&key.0);
    }

    /// Ends every session of a person.
    pub async fn end_all_of(&self, user: &str) {
        self.open().retain(|_, session| session.user != user);
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SecretDigest, Session>> {
        // Only ever changed by whole sessions.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end_oldest(open: &mut HashMap<SecretDigest, Session>, of: impl Fn(&Session) -> bool) {
    let those = open.iter().filter(|(_, session)| of(session));
    let oldest = those.min_by_key(|(_, session)| session.used);
    if let Some(key) = oldest.map(|(key, _)| *key) {
        open.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: Timestamp = Timestamp::from_millis(1_000_000_000);

    fn sessions() -> Sessions {
        Sessions::new(SessionsConfig {
            idle: Duration::from_secs(100),
            longest: Duration::from_secs(250),
        })
    }

    fn at(seconds: i64) -> Timestamp {
        BEGIN.plus_millis(seconds * 1000)
    }

    #[tokio::test]
    async fn a_session_ends_when_it_is_idle_and_at_its_longest_in_any_case() {
        let sessions = sessions();
        let idle = sessions.create("alice", at(0)).await;
        let busy = sessions.create("alice", at(0)).await;
        for (second, goes_on) in [(90, true), (180, true), (249, true), (250, false)] {
            let loaded = sessions.load(&busy, at(second)).await;
            assert_eq!(loaded.is_some(), goes_on, "at {second}");
        }
        assert_eq!(sessions.load(&idle, at(100)).await, None);
        assert_eq!(sessions.load("", at(0)).await, None);
    }

    #[tokio::test]
    async fn watching_a_session_does_not_keep_it() {
        let sessions = sessions();
        let secret = sessions.create("alice", at(0)).await;
        let (key, user) = sessions.load(&secret, at(0)).await.unwrap();
        assert_eq!(user, "alice");
        assert!(sessions.goes_on(&key, at(99)).await);
        assert!(!sessions.goes_on(&key, at(100)).await);
    }

    #[tokio::test]
    async fn a_session_that_was_ended_is_over_at_once() {
        let sessions = sessions();
        let mut secrets = Vec::new();
        for user in ["alice", "alice", "alice", "bob"] {
            secrets.push(sessions.create(user, at(0)).await);
        }
        let (key, _) = sessions.load(&secrets[0], at(0)).await.unwrap();
        sessions.end(&key).await;
        assert!(!sessions.goes_on(&key, at(0)).await);
        assert_eq!(sessions.load(&secrets[0], at(0)).await, None);
        assert!(sessions.load(&secrets[1], at(0)).await.is_some());
        sessions.end_all_of("alice").await;
        assert_eq!(sessions.load(&secrets[1], at(0)).await, None);
        assert!(sessions.load(&secrets[3], at(0)).await.is_some());
    }

    #[tokio::test]
    async fn nobody_has_more_than_so_many_and_the_one_unused_for_longest_ends() {
        let sessions = sessions();
        let first = sessions.create("alice", at(0)).await;
        let second = sessions.create("alice", at(0)).await;
        for n in 2..MOST_OF_ONE {
            sessions
                .create("alice", at(i64::try_from(n).unwrap()))
                .await;
        }
        assert!(sessions.load(&first, at(60)).await.is_some());
        sessions.create("alice", at(61)).await;
        assert_eq!(sessions.load(&second, at(61)).await, None);
        assert!(sessions.load(&first, at(61)).await.is_some());
    }

    #[tokio::test]
    async fn a_clock_that_jumps_ends_sessions_rather_than_prolong_them() {
        let sessions = sessions();
        let secret = sessions.create("alice", at(0)).await;
        // Clocks are corrected by a little all the time.
        assert!(sessions.load(&secret, at(-30)).await.is_some());
        assert_eq!(sessions.load(&secret, at(-3600)).await, None);
        let secret = sessions.create("alice", at(0)).await;
        assert_eq!(sessions.load(&secret, at(3600)).await, None);
    }
}
