//! How a lock that is kept stands, and how that may end. Who asks the nodes is `keep`'s; when it is time to, `pace` knows.

use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;

use super::pace::{Limit, Pace, Step};
use super::{Attempt, End};
use crate::domain::{Fingerprint, NodeAct, Owner, Timestamp};
use crate::server::clock::Clock;

/// Less than this is not taken for a suspension: so long it may take to read two clocks one after the other.
const SHORTEST_SUSPENSION: Duration = Duration::from_millis(100);

/// How keeping a lock ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// It was to end: the lock is released, or this program ends.
    Stopped,
    /// The lock is lost: whoever relies on it must stop.
    Lost(Loss),
}

/// How a lock was lost. As a sentence it names no token.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Loss {
    /// Too few nodes have it, and nobody else is seen.
    #[error("it is gone from the nodes: it was deleted, or its lease ran out")]
    Gone,
    /// Somebody else has it.
    #[error("another owner has it{}", named(.0.as_ref()))]
    Taken(Option<Owner>),
    /// The key is no lock of this format any more.
    #[error("its key holds something else now: {0}")]
    WrongType(String),
    /// No renewal succeeded in time. Nodes that cannot be asked may still have it until its lease is over there.
    #[error(
        "it could not be renewed in time: too few nodes answered, or this machine was suspended"
    )]
    Unrenewed,
    /// It was kept as long as it may be.
    #[error("it was kept as long as this group allows ({0}), and its lease ran out")]
    RanOut(Limit),
    /// Somebody released it by force, through this program.
    #[error("it was released by force")]
    Forced,
    /// Whoever had it renewed may not do so any more.
    #[error(
        "it is renewed no more, and ends with its lease: who had it renewed may not extend it any more"
    )]
    Revoked,
}

fn named(owner: Option<&Owner>) -> String {
    owner.map_or_else(String::new, |owner| format!(": {}", owner.name()))
}

/// How a lock that is kept stands.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// Until when it may be relied on, on the wall clock.
    pub expires_at: Timestamp,
    /// What happened on each node when it was last asked.
    pub nodes: Vec<NodeAct>,
    /// As whom everybody sees the owner: another one after a renewal, where the value tells the time.
    pub owner: Fingerprint,
    /// It is renewed no more because of this limit; it ends with its lease.
    pub rests: Option<Limit>,
    /// How it ended.
    pub ended: Option<Ended>,
    pub(super) pace: Pace,
    /// Changes when somebody else interferes: what is under way then is asked again.
    pub(super) edition: u32,
    /// For how long this machine had been suspended when the pace was last set by the clocks.
    pub(super) suspended: Duration,
}

impl Keeping {
    /// The lease that it is renewed for.
    pub fn ttl(&self) -> Duration {
        self.pace.ttl()
    }

    /// How often it was renewed.
    pub fn extensions(&self) -> u32 {
        self.pace.extensions()
    }

    /// Until when it may be relied on: by a clock that nobody sets. Up to a second after the machine was suspended, that is not
    /// taken off yet.
    pub fn valid_until(&self) -> Instant {
        self.pace.valid_until()
    }

    /// When whoever relies on it has to begin to stop, unless it is renewed before: `ahead` of that.
    pub fn give_up_at(&self) -> Instant {
        self.pace.give_up_at()
    }

    /// Whether it is renewed when it is time to.
    pub fn is_renewed(&self) -> bool {
        self.ended.is_none() && self.rests.is_none()
    }

    /// Ends it, once.
    pub(super) fn end(&mut self, ended: Ended) -> bool {
        let is_first = self.ended.is_none();
        self.ended.get_or_insert(ended);
        is_first
    }

    /// A renewal that began at `began` came to this.
    pub(super) fn heard(&mut self, attempt: Attempt, began: Instant, edition: u32, clock: &Clock) {
        let now = clock.instant();
        if self.edition != edition {
            return self.pace.hurry(now);
        }
        self.nodes = attempt.nodes;
        match attempt.end {
            End::Won(_) => {
                if let Some(written) = attempt.token {
                    self.owner = written.fingerprint();
                }
                self.pace.renewed(began, clock.random());
                self.expires_at = clock.now().plus(self.pace.valid_until() - now);
            }
            End::NoQuorum => self.pace.failed(now, clock.random()),
            End::NotHeld => drop(self.end(Ended::Lost(Loss::Gone))),
            End::Taken { owner, .. } => drop(self.end(Ended::Lost(Loss::Taken(owner)))),
            End::WrongType(what) => drop(self.end(Ended::Lost(Loss::WrongType(what)))),
        }
    }

    /// Takes off what the machine was suspended for since the last time.
    pub(super) fn note_suspension(&mut self, suspended: Duration, now: Instant) {
        let span = suspended.saturating_sub(self.suspended);
        if span >= SHORTEST_SUSPENSION {
            self.suspended = suspended;
            self.pace.suspended(span, now);
        }
    }

    /// What to do now; what that means for how it stands is noted down.
    pub(super) fn step(&mut self, clock: &Clock) -> Step {
        let now = clock.instant();
        self.note_suspension(clock.suspended(), now);
        let step = self.pace.next(now);
        self.rests = self.pace.limit(now);
        if step == Step::Over {
            let loss = self.rests.map_or(Loss::Unrenewed, Loss::RanOut);
            self.end(Ended::Lost(loss));
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::quorum::Drift;
    use crate::server::locking::pace::Limits;

    #[test]
    fn a_lock_whose_lease_ended_while_the_machine_was_suspended_is_lost_at_the_next_look() {
        let (lease, clock) = (Duration::from_secs(30), Clock::real());
        let pace = |now| {
            let drift = Drift::default();
            Pace::new(lease, lease, drift, Limits::NONE, Duration::ZERO, now, 0.0)
        };
        let mut keeping = Keeping {
            expires_at: Timestamp::from_millis(0),
            nodes: Vec::new(),
            owner: Fingerprint::parse("00112233aabbccdd").unwrap(),
            rests: None,
            ended: None,
            pace: pace(clock.instant()),
            edition: 0,
            suspended: clock.suspended(),
        };
        // What it takes to read two clocks is no suspension.
        let now = clock.instant();
        keeping.note_suspension(keeping.suspended + Duration::from_millis(99), now);
        assert!(matches!(keeping.step(&clock), Step::Sleep(_)));
        keeping.note_suspension(keeping.suspended + lease, now);
        assert_eq!(keeping.step(&clock), Step::Over);
        assert_eq!(keeping.ended, Some(Ended::Lost(Loss::Unrenewed)));
    }
}
