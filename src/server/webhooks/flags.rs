//! Follows the stream of changes for one webhook: flags that stand, flags that fell, locks that were lost.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use tokio::time::sleep_until;

use super::event::Lost;
use super::standing::{Fell, Standing};
use super::{Event, Webhook};
use crate::domain::{Change, Sight};
use crate::server::index::Index;
use crate::server::index::event::EventId;

/// Watches for ever.
pub(super) async fn watch(webhook: Arc<Webhook>, index: Index) {
    let config = &webhook.config;
    let mut watcher = Watcher {
        standing: Standing::new(config.flags.clone(), config.settle),
        sight: match &config.groups {
            Some(groups) => Sight::Only(groups.clone().into()),
            None => Sight::Everything,
        },
        place: None,
        webhook: &webhook,
        index: &index,
    };
    let mut latest = index.stream().latest();
    loop {
        latest.mark_unchanged();
        watcher.listen();
        watcher.tell_ripe();
        let ripe_at = watcher.standing.ripe_at();
        tokio::select! {
            changed = latest.changed() => if changed.is_err() {
                return;
            },
            () = sleep_until(ripe_at.unwrap_or_else(Instant::now).into()), if ripe_at.is_some() => {}
        }
    }
}

struct Watcher<'a> {
    standing: Standing,
    /// The groups that it is told of.
    sight: Sight,
    /// Up to where in the stream it has heard.
    place: Option<EventId>,
    webhook: &'a Webhook,
    index: &'a Index,
}

impl Watcher<'_> {
    /// Hears what is new.
    fn listen(&mut self) {
        let (stream, now) = (self.index.stream(), Instant::now());
        let missed = self
            .place
            .and_then(|place| stream.changes_since(place, &self.sight));
        if let Some((place, events)) = missed {
            self.place = Some(place);
            for event in events {
                self.hear(&event.change, now);
            }
            return;
        }
        let index = stream.snapshot();
        self.place = Some(index.id());
        let locks = || {
            index
                .locks()
                .filter(|lock| self.sight.shows(&lock.id.group))
        };
        let there: HashSet<_> = locks().map(|lock| &lock.id).collect();
        let mut fell = self.standing.only(&there);
        for lock in locks() {
            fell.extend(self.standing.see(lock, now));
        }
        self.tell_fell(fell);
    }

    fn hear(&mut self, change: &Change, now: Instant) {
        let fell = match change {
            Change::Appeared { lock }
            | Change::Renewed { lock }
            | Change::ChangedHands { lock }
            | Change::Updated { lock } => self.standing.see(lock, now),
            Change::Gone { id, ending, .. } => self.standing.gone(id, *ending),
            Change::Lost {
                id,
                fingerprint,
                label,
                at,
                why,
            } => {
                if self.webhook.config.lost {
                    let lost = Lost {
                        id,
                        fingerprint,
                        label: label.as_deref(),
                        why,
                    };
                    self.webhook.tell(Event::lost(&lost, *at));
                }
                return;
            }
            Change::Group { .. } => return,
        };
        self.tell_fell(fell);
    }

    fn tell_ripe(&mut self) {
        for (id, flag) in self.standing.ripe(Instant::now()) {
            // One that went away in this moment is told as gone with the next change.
            if let Some(lock) = self.index.snapshot().lock(&id) {
                let at = self.index.now();
                self.webhook.tell(Event::raised(flag, lock, at));
            }
        }
    }

    fn tell_fell(&self, fell: Vec<Fell>) {
        for Fell { id, flag, ended } in fell {
            let at = self.index.now();
            self.webhook.tell(Event::cleared(flag, &id, ended, at));
        }
    }
}
