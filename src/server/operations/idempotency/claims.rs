//! Acquires that are done once, whichever console is asked and whether or not it was restarted: who does one claims it first, in
//! storage, and keeps the answer there.
//!
//! An answer has the lock's token in it, so it is sealed with what only the client has: its Idempotency-Key and, where it came with an
//! API token, that token. Neither is kept. Whoever reads the database finds a digest and a sealed text.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sqlx::{AnyConnection, Row as _};
use tokio::runtime::Handle;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use super::key::{IdempotencyKey, Print};
use super::{Acquired, Finished, another_request};
use crate::domain::{Fault, Timestamp};
use crate::server::access::SecretDigest;
use crate::server::clock::Clock;
use crate::server::seal::Seal;
use crate::server::storage::{Storage, StorageError};

/// How long a claim lasts unless it is renewed: a console that was killed keeps others waiting for so long.
const CLAIM: Duration = Duration::from_secs(10);
/// How often it is renewed.
const RENEWED: Duration = Duration::from_secs(3);
/// How often the console that waits for another one looks.
const POLLED: Duration = Duration::from_millis(50);
/// How often an answer that could not be kept is written again.
const KEPT_AGAIN: Duration = Duration::from_millis(500);

/// Where claims and answers are.
#[derive(Clone)]
pub(super) struct Claims {
    pub(super) storage: Storage,
    pub(super) clock: Clock,
    /// So many answers are kept; the oldest is forgotten first.
    pub(super) max_answers: u32,
}

/// One acquire, as all consoles know it.
#[derive(Clone)]
pub(super) struct Claim {
    claims: Claims,
    scope: String,
    request: String,
    by: String,
}

/// What became of a claim.
enum Claimed {
    Mine,
    /// Another console does it.
    Running,
    /// The same key stands for another request.
    Another,
    /// It was done, with this sealed answer.
    Answered(Vec<u8>),
}

#[derive(Serialize, Deserialize)]
struct Answer {
    acquired: Acquired,
    ends: Timestamp,
}

impl Claim {
    pub(super) fn new(claims: Claims, scope: Print, request: Print) -> Self {
        let hex = |print: Print| {
            let digits = print.iter().map(|byte| format!("{byte:02x}"));
            digits.collect::<String>()
        };
        Self {
            claims,
            scope: hex(scope),
            request: hex(request),
            by: format!("{:032x}", rand::random::<u128>()),
        }
    }

    /// Acquires, or answers what was answered before.
    pub(super) async fn once(
        self,
        seal: Seal,
        acquire: impl Future<Output = Result<Finished, Fault>> + Send,
    ) -> Result<Finished, Fault> {
        loop {
            match self.claim().await {
                Ok(Claimed::Mine) => break,
                // Two consoles that want each other's rows: one of them tries again.
                Ok(Claimed::Running) | Err(StorageError::Busy(_)) => sleep(POLLED).await,
                Ok(Claimed::Another) => return Err(another_request()),
                Ok(Claimed::Answered(sealed)) => {
                    let answer = open(&seal, &sealed).ok_or_else(|| Fault::Internal {
                        detail: "the first answer to this key cannot be read any more".to_owned(),
                    })?;
                    return Ok(Finished {
                        acquired: answer.acquired,
                        ends: answer.ends,
                        is_remembered: true,
                    });
                }
                // An acquire that another console may have done already must not be done again. Where there is no other, this one
                // knows what it did since it began.
                Err(why) if self.claims.storage.is_shared() => {
                    let url = self.claims.storage.url();
                    tracing::warn!(
                        "an acquire with an Idempotency-Key cannot be claimed in {url}: {why}"
                    );
                    return Err(why.into());
                }
                Err(_) => return acquire.await,
            }
        }
        let mut open = Open(Some(self.clone()));
        let finished = self.while_it_is_claimed(acquire).await?;
        open.0 = None;
        // Before it is answered, so that a retry finds it; where that is not possible, as soon as it is.
        if let Some(sealed) = close(&seal, &finished)
            && self
                .settle(Some((sealed.clone(), finished.ends)))
                .await
                .is_err()
        {
            tokio::spawn(self.keep(sealed, finished.ends));
        }
        Ok(finished)
    }

    async fn while_it_is_claimed<T>(&self, acquire: impl Future<Output = T>) -> T {
        let mut again = interval_at(Instant::now() + RENEWED, RENEWED);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::pin!(acquire);
        loop {
            tokio::select! {
                done = &mut acquire => return done,
                _ = again.tick() => {
                    // The lock itself lets nobody else in, should the claim be lost.
                    let _renewed_next_time = self.claim().await;
                }
            }
        }
    }

    /// Claims it, or finds what became of it. Claiming again what is claimed here makes it longer.
    async fn claim(&self) -> Result<Claimed, StorageError> {
        let claim = self.clone();
        let claimed = self.claims.storage.write(move |db| {
            let claim = claim.clone();
            Box::pin(async move { claim.claim_in(db).await })
        });
        claimed.await
    }

    async fn claim_in(self, db: &mut AnyConnection) -> sqlx::Result<Claimed> {
        let now = self.claims.clock.now();
        let claimed = sqlx::query(
            "INSERT INTO idempotency_record (scope, request, claimed_by, expires_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (scope) DO UPDATE SET request = excluded.request, claimed_by = excluded.claimed_by, \
             answer = NULL, answered = NULL, expires_at = excluded.expires_at \
             WHERE idempotency_record.expires_at <= $5 OR (idempotency_record.answer IS NULL \
             AND idempotency_record.request = $2 AND idempotency_record.claimed_by = $3)",
        )
        .bind(self.scope.clone())
        .bind(self.request.clone())
        .bind(self.by)
        .bind(now.plus(CLAIM).millis())
        .bind(now.millis())
        .execute(&mut *db)
        .await?;
        if claimed.rows_affected() > 0 {
            return Ok(Claimed::Mine);
        }
        let select = sqlx::query("SELECT request, answer FROM idempotency_record WHERE scope = $1");
        let Some(row) = select.bind(self.scope).fetch_optional(db).await? else {
            // It was given back this very moment.
            return Ok(Claimed::Running);
        };
        let (request, answer): (String, Option<Vec<u8>>) = (row.try_get(0)?, row.try_get(1)?);
        Ok(match answer {
            _ if request != self.request => Claimed::Another,
            Some(sealed) => Claimed::Answered(sealed),
            None => Claimed::Running,
        })
    }

    /// Keeps the answer until its end, or, where there is none, gives the claim back. An answer is never written over another,
    /// nor over the claim of somebody else.
    async fn settle(&self, answer: Option<(Vec<u8>, Timestamp)>) -> Result<(), StorageError> {
        let claim = self.clone();
        let settled = self.claims.storage.write(move |db| {
            let (claim, answer) = (claim.clone(), answer.clone());
            Box::pin(async move {
                match answer {
                    Some((sealed, ends)) => claim.answer_in(db, sealed, ends).await,
                    None => claim.give_back_in(db).await,
                }
            })
        });
        settled.await
    }

    async fn answer_in(
        self,
        db: &mut AnyConnection,
        sealed: Vec<u8>,
        ends: Timestamp,
    ) -> sqlx::Result<()> {
        sqlx::query(
            "UPDATE idempotency_record SET answer = $4, expires_at = $5, \
             answered = (SELECT COALESCE(MAX(answered), 0) + 1 FROM idempotency_record) \
             WHERE scope = $1 AND request = $2 AND claimed_by = $3 AND answer IS NULL",
        )
        .bind(self.scope)
        .bind(self.request)
        .bind(self.by)
        .bind(sealed)
        .bind(ends.millis())
        .execute(&mut *db)
        .await?;
        sqlx::query(
            "DELETE FROM idempotency_record \
             WHERE answered <= (SELECT MAX(answered) FROM idempotency_record) - $1",
        )
        .bind(i64::from(self.claims.max_answers))
        .execute(db)
        .await
        .map(drop)
    }

    async fn give_back_in(self, db: &mut AnyConnection) -> sqlx::Result<()> {
        sqlx::query(
            "DELETE FROM idempotency_record \
             WHERE scope = $1 AND request = $2 AND claimed_by = $3 AND answer IS NULL",
        )
        .bind(self.scope)
        .bind(self.request)
        .bind(self.by)
        .execute(db)
        .await
        .map(drop)
    }

    /// Keeps an answer, also where that is not possible at once.
    async fn keep(self, sealed: Vec<u8>, ends: Timestamp) {
        while self.claims.clock.now() < ends
            && self.settle(Some((sealed.clone(), ends))).await.is_err()
        {
            sleep(KEPT_AGAIN).await;
        }
    }
}

/// Gives the claim back when it is dropped.
struct Open(Option<Claim>);

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(claim) = self.0.take() {
            // Where that is not possible, it ends by itself.
            if let Ok(runtime) = Handle::try_current() {
                runtime.spawn(async move { claim.settle(None).await });
            }
        }
    }
}

/// What the answers to one client's one key are sealed with.
pub(super) fn seal(key: &IdempotencyKey, secret: Option<&SecretDigest>, scope: Print) -> Seal {
    let secret = secret.map_or(&[][..], |secret| secret.bytes());
    Seal::of("idempotency record", &[key.bytes(), secret, &scope])
}

fn close(seal: &Seal, finished: &Finished) -> Option<Vec<u8>> {
    let answer = Answer {
        acquired: finished.acquired.clone(),
        ends: finished.ends,
    };
    seal.close(&serde_json::to_vec(&answer).ok()?)
}

fn open(seal: &Seal, sealed: &[u8]) -> Option<Answer> {
    serde_json::from_slice(&seal.open(sealed)?).ok()
}
