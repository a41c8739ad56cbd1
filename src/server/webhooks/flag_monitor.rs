//! Follows the change stream for one webhook and reports raised flags, cleared flags and lost
//! locks.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use tokio::time::sleep_until;

use super::event::LockLostData;
use super::flag_debouncer::{ClearedFlag, FlagDebouncer};
use super::{Webhook, WebhookEvent};
use crate::domain::{Change, VisibleGroups};
use crate::server::index::Index;
use crate::server::index::event::EventId;

/// Runs until the index stops.
pub(super) async fn watch(webhook: Arc<Webhook>, index: Index) {
    let config = &webhook.config;
    let mut monitor = FlagMonitor {
        debouncer: FlagDebouncer::new(config.flags.clone(), config.flag_delay),
        visible_groups: match &config.groups {
            Some(groups) => VisibleGroups::Only(groups.clone().into()),
            None => VisibleGroups::All,
        },
        last_id: None,
        webhook: &webhook,
        index: &index,
    };
    let mut latest = index.stream().latest();
    loop {
        latest.mark_unchanged();
        monitor.process_changes();
        monitor.report_due();
        let next_due_at = monitor.debouncer.next_due_at();
        tokio::select! {
            changed = latest.changed() => if changed.is_err() {
                return;
            },
            () = sleep_until(next_due_at.unwrap_or_else(Instant::now).into()), if next_due_at.is_some() => {}
        }
    }
}

struct FlagMonitor<'a> {
    debouncer: FlagDebouncer,
    /// The groups of the webhook.
    visible_groups: VisibleGroups,
    /// The last processed event.
    last_id: Option<EventId>,
    webhook: &'a Webhook,
    index: &'a Index,
}

impl FlagMonitor<'_> {
    /// Processes new changes.
    fn process_changes(&mut self) {
        let (stream, now) = (self.index.stream(), Instant::now());
        let events_since = self
            .last_id
            .and_then(|last_id| stream.changes_since(last_id, &self.visible_groups));
        if let Some((last_id, events)) = events_since {
            self.last_id = Some(last_id);
            for event in events {
                self.process_change(&event.change, now);
            }
            return;
        }
        let index = stream.snapshot();
        self.last_id = Some(index.id());
        let locks = || {
            index
                .locks()
                .filter(|lock| self.visible_groups.contains(&lock.id.group))
        };
        let existing: HashSet<_> = locks().map(|lock| &lock.id).collect();
        let mut cleared = self.debouncer.retain_existing(&existing);
        for lock in locks() {
            cleared.extend(self.debouncer.update(lock, now));
        }
        self.report_cleared(cleared);
    }

    fn process_change(&mut self, change: &Change, now: Instant) {
        let cleared = match change {
            Change::Appeared { lock }
            | Change::Renewed { lock }
            | Change::OwnerChanged { lock }
            | Change::Updated { lock } => self.debouncer.update(lock, now),
            Change::Gone { id, end_reason, .. } => self.debouncer.remove(id, *end_reason),
            Change::Lost {
                id,
                fingerprint,
                label,
                at,
                reason,
            } => {
                if self.webhook.config.lost_locks {
                    let lost = LockLostData {
                        id,
                        fingerprint,
                        label: label.as_deref(),
                        reason,
                    };
                    self.webhook.enqueue(WebhookEvent::lost(&lost, *at));
                }
                return;
            }
            Change::Group { .. } => return,
        };
        self.report_cleared(cleared);
    }

    fn report_due(&mut self) {
        for (id, flag) in self.debouncer.take_due(Instant::now()) {
            // A lock that has just been removed is reported as cleared with the next change.
            if let Some(lock) = self.index.snapshot().lock(&id) {
                let at = self.index.now();
                self.webhook.enqueue(WebhookEvent::raised(flag, lock, at));
            }
        }
    }

    fn report_cleared(&self, cleared: Vec<ClearedFlag>) {
        for ClearedFlag {
            id,
            flag,
            end_reason,
        } in cleared
        {
            let at = self.index.now();
            self.webhook
                .enqueue(WebhookEvent::cleared(flag, &id, end_reason, at));
        }
    }
}
