//! What became of the locks that were released by force: each is watched for one renewal interval, and log and audit say if a
//! living owner put it back.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval};

use super::audited::{asked, told_by};
use crate::domain::{ActKind, Aftermath, Fingerprint, Format, Lock, LockId, Timestamp};
use crate::server::access::Actor;
use crate::server::audit::{Audit, End};
use crate::server::index::Index;
use crate::server::webhooks::{Ended, Event, Webhooks};

/// So many are watched at the same time: more than one request can release.
const MOST_WATCHED: usize = 1_024;
/// How often each is looked at on the board. A look is a moment of reading, and what was back in between is in the history.
const EVERY: Duration = Duration::from_millis(250);

/// Those who watch.
pub struct Aftermaths {
    places: Arc<Semaphore>,
}

impl Default for Aftermaths {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(MOST_WATCHED)),
        }
    }
}

/// A lock that was released by force.
pub struct Freed {
    /// Which.
    pub id: LockId,
    /// Whose it was.
    pub owner: Fingerprint,
    /// When.
    pub at: Timestamp,
    /// As it was known before.
    pub before: Option<Arc<Lock>>,
    /// Who released it.
    pub by: Actor,
}

impl Aftermaths {
    /// Watches what becomes of a lock.
    pub fn watch(&self, index: &Index, audit: &Audit, webhooks: &Webhooks, freed: Freed) {
        let Freed { id, owner, at, .. } = &freed;
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            tracing::debug!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %owner, "not watched: {MOST_WATCHED} others are");
            return;
        };
        let watch_ms = freed.before.as_ref().map_or_else(
            || Format::Plain.watch_ms(None, None),
            |lock| lock.watch_ms(*at),
        );
        let watched = Watched {
            index: index.clone(),
            audit: audit.clone(),
            webhooks: webhooks.clone(),
            until: at.plus(Duration::from_millis(watch_ms)),
            freed,
        };
        tokio::spawn(async move {
            watched.until_it_is_over().await;
            drop(place);
        });
    }
}

struct Watched {
    index: Index,
    audit: Audit,
    webhooks: Webhooks,
    until: Timestamp,
    freed: Freed,
}

impl Watched {
    async fn until_it_is_over(self) {
        let mut tick = interval(EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut aftermath = None;
        loop {
            tick.tick().await;
            let now = self.index.now();
            let came_to = self.look(now, aftermath.as_ref());
            if !matches!(came_to, Aftermath::Watching { .. }) {
                self.tell(&came_to);
                return;
            }
            aftermath = Some(came_to);
        }
    }

    fn look(&self, now: Timestamp, before: Option<&Aftermath>) -> Aftermath {
        let Freed { id, owner, at, .. } = &self.freed;
        let lock = self.index.snapshot().lock(id).cloned();
        let lock = lock.as_deref().map(|lock| (lock, lock.observed_at));
        let came_to = Aftermath::now(owner, *at, self.until, lock, now, before);
        match came_to {
            Aftermath::Gone => self.was_back_for_a_moment().unwrap_or(Aftermath::Gone),
            Aftermath::Watching { .. }
            | Aftermath::PutBack { .. }
            | Aftermath::Taken { .. }
            | Aftermath::StillThere => came_to,
        }
    }

    /// Put back and gone again between two looks at the board.
    fn was_back_for_a_moment(&self) -> Option<Aftermath> {
        let Freed { id, owner, at, .. } = &self.freed;
        let mut holds = self.index.history(id).holds.into_iter();
        let hold = holds.find(|hold| hold.fingerprint == *owner && hold.from > *at)?;
        Some(Aftermath::PutBack { at: hold.from })
    }

    fn tell(&self, came_to: &Aftermath) {
        let Freed { id, owner, by, .. } = &self.freed;
        match came_to {
            Aftermath::PutBack { at } => {
                let mut told = asked(ActKind::PutBack, by, id);
                told.fingerprint = Some(owner.clone());
                let how = "released by force, and put back by its old owner, which still runs";
                self.audit
                    .tell(&told, &End::done(&[]).saying(how.to_owned()));
                if self.webhooks.hears_of(ActKind::PutBack, &id.group) {
                    let ended = Ended::new(ActKind::PutBack, told_by(by), id, Ok(&[]));
                    let event = Event::act(ended.of(Some(owner.clone())), *at);
                    self.webhooks.tell_of(ActKind::PutBack, &id.group, &event);
                }
                tracing::warn!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %owner, %at, "was put back by its old owner, which still runs");
            }
            Aftermath::StillThere => {
                tracing::warn!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %owner, "never went away: a node still shows its old owner");
            }
            Aftermath::Taken { by, at } => {
                tracing::info!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %owner, by = %by.fingerprint, %at, "was taken by another owner");
            }
            Aftermath::Gone => {
                tracing::info!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %owner, "stayed away for one renewal interval");
            }
            Aftermath::Watching { .. } => {}
        }
    }
}
