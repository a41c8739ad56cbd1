//! Sessions of people who signed in: known to this console alone, or to all that share a Redis.

mod here;
mod there;

use std::fmt;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use sha2::{Digest as _, Sha256};

use super::secret::SecretDigest;
use crate::domain::{Fault, Timestamp};
use crate::server::config::access::SessionsConfig;
use crate::server::shared::Shared;
use here::Here;
use there::There;

/// A session, for everybody but the browser that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionKey {
    digest: SecretDigest,
    stamp: Stamp,
}

impl SessionKey {
    /// What let somebody in when it began.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }
}

/// What a password, or whatever else lets somebody in, is known by, without being a way to guess it: another one has another
/// stamp, on every console and after every restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(u64);

impl Stamp {
    /// Of the password with this hash.
    pub fn of(hash: &PasswordHash) -> Self {
        Self::of_digest(Sha256::digest(hash.to_string()).into())
    }

    /// Of something else that lets somebody in, which has these parts.
    pub fn of_parts(parts: &[&str]) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            // With its length: what ends one part cannot begin the next.
            digest.update(part.len().to_string());
            digest.update(" ");
            digest.update(part);
        }
        Self::of_digest(digest.finalize().into())
    }

    fn of_digest(digest: [u8; 32]) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = digest;
        Self(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }

    /// As it was written.
    fn read(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().map(Self)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A session that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Which.
    pub key: SessionKey,
    /// Whose it is.
    pub user: String,
    /// It was just looked up, and not only known from before.
    pub is_confirmed: bool,
}

/// Everybody who is signed in.
pub struct Sessions {
    longest: Duration,
    kept: Kept,
}

enum Kept {
    Here(Here),
    There(There),
}

impl Sessions {
    /// Nobody is signed in, as far as this console knows.
    pub fn new(config: SessionsConfig, shared: Option<&Shared>) -> Self {
        let kept = match shared {
            None => Kept::Here(Here::new(config)),
            Some(shared) => Kept::There(There::new(config, shared.clone())),
        };
        Self {
            longest: config.longest,
            kept,
        }
    }

    /// How long a session lasts at most.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// Begins one that ends after `max`, or earlier as all do, and says what the browser is to have for it: nobody else ever
    /// hears that.
    pub async fn create(
        &self,
        user: &str,
        stamp: Stamp,
        max: Duration,
        now: Timestamp,
    ) -> Result<String, Fault> {
        let max = max.min(self.longest);
        match &self.kept {
            Kept::Here(here) => Ok(here.create(user, stamp, max, now)),
            Kept::There(there) => there.create(user, stamp, max).await,
        }
    }

    /// The session that somebody's browser has, if it goes on. It is in use then.
    pub async fn load(&self, secret: &str, now: Timestamp) -> Result<Option<Loaded>, Fault> {
        let digest = SecretDigest::of(secret);
        match &self.kept {
            Kept::Here(here) => Ok(here.load(digest, now)),
            Kept::There(there) => there.load(digest).await,
        }
    }

    /// Whether a session goes on, as far as that can be told. Asking does not count as use.
    pub async fn goes_on(&self, key: &SessionKey, now: Timestamp) -> bool {
        match &self.kept {
            Kept::Here(here) => here.goes_on(key, now),
            Kept::There(there) => there.goes_on(key).await,
        }
    }

    /// Ends a session of a person.
    pub async fn end(&self, user: &str, key: &SessionKey) {
        match &self.kept {
            Kept::Here(here) => here.end(key),
            Kept::There(there) => there.end(user, Some(key.digest)).await,
        }
    }

    /// Ends the session that somebody's browser has where nobody can tell whose it is.
    pub async fn end_unseen(&self, secret: &str) {
        if let Kept::There(there) = &self.kept {
            there.end("", Some(SecretDigest::of(secret))).await;
        }
    }

    /// Ends every session of a person.
    pub async fn end_all_of(&self, user: &str) {
        match &self.kept {
            Kept::Here(here) => here.end_all_of(user),
            Kept::There(there) => there.end(user, None).await,
        }
    }
}
