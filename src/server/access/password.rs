//! Password hashing with Argon2id, and verification with limited concurrency.

use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::domain::OperationError;
use crate::domain::operation_error::{InternalError, LimitReached};

/// The maximum number of concurrent verifications: each takes 19 MB and some hundredths of a second
/// of CPU time.
const MAX_CONCURRENT_CHECKS: usize = 2;
/// The maximum number of queued verifications. Further attempts are rejected.
const MAX_QUEUED_CHECKS: usize = 32;

/// Hashes a password for the configuration.
pub fn hash_password(password: &str) -> Result<String, String> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string())
        .map_err(|error| format!("cannot hash the password: {error}"))
}

/// The maximum number of attempts that are being delayed at a time.
const MAX_DELAYED_ATTEMPTS: usize = 64;

/// Verifies passwords.
pub struct PasswordVerifier {
    delayed: Semaphore,
    queue: Semaphore,
    concurrency: Semaphore,
}

impl Default for PasswordVerifier {
    fn default() -> Self {
        Self {
            delayed: Semaphore::new(MAX_DELAYED_ATTEMPTS),
            queue: Semaphore::new(MAX_CONCURRENT_CHECKS + MAX_QUEUED_CHECKS),
            concurrency: Semaphore::new(MAX_CONCURRENT_CHECKS),
        }
    }
}

impl PasswordVerifier {
    /// Delays an attempt, to slow down guessing.
    pub async fn delay_attempt(&self, delay: Duration) -> Result<(), OperationError> {
        if delay.is_zero() {
            return Ok(());
        }
        let _permit = self
            .delayed
            .try_acquire()
            .map_err(|_| too_many_sign_ins())?;
        sleep(delay).await;
        Ok(())
    }

    /// Verifies a password. For an unknown user it verifies against `dummy_hash` and returns false,
    /// so that the response time does not reveal whether the user exists.
    pub async fn verify(
        &self,
        hash: Option<&PasswordHash>,
        dummy_hash: Option<&PasswordHash>,
        password: String,
    ) -> Result<bool, OperationError> {
        let exists = hash.is_some();
        let Some(against) = hash.or(dummy_hash).cloned() else {
            return Ok(false);
        };
        // Fails instead of waiting, so that the number of waiting requests is bounded.
        let _permit = self.queue.try_acquire().map_err(|_| too_many_sign_ins())?;
        let _slot = self.concurrency.acquire().await;
        // Argon2 would block the runtime's threads.
        let checking = tokio::task::spawn_blocking(move || {
            let matches = Argon2::default().verify_password(password.as_bytes(), &against);
            matches.is_ok()
        });
        let matches = checking.await.map_err(|error| OperationError::Internal {
            cause: InternalError::PasswordVerification {
                text: error.to_string(),
            },
        })?;
        // `exists` is checked last, so that it does not change the duration.
        Ok(matches && exists)
    }
}

fn too_many_sign_ins() -> OperationError {
    OperationError::TooManyRequests {
        cause: LimitReached::SignInsInProgress,
        retry_after_ms: 1_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_verified_and_an_unknown_user_is_always_rejected() {
        let encoded = hash_password("correct horse").unwrap();
        assert!(encoded.starts_with("$argon2id$v=19$"), "{encoded}");
        assert_ne!(encoded, hash_password("correct horse").unwrap());
        let hash = PasswordHash::new(&encoded).unwrap();
        let dummy_hash = hash.clone();
        let verifier = PasswordVerifier::default();
        let check = async |hash, password: &str| {
            verifier
                .verify(hash, Some(&dummy_hash), password.to_owned())
                .await
        };
        assert_eq!(check(Some(&hash), "correct horse").await, Ok(true));
        assert_eq!(check(Some(&hash), "correct horse ").await, Ok(false));
        // Even with the password of the dummy hash.
        assert_eq!(check(None, "correct horse").await, Ok(false));
    }
}
