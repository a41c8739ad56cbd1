//! Runs an acquire once over all consoles and restarts: the console that runs it first claims it in
//! the database, and stores the response there.
//!
//! A response contains the lock's token, so it is sealed with secrets that only the client has: its
//! Idempotency-Key and, if it authenticated with an API token, that token. Neither is stored. The
//! database contains only digests and ciphertext.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sqlx::{AnyConnection, Row as _};
use tokio::runtime::Handle;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use super::key::{IdempotencyKey, RequestDigest};
use super::{AcquiredLock, CompletedAcquire, key_reused_error};
use crate::domain::operation_error::InternalError;
use crate::domain::{OperationError, Timestamp};
use crate::server::access::SecretDigest;
use crate::server::clock::Clock;
use crate::server::seal::SealingKey;
use crate::server::storage::{Storage, StorageError};

/// The lifetime of a claim unless it is renewed. A console that is killed blocks the others for
/// this long.
const CLAIM_TTL: Duration = Duration::from_secs(10);
/// How often a claim is renewed while the acquire runs.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(3);
/// How often a console polls for the response of another one.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The pause before a response that could not be stored is stored again.
const STORE_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The database table of claims and responses.
#[derive(Clone)]
pub(super) struct ClaimStore {
    pub(super) storage: Storage,
    pub(super) clock: Clock,
    /// The maximum number of stored responses; the oldest is removed first.
    pub(super) max_responses: u32,
}

/// The claim of one console on one acquire.
#[derive(Clone)]
pub(super) struct IdempotencyClaim {
    store: ClaimStore,
    scope: String,
    request: String,
    claimant: String,
}

/// The state of a claim.
enum ClaimState {
    Mine,
    /// Another console is running the acquire.
    InProgress,
    /// The key was used for a different request.
    KeyReused,
    /// The acquire was completed, with this sealed response.
    Completed(Vec<u8>),
}

#[derive(Serialize, Deserialize)]
struct StoredResponse {
    acquired: AcquiredLock,
    // Stored responses of earlier versions use this name.
    #[serde(rename = "ends")]
    expires_at: Timestamp,
}

impl IdempotencyClaim {
    pub(super) fn new(store: ClaimStore, scope: RequestDigest, request: RequestDigest) -> Self {
        let hex = |digest: RequestDigest| {
            let digits = digest.iter().map(|byte| format!("{byte:02x}"));
            digits.collect::<String>()
        };
        Self {
            store,
            scope: hex(scope),
            request: hex(request),
            claimant: format!("{:032x}", rand::random::<u128>()),
        }
    }

    /// Runs the acquire, or returns the stored response.
    pub(super) async fn run_once(
        self,
        seal: SealingKey,
        acquire: impl Future<Output = Result<CompletedAcquire, OperationError>> + Send,
    ) -> Result<CompletedAcquire, OperationError> {
        loop {
            match self.claim().await {
                Ok(ClaimState::Mine) => break,
                // Two consoles deadlocked on each other's rows; one of them retries.
                Ok(ClaimState::InProgress) | Err(StorageError::Busy(_)) => {
                    sleep(POLL_INTERVAL).await
                }
                Ok(ClaimState::KeyReused) => return Err(key_reused_error()),
                Ok(ClaimState::Completed(sealed)) => {
                    let response =
                        open_response(&seal, &sealed).ok_or(OperationError::Internal {
                            cause: InternalError::UnreadableStoredResponse,
                        })?;
                    return Ok(CompletedAcquire {
                        acquired: response.acquired,
                        expires_at: response.expires_at,
                        was_completed_before: true,
                    });
                }
                // If another console may have run this acquire, it must not run again. With a
                // private database, no other console exists, and this one remembers its own
                // acquires in memory.
                Err(error) if self.store.storage.is_shared() => {
                    let url = self.store.storage.url();
                    tracing::warn!(
                        "cannot claim the Idempotency-Key of an acquire in {url}: {error}"
                    );
                    return Err(error.into());
                }
                Err(_) => return acquire.await,
            }
        }
        let mut guard = ClaimGuard(Some(self.clone()));
        let completed = self.run_while_claimed(acquire).await?;
        guard.0 = None;
        // Stored before the response is sent, so that a retry finds it. If that fails, it is stored
        // as soon as possible.
        if let Some(sealed) = seal_response(&seal, &completed)
            && self
                .settle(Some((sealed.clone(), completed.expires_at)))
                .await
                .is_err()
        {
            tokio::spawn(self.store_with_retry(sealed, completed.expires_at));
        }
        Ok(completed)
    }

    async fn run_while_claimed<T>(&self, acquire: impl Future<Output = T>) -> T {
        let mut renewal = interval_at(Instant::now() + RENEWAL_INTERVAL, RENEWAL_INTERVAL);
        renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::pin!(acquire);
        loop {
            tokio::select! {
                output = &mut acquire => return output,
                _ = renewal.tick() => {
                    // If the claim is lost, the lock itself still excludes other owners.
                    let _renewed_next_time = self.claim().await;
                }
            }
        }
    }

    /// Claims the acquire or returns its state. Renews a claim of this console.
    async fn claim(&self) -> Result<ClaimState, StorageError> {
        let claim = self.clone();
        let claimed = self.store.storage.write(move |db| {
            let claim = claim.clone();
            Box::pin(async move { claim.claim_row(db).await })
        });
        claimed.await
    }

    async fn claim_row(self, db: &mut AnyConnection) -> sqlx::Result<ClaimState> {
        let now = self.store.clock.now();
        let claimed = sqlx::query(
            "INSERT INTO idempotency_record (scope, request, claimed_by, expires_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (scope) DO UPDATE SET request = excluded.request, claimed_by = excluded.claimed_by, \
             response = NULL, response_seq = NULL, expires_at = excluded.expires_at \
             WHERE idempotency_record.expires_at <= $5 OR (idempotency_record.response IS NULL \
             AND idempotency_record.request = $2 AND idempotency_record.claimed_by = $3)",
        )
        .bind(self.scope.clone())
        .bind(self.request.clone())
        .bind(self.claimant)
        .bind(now.plus(CLAIM_TTL).millis())
        .bind(now.millis())
        .execute(&mut *db)
        .await?;
        if claimed.rows_affected() > 0 {
            return Ok(ClaimState::Mine);
        }
        let select =
            sqlx::query("SELECT request, response FROM idempotency_record WHERE scope = $1");
        let Some(row) = select.bind(self.scope).fetch_optional(db).await? else {
            // The claim was deleted between the two statements.
            return Ok(ClaimState::InProgress);
        };
        let (request, response): (String, Option<Vec<u8>>) = (row.try_get(0)?, row.try_get(1)?);
        Ok(match response {
            _ if request != self.request => ClaimState::KeyReused,
            Some(sealed) => ClaimState::Completed(sealed),
            None => ClaimState::InProgress,
        })
    }

    /// Stores the response until it expires, or without one deletes the claim. Never overwrites
    /// another response or the claim of another console.
    async fn settle(&self, response: Option<(Vec<u8>, Timestamp)>) -> Result<(), StorageError> {
        let claim = self.clone();
        let settled = self.store.storage.write(move |db| {
            let (claim, response) = (claim.clone(), response.clone());
            Box::pin(async move {
                match response {
                    Some((sealed, expires_at)) => {
                        claim.store_response(db, sealed, expires_at).await
                    }
                    None => claim.delete_claim(db).await,
                }
            })
        });
        settled.await
    }

    async fn store_response(
        self,
        db: &mut AnyConnection,
        sealed: Vec<u8>,
        expires_at: Timestamp,
    ) -> sqlx::Result<()> {
        sqlx::query(
            "UPDATE idempotency_record SET response = $4, expires_at = $5, \
             response_seq = (SELECT COALESCE(MAX(response_seq), 0) + 1 FROM idempotency_record) \
             WHERE scope = $1 AND request = $2 AND claimed_by = $3 AND response IS NULL",
        )
        .bind(self.scope)
        .bind(self.request)
        .bind(self.claimant)
        .bind(sealed)
        .bind(expires_at.millis())
        .execute(&mut *db)
        .await?;
        sqlx::query(
            "DELETE FROM idempotency_record \
             WHERE response_seq <= (SELECT MAX(response_seq) FROM idempotency_record) - $1",
        )
        .bind(i64::from(self.store.max_responses))
        .execute(db)
        .await
        .map(drop)
    }

    async fn delete_claim(self, db: &mut AnyConnection) -> sqlx::Result<()> {
        sqlx::query(
            "DELETE FROM idempotency_record \
             WHERE scope = $1 AND request = $2 AND claimed_by = $3 AND response IS NULL",
        )
        .bind(self.scope)
        .bind(self.request)
        .bind(self.claimant)
        .execute(db)
        .await
        .map(drop)
    }

    /// Stores a response, and retries until it succeeds or the response expires.
    async fn store_with_retry(self, sealed: Vec<u8>, expires_at: Timestamp) {
        while self.store.clock.now() < expires_at
            && self
                .settle(Some((sealed.clone(), expires_at)))
                .await
                .is_err()
        {
            sleep(STORE_RETRY_INTERVAL).await;
        }
    }
}

/// Deletes the claim when it is dropped.
struct ClaimGuard(Option<IdempotencyClaim>);

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        if let Some(claim) = self.0.take() {
            // Without a runtime the claim expires by itself.
            if let Ok(runtime) = Handle::try_current() {
                runtime.spawn(async move { claim.settle(None).await });
            }
        }
    }
}

/// The seal for the responses to one key of one client.
pub(super) fn response_seal(
    key: &IdempotencyKey,
    secret: Option<&SecretDigest>,
    scope: RequestDigest,
) -> SealingKey {
    let secret = secret.map_or(&[][..], |secret| secret.as_bytes());
    SealingKey::derive("idempotency record", &[key.bytes(), secret, &scope])
}

fn seal_response(seal: &SealingKey, completed: &CompletedAcquire) -> Option<Vec<u8>> {
    let response = StoredResponse {
        acquired: completed.acquired.clone(),
        expires_at: completed.expires_at,
    };
    seal.seal(&serde_json::to_vec(&response).ok()?)
}

fn open_response(seal: &SealingKey, sealed: &[u8]) -> Option<StoredResponse> {
    serde_json::from_slice(&seal.open(sealed)?).ok()
}
