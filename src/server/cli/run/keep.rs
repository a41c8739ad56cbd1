//! Keeps a lock: renews it at a third of its lease, until it is lost.

use std::cell::Cell;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use crate::domain::{ActOutcome, Fault, LockId};
use crate::server::cli::{options, text};
use crate::server::operations::Operations;

/// The shortest and the longest pause after a renewal that failed.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// A lock that is being kept.
pub struct Keeper<'a> {
    pub operations: &'a Operations,
    pub id: &'a LockId,
    pub token: &'a str,
    pub ttl: Duration,
    /// Without a renewal, the lock is given up this long before its validity ends: time for the command to end in.
    pub ahead: Duration,
    /// Until when the lock may be relied on.
    pub valid_until: Cell<Instant>,
}

/// How a lock was lost.
#[derive(Debug, PartialEq, Eq)]
pub enum Loss {
    /// It is not ours any more, say the nodes.
    Gone(String),
    /// It could not be renewed, and its validity is about to end.
    Unrenewed(String),
}

impl Keeper<'_> {
    /// Whether somebody who relies on the lock may go on.
    pub fn may_go_on(&self) -> bool {
        Instant::now() < self.give_up_at()
    }

    /// Renews the lock again and again; comes back when it is lost.
    pub async fn keep(&self) -> Loss {
        let mut renewed_at = Instant::now();
        let mut trouble = "there was no time to renew it".to_owned();
        loop {
            let next = (renewed_at + self.ttl / 3).min(self.give_up_at());
            sleep_until(next).await;
            loop {
                if !self.may_go_on() {
                    return Loss::Unrenewed(trouble);
                }
                let began = Instant::now();
                match self.renew().await {
                    Ok(validity) => {
                        // Counted from before the question was sent: rather too short than too long.
                        self.valid_until.set(began + validity);
                        renewed_at = began;
                        break;
                    }
                    Err(Trouble::Gone(why)) => return Loss::Gone(why),
                    Err(Trouble::Missed(why)) => trouble = why,
                }
                let pause = (self.ttl / 30).clamp(PAUSES.0, PAUSES.1);
                sleep_until((Instant::now() + pause).min(self.give_up_at())).await;
            }
        }
    }

    async fn renew(&self) -> Result<Duration, Trouble> {
        let ttl_ms = options::millis(self.ttl);
        let renewing = self.operations.extend(self.id, self.token, ttl_ms);
        match timeout_at(self.give_up_at(), renewing).await {
            Ok(Ok(extended)) => Ok(Duration::from_millis(extended.validity_ms)),
            Ok(Err(fault)) => Err(Trouble::of(&fault)),
            Err(_) => Err(Trouble::Missed("no answer in time".to_owned())),
        }
    }

    fn give_up_at(&self) -> Instant {
        let until = self.valid_until.get();
        until.checked_sub(self.ahead).unwrap_or(until)
    }
}

/// Why a renewal failed.
enum Trouble {
    /// For good.
    Gone(String),
    /// Perhaps the next one does not.
    Missed(String),
}

impl Trouble {
    fn of(fault: &Fault) -> Self {
        match fault {
            Fault::NotHeld { .. } => Self::Gone("it expired or was released".to_owned()),
            Fault::NotOwner { nodes } => {
                let who = nodes.iter().find_map(|act| match &act.outcome {
                    ActOutcome::OtherOwner { owner } => owner.as_ref(),
                    ActOutcome::Acquired
                    | ActOutcome::Extended
                    | ActOutcome::Released
                    | ActOutcome::Holds { .. }
                    | ActOutcome::NotHeld
                    | ActOutcome::Pending
                    | ActOutcome::Failed { .. } => None,
                });
                let who = who.map_or_else(|| "somebody else".to_owned(), text::owner);
                Self::Gone(format!("it is held by {who} now"))
            }
            Fault::WrongType { .. } => Self::Gone("its key holds something else now".to_owned()),
            Fault::BadRequest { .. }
            | Fault::Impossible { .. }
            | Fault::ConfirmRequired { .. }
            | Fault::Forbidden { .. }
            | Fault::UnknownGroup { .. }
            | Fault::NotObserved { .. }
            | Fault::Unreachable { .. }
            | Fault::Held { .. }
            | Fault::NoQuorum { .. }
            | Fault::OwnerChanged { .. }
            | Fault::TooMany { .. }
            | Fault::Unanswered { .. }
            | Fault::Internal { .. } => Self::Missed(fault.to_string()),
        }
    }
}
