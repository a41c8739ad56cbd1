//! Passwords: made into argon2id hashes, and checked against them a few at a time.

use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::domain::Fault;

/// So many are checked at once: each takes 19 MB and a processor for some hundredths of a second.
const AT_ONCE: usize = 2;
/// So many wait to be checked; whoever comes then is told to come back.
const WAITING: usize = 32;

/// Makes a hash of a password, for the configuration.
pub fn hash(password: &str) -> Result<String, String> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string())
        .map_err(|why| format!("the password cannot be hashed: {why}"))
}

/// So many attempts are held up at once before they are checked.
const HELD_UP: usize = 64;

/// Checks passwords.
pub struct Passwords {
    held_up: Semaphore,
    places: Semaphore,
    turns: Semaphore,
}

impl Default for Passwords {
    fn default() -> Self {
        Self {
            held_up: Semaphore::new(HELD_UP),
            places: Semaphore::new(AT_ONCE + WAITING),
            turns: Semaphore::new(AT_ONCE),
        }
    }
}

impl Passwords {
    /// Holds an attempt up for so long.
    pub async fn hold_up(&self, delay: Duration) -> Result<(), Fault> {
        if delay.is_zero() {
            return Ok(());
        }
        let _place = self.held_up.try_acquire().map_err(|_| too_many_at_once())?;
        sleep(delay).await;
        Ok(())
    }

    /// Whether the password is the one that was hashed. Of somebody who does not exist it never is, and that takes as long as
    /// with the hash that stands in for theirs.
    pub async fn check(
        &self,
        hash: Option<&PasswordHash>,
        stand_in: Option<&PasswordHash>,
        password: String,
    ) -> Result<bool, Fault> {
        let exists = hash.is_some();
        let Some(against) = hash.or(stand_in).cloned() else {
            return Ok(false);
        };
        let _place = self.places.try_acquire().map_err(|_| too_many_at_once())?;
        let _turn = self.turns.acquire().await;
        let checking = tokio::task::spawn_blocking(move || {
            let fits = Argon2::default().verify_password(password.as_bytes(), &against);
            fits.is_ok()
        });
        let fits = checking.await.map_err(|why| Fault::Internal {
            detail: format!("the password was not checked: {why}"),
        })?;
        Ok(fits && exists)
    }
}

fn too_many_at_once() -> Fault {
    Fault::TooMany {
        detail: "too many people sign in at this moment".to_owned(),
        retry_after_ms: 1_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_checked_against_its_hash_and_nobodys_never_fits() {
        let written = hash("correct horse").unwrap();
        assert!(written.starts_with("$argon2id$v=19$"), "{written}");
        assert_ne!(written, hash("correct horse").unwrap());
        let hash = PasswordHash::new(&written).unwrap();
        let stand_in = hash.clone();
        let passwords = Passwords::default();
        let check = async |hash, password: &str| {
            passwords
                .check(hash, Some(&stand_in), password.to_owned())
                .await
        };
        assert_eq!(check(Some(&hash), "correct horse").await, Ok(true));
        assert_eq!(check(Some(&hash), "correct horse ").await, Ok(false));
        // Not even where it is the one that it is checked against.
        assert_eq!(check(None, "correct horse").await, Ok(false));
    }
}
