//! What became of the locks that were released by force: each is watched for one renewal interval, and the log says if a living
//! owner put it back.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval};

use crate::domain::{Aftermath, Fingerprint, Format, Lock, LockId, Timestamp};
use crate::server::index::Index;

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

impl Aftermaths {
    /// Watches what becomes of a lock that this owner had until now, as it was known before.
    pub fn watch(
        &self,
        index: &Index,
        before: Option<Arc<Lock>>,
        id: &LockId,
        owner: &Fingerprint,
        released_at: Timestamp,
    ) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            tracing::debug!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %owner, "not watched: {MOST_WATCHED} others are");
            return;
        };
        let watch_ms = before.map_or_else(
            || Format::Plain.watch_ms(None, None),
            |lock| lock.watch_ms(released_at),
        );
        let watched = Watched {
            index: index.clone(),
            id: id.clone(),
            owner: owner.clone(),
            released_at,
            until: released_at.plus(Duration::from_millis(watch_ms)),
        };
        tokio::spawn(async move {
            watched.until_it_is_over().await;
            drop(place);
        });
    }
}

struct Watched {
    index: Index,
    id: LockId,
    owner: Fingerprint,
    released_at: Timestamp,
    until: Timestamp,
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
        let lock = self
            .index
            .stream()
            .locks(std::slice::from_ref(&self.id))
            .pop();
        let lock = lock.as_deref().map(|lock| (lock, lock.observed_at));
        let (owner, released_at) = (&self.owner, self.released_at);
        let came_to = Aftermath::now(owner, released_at, self.until, lock, now, before);
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
        let history = self.index.history(&self.id);
        let mut holds = history.holds.into_iter();
        let hold =
            holds.find(|hold| hold.fingerprint == self.owner && hold.from > self.released_at)?;
        Some(Aftermath::PutBack { at: hold.from })
    }

    fn tell(&self, came_to: &Aftermath) {
        let Self { id, owner, .. } = self;
        match came_to {
            Aftermath::PutBack { at } => {
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
