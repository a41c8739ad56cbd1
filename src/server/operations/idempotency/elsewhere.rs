//! An acquire that is done once for all consoles that share a Redis: whoever does it claims it first.
//!
//! Where nobody can be asked, it is not done: an acquire that another console may have done already must not be done again.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use super::key::Print;
use super::sealed::Seal;
use super::{Acquired, another_request};
use crate::domain::{Fault, Timestamp};
use crate::server::shared::answers::Claim;
use crate::server::shared::{Gone, Shared};

/// How long a claim lasts unless it is renewed: a console that was killed keeps others waiting for so long.
const CLAIM: Duration = Duration::from_secs(10);
/// How often it is renewed.
const RENEWED: Duration = Duration::from_secs(3);
/// How often the console that waits for another one asks.
const ASKED: Duration = Duration::from_millis(50);
/// How often an answer that could not be kept is told again.
const TOLD_AGAIN: Duration = Duration::from_millis(500);

/// One act, as all consoles know it.
pub(super) struct Elsewhere {
    claim: Claimed,
    seal: Seal,
}

/// What it is called, and who does it here.
#[derive(Clone)]
struct Claimed {
    shared: Shared,
    act: String,
    request: String,
    by: String,
}

impl Claimed {
    async fn claim(&self) -> Result<Claim, Gone> {
        let (act, request) = (&self.act, &self.request);
        self.shared.claim(act, request, &self.by, CLAIM).await
    }

    async fn settle(&self, answer: Option<(&[u8], Duration)>) -> Result<(), Gone> {
        let (act, request) = (&self.act, &self.request);
        self.shared.settle(act, request, &self.by, answer).await
    }

    /// Keeps an answer, also where that is not possible at once.
    async fn keep(self, sealed: Vec<u8>, lasts: Duration) {
        let end = Instant::now() + lasts;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.settle(Some((&sealed, left))).await.is_ok() {
                return;
            }
            sleep(TOLD_AGAIN).await;
        }
    }
}

/// Gives the claim back when it is dropped.
struct Open(Option<Claimed>);

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(claim) = self.0.take() {
            let shared = claim.shared.clone();
            shared.spawn(async move {
                // Where that is not possible, it ends by itself.
                drop(claim.settle(None).await);
            });
        }
    }
}

impl Elsewhere {
    pub(super) fn new(shared: Shared, scope: Print, request: Print, seal: Seal) -> Self {
        let hex = |print: Print| {
            let digits = print.iter().map(|byte| format!("{byte:02x}"));
            digits.collect::<String>()
        };
        let claim = Claimed {
            shared,
            act: hex(scope),
            request: hex(request),
            by: format!("{:032x}", rand::random::<u128>()),
        };
        Self { claim, seal }
    }

    /// Does it, or answers what another console answered; says which.
    pub(super) async fn once(
        self,
        acquire: impl Future<Output = Result<(Acquired, Timestamp), Fault>> + Send,
    ) -> Result<(Acquired, Timestamp, bool), Fault> {
        loop {
            match self.claim.claim().await? {
                Claim::Mine => break,
                Claim::Running => sleep(ASKED).await,
                Claim::Another => return Err(another_request()),
                Claim::Answered(sealed) => {
                    let opened = self.seal.open(&sealed);
                    let (acquired, ends) = opened.ok_or_else(|| Fault::Internal {
                        detail: "the first answer to this key cannot be read any more".to_owned(),
                    })?;
                    return Ok((acquired, ends, true));
                }
            }
        }
        let mut open = Open(Some(self.claim.clone()));
        let (acquired, ends) = self.while_it_is_claimed(acquire).await?;
        open.0 = None;
        let lasts = ends.since(acquired.expires_at) + Duration::from_millis(acquired.validity_ms);
        if let Some(sealed) = self.seal.close(&acquired, ends) {
            let shared = self.claim.shared.clone();
            // Before it is answered, so that a retry finds it; where that is not possible, as soon as it is.
            if self.claim.settle(Some((&sealed, lasts))).await.is_err() {
                shared.spawn(self.claim.keep(sealed, lasts));
            }
        }
        Ok((acquired, ends, false))
    }

    async fn while_it_is_claimed<T>(&self, act: impl Future<Output = T>) -> T {
        let mut again = interval_at(Instant::now() + RENEWED, RENEWED);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::pin!(act);
        loop {
            tokio::select! {
                done = &mut act => return done,
                _ = again.tick() => {
                    // The lock itself lets nobody else in, should the claim be lost.
                    let _renewed_next_time = self.claim.claim().await;
                }
            }
        }
    }
}
