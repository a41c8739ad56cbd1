//! Sessions that only this console knows: kept in memory, by the digest of what somebody's browser has.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Loaded, SessionKey, Stamp};
use crate::domain::Timestamp;
use crate::server::access::secret::{SecretDigest, mint};
use crate::server::config::access::SessionsConfig;

/// So many sessions are kept in all; the one that was not used for longest ends first.
const MOST: usize = 10_000;
/// So many of one person.
const MOST_OF_ONE: usize = 50;
/// A clock that goes back further than this makes the age of sessions unknown: they end.
const LARGEST_STEP: Duration = Duration::from_mins(1);

/// Everybody who is signed in.
pub struct Here {
    config: SessionsConfig,
    open: Mutex<HashMap<SecretDigest, Session>>,
}

struct Session {
    user: String,
    stamp: Stamp,
    began: Timestamp,
    used: Timestamp,
    max: Duration,
}

impl Session {
    fn is_over(&self, config: &SessionsConfig, now: Timestamp) -> bool {
        now.since(self.used) >= config.idle
            || now.since(self.began) >= self.max
            || self.used.since(now) > LARGEST_STEP
    }
}

impl Here {
    /// Nobody is signed in.
    pub fn new(config: SessionsConfig) -> Self {
        Self {
            config,
            open: Mutex::default(),
        }
    }

    /// Begins one, and says what the browser is to have for it: nobody else ever hears that.
    pub fn create(&self, user: &str, stamp: Stamp, max: Duration, now: Timestamp) -> String {
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
            stamp,
            began: now,
            used: now,
            max,
        };
        open.insert(SecretDigest::of(&secret), session);
        secret
    }

    /// Whose session it is that somebody's browser has, if it goes on. It is in use then.
    pub fn load(&self, digest: SecretDigest, now: Timestamp) -> Option<Loaded> {
        let mut open = self.open();
        let session = open.get_mut(&digest)?;
        if session.is_over(&self.config, now) {
            open.remove(&digest);
            return None;
        }
        session.used = now;
        Some(Loaded {
            key: SessionKey {
                digest,
                stamp: session.stamp,
            },
            user: session.user.clone(),
            is_confirmed: true,
        })
    }

    /// Whether a session goes on. Asking does not count as use.
    pub fn goes_on(&self, key: &SessionKey, now: Timestamp) -> bool {
        let open = self.open();
        let session = open.get(&key.digest);
        session.is_some_and(|session| !session.is_over(&self.config, now))
    }

    /// Ends a session.
    pub fn end(&self, key: &SessionKey) {
        self.open().remove(&key.digest);
    }

    /// Ends every session of a person.
    pub fn end_all_of(&self, user: &str) {
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

    fn sessions() -> Here {
        Here::new(SessionsConfig {
            idle: Duration::from_secs(100),
            longest: Duration::from_secs(250),
        })
    }

    fn create(sessions: &Here, user: &str, now: Timestamp) -> String {
        sessions.create(user, Stamp(7), sessions.config.longest, now)
    }

    fn load(sessions: &Here, secret: &str, now: Timestamp) -> Option<Loaded> {
        sessions.load(SecretDigest::of(secret), now)
    }

    fn at(seconds: i64) -> Timestamp {
        BEGIN.plus_millis(seconds * 1000)
    }

    #[test]
    fn a_session_ends_when_it_is_idle_and_at_its_longest_in_any_case() {
        let sessions = sessions();
        let idle = create(&sessions, "alice", at(0));
        let busy = create(&sessions, "alice", at(0));
        for (second, goes_on) in [(90, true), (180, true), (249, true), (250, false)] {
            let loaded = load(&sessions, &busy, at(second));
            assert_eq!(loaded.is_some(), goes_on, "at {second}");
        }
        assert_eq!(load(&sessions, &idle, at(100)), None);
        assert_eq!(load(&sessions, "", at(0)), None);
    }

    #[test]
    fn watching_a_session_does_not_keep_it() {
        let sessions = sessions();
        let secret = create(&sessions, "alice", at(0));
        let Loaded { key, user, .. } = load(&sessions, &secret, at(0)).unwrap();
        assert_eq!((user.as_str(), key.stamp), ("alice", Stamp(7)));
        assert!(sessions.goes_on(&key, at(99)));
        assert!(!sessions.goes_on(&key, at(100)));
    }

    #[test]
    fn a_session_that_was_ended_is_over_at_once() {
        let sessions = sessions();
        let mut secrets = Vec::new();
        for user in ["alice", "alice", "alice", "bob"] {
            secrets.push(create(&sessions, user, at(0)));
        }
        let Loaded { key, .. } = load(&sessions, &secrets[0], at(0)).unwrap();
        sessions.end(&key);
        assert!(!sessions.goes_on(&key, at(0)));
        assert_eq!(load(&sessions, &secrets[0], at(0)), None);
        assert!(load(&sessions, &secrets[1], at(0)).is_some());
        sessions.end_all_of("alice");
        assert_eq!(load(&sessions, &secrets[1], at(0)), None);
        assert!(load(&sessions, &secrets[3], at(0)).is_some());
    }

    #[test]
    fn nobody_has_more_than_so_many_and_the_one_unused_for_longest_ends() {
        let sessions = sessions();
        let first = create(&sessions, "alice", at(0));
        let second = create(&sessions, "alice", at(0));
        for n in 2..MOST_OF_ONE {
            create(&sessions, "alice", at(i64::try_from(n).unwrap()));
        }
        assert!(load(&sessions, &first, at(60)).is_some());
        create(&sessions, "alice", at(61));
        assert_eq!(load(&sessions, &second, at(61)), None);
        assert!(load(&sessions, &first, at(61)).is_some());
    }

    #[test]
    fn a_clock_that_jumps_ends_sessions_rather_than_prolong_them() {
        let sessions = sessions();
        let secret = create(&sessions, "alice", at(0));
        // Clocks are corrected by a little all the time.
        assert!(load(&sessions, &secret, at(-30)).is_some());
        assert_eq!(load(&sessions, &secret, at(-3600)), None);
        let secret = create(&sessions, "alice", at(0));
        assert_eq!(load(&sessions, &secret, at(3600)), None);
    }
}
