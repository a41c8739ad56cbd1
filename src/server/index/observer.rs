//! The only task that writes the index: it receives reports and publishes changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use strum::VariantArray as _;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;

use super::contention::Contention;
use super::flag_records;
use super::fold::{TrackedLock, Transition, fold};
use super::group_registry::GroupRegistry;
use super::history::{ChangeContext, Histories, HistoryRecord};
use super::local_renewals::LocalRenewals;
use super::merge::KeyObservation;
use super::report::Report;
use super::snapshot::IndexSnapshot;
use super::spring_registries::{RegistryMatch, SpringRegistries};
use super::stream::ChangeStream;
use super::tombstones::Tombstones;
use super::update_throttle::UpdateThrottle;
use super::view_cache::ViewCache;
use super::{LockInspection, renewal_tracker};
use crate::domain::{
    Change, Evidence, Flag, Format, GoneReason, GroupView, Lock, LockId, LockKey, Timestamp,
};
use crate::server::clock::{ClockReading, MonotonicTime};

/// Applies reports to the index and keeps the tracking state that the index does not contain.
pub(super) struct Observer {
    stream: Arc<ChangeStream>,
    views: ViewCache,
    /// The working copy, ahead of the published snapshot by the report being processed.
    index: IndexSnapshot,
    contention: Arc<Contention>,
    removals: broadcast::Sender<LockId>,
    groups: GroupRegistry,
    histories: Arc<Histories>,
    local_renewals: Arc<LocalRenewals>,
    registries: SpringRegistries,
    tracked_locks: BTreeMap<LockId, TrackedLock>,
    tombstones: Tombstones,
    throttle: UpdateThrottle,
}

impl Observer {
    pub(super) fn new(
        stream: Arc<ChangeStream>,
        views: ViewCache,
        contention: Arc<Contention>,
        removals: broadcast::Sender<LockId>,
        groups: GroupRegistry,
        histories: Arc<Histories>,
        local_renewals: Arc<LocalRenewals>,
    ) -> Self {
        Self {
            index: IndexSnapshot::clone(&stream.snapshot()),
            stream,
            views,
            contention,
            removals,
            groups,
            histories,
            local_renewals,
            registries: SpringRegistries::default(),
            tracked_locks: BTreeMap::new(),
            tombstones: Tombstones::default(),
            throttle: UpdateThrottle::default(),
        }
    }

    /// Processes reports until `stop` is cancelled.
    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<Report>, stop: CancellationToken) {
        loop {
            let report = tokio::select! {
                () = stop.cancelled() => return,
                report = inbox.recv() => report,
            };
            match report {
                Some(Report::KeysRead {
                    group,
                    read_at,
                    observations,
                    reply,
                }) => {
                    let first = observations.first().map(|observation| {
                        (
                            LockId {
                                group: group.clone(),
                                key: observation.key.clone(),
                            },
                            observation.nodes.clone(),
                        )
                    });
                    let mut changes = Vec::new();
                    for mut observation in observations {
                        changes.extend(self.apply_registry_format(&group, &mut observation));
                        changes.extend(self.observe_key(&group, read_at, observation));
                    }
                    // Published before the reply, so that the caller finds the lock in the
                    // snapshot.
                    self.publish(changes);
                    if let (Some(reply), Some((id, nodes))) = (reply, first) {
                        let lock = self.index.lock(&id).map(|lock| Lock::clone(lock));
                        // The caller may have been cancelled.
                        let _gone = reply.send(LockInspection { lock, nodes });
                    }
                }
                Some(Report::ContentionChanged { group, at, keys }) => {
                    let changes = keys.into_iter();
                    let changes = changes.filter_map(|key| self.update_contention(&group, key, at));
                    self.publish(changes.collect());
                }
                // The group was removed after the watcher sent its report.
                Some(Report::GroupStatus(group)) if self.groups.get(&group.name).is_none() => {}
                Some(Report::GroupStatus(group)) => {
                    self.histories.record_scan_pass(&group);
                    self.update_group(group);
                }
                Some(Report::GroupsReplaced { views, changed, at }) => {
                    self.replace_groups(views, &changed, at)
                }
                Some(Report::PrefixExcluded { group, at }) => self.remove_excluded(&group, at),
                Some(Report::Publish(change)) => self.publish(vec![*change]),
                Some(Report::ForceReleased { id, owner, at }) => {
                    self.histories.record_force_release(&id, &owner, at)
                }
                None => return,
            }
        }
    }

    /// Publishes the changes and the current working copy.
    fn publish(&mut self, changes: Vec<Change>) {
        flag_records::report(self.histories.feed(), &self.index, &changes);
        self.stream.publish(&mut self.index, changes);
    }

    /// Updates the status of a group; publishes it if the throttle admits it.
    fn update_group(&mut self, group: Arc<GroupView>) {
        let before = self.index.group(&group.name).map(AsRef::as_ref);
        flag_records::report_nodes(self.histories.feed(), before, &group);
        let is_due = self
            .throttle
            .admit(before, &group, self.index.groups().len());
        let change = Change::Group { group };
        if is_due {
            self.publish(vec![change]);
        } else {
            // Not an event, but the API reads the status from the snapshot.
            self.index.apply(&change);
            self.publish(Vec::new());
        }
    }

    /// Replaces the groups, drops the locks of removed and changed ones, and resets the stream.
    fn replace_groups(&mut self, views: Vec<GroupView>, changed: &[String], at: Timestamp) {
        let is_kept = |group: &str| {
            views.iter().any(|view| view.name == group) && !changed.iter().any(|name| name == group)
        };
        let removed = self.index.groups().iter().map(|group| &group.name);
        let removed = removed.filter(|name| views.iter().all(|view| view.name != **name));
        for group in removed {
            let group = group.clone();
            let record = HistoryRecord::GroupRemoved { group, at };
            self.histories.feed().send(record, at);
        }
        self.tracked_locks.retain(|id, _| is_kept(&id.group));
        self.tombstones.retain_groups(is_kept);
        self.throttle.retain_groups(is_kept);
        let view = |view: GroupView| {
            let known = self.index.group(&view.name);
            let known = known.filter(|_| is_kept(&view.name)).cloned();
            // An unchanged group keeps its current status.
            known.unwrap_or_else(|| Arc::new(view))
        };
        let groups = views.iter().cloned().map(view).collect();
        self.index.replace_groups(groups, is_kept);
        self.stream.reset(&mut self.index);
        self.views.clear();
    }

    /// Removes the locks with an excluded prefix. Their holds have not ended, so the histories are
    /// left as they are.
    fn remove_excluded(&mut self, group: &str, at: Timestamp) {
        let Some(entry) = self.groups.get(group) else {
            return;
        };
        let excluded = entry.prefixes.excluded();
        let locks = self.index.locks_of(group).map(|lock| &lock.id);
        let removed = locks.filter(|id| excluded.matches(id.key.as_bytes()));
        let removed: Vec<LockId> = removed.cloned().collect();
        for id in &removed {
            self.tracked_locks.remove(id);
            self.contention.remove(id);
            entry.recheck_timers.set(&id.key, None);
        }
        let gone = |id| Change::Gone {
            id,
            end_reason: GoneReason::Unknown,
            at,
        };
        self.publish(removed.into_iter().map(gone).collect());
    }

    /// The change caused by new evidence of contention, if any.
    fn update_contention(&self, group: &str, key: LockKey, at: MonotonicTime) -> Option<Change> {
        let id = LockId {
            group: group.to_owned(),
            key,
        };
        let lock = self.index.lock(&id)?;
        let (sensor_evidence, unavailable_reason) = self.contention.evidence_for(&id, at);
        // The queue of a Redisson lock is part of the sensors' evidence. Queues of other formats
        // are read with the lock.
        let is_counted = matches!(lock.format, Format::Redisson | Format::RedissonFair);
        let mut polled = lock.evidence.clone();
        polled.retain(|item| item.kind == "queue" && !is_counted);
        let evidence = merge_evidence(polled, sensor_evidence);
        if lock.evidence == evidence && lock.contention_unavailable_reason == unavailable_reason {
            return None;
        }
        let has = |flag: &Flag| match flag {
            Flag::Contended => !evidence.is_empty(),
            other => lock.has_flag(*other),
        };
        let lock = Lock {
            flags: Flag::VARIANTS.iter().copied().filter(has).collect(),
            evidence,
            contention_unavailable_reason: unavailable_reason,
            ..Lock::clone(lock)
        };
        Some(Change::Updated {
            lock: Arc::new(lock),
        })
    }

    /// Sets the Spring Integration format on a lock of a registry. Returns the change of an earlier
    /// lock that belongs to the same registry.
    fn apply_registry_format(
        &mut self,
        group: &str,
        observation: &mut KeyObservation,
    ) -> Option<Change> {
        if !observation
            .format_info
            .is_some_and(|info| info.may_belong_to_registry)
        {
            return None;
        }
        let owner = observation
            .nodes
            .iter()
            .find_map(|node| node.observation.owner())?;
        let owner = owner.fingerprint;
        let registry_match = self.registries.record(group, &observation.key, &owner);
        if registry_match != RegistryMatch::NotARegistry {
            observation.set_format(Format::SpringIntegration);
        }
        let RegistryMatch::Discovered(key) = registry_match else {
            return None;
        };
        let id = LockId {
            group: group.to_owned(),
            key,
        };
        let before = self.index.lock(&id)?;
        let has_registry_owner = before.owners.iter().any(|known| known.fingerprint == owner);
        has_registry_owner.then(|| Change::Updated {
            lock: Arc::new(before.with_format(Format::SpringIntegration)),
        })
    }

    /// The change caused by one observation, if any.
    fn observe_key(
        &mut self,
        group: &str,
        read_at: ClockReading,
        mut observation: KeyObservation,
    ) -> Option<Change> {
        let id = LockId {
            group: group.to_owned(),
            key: observation.key.clone(),
        };
        if observation.format_info.is_some() {
            observation.expectation = self.histories.expectation(&id);
        }
        let (sensor_evidence, unavailable_reason) =
            self.contention.evidence_for(&id, read_at.monotonic);
        observation.evidence = merge_evidence(observation.evidence, sensor_evidence);
        observation.contention_unavailable_reason = unavailable_reason;
        observation.local_renewals = self.local_renewals.get(&id);
        let before = self.index.lock(&id).cloned();
        let tracked = self.tracked_locks.get(&id);
        let clock_step_ms = tracked.map_or(0, |tracked| tracked.clock_step_ms(read_at));
        let context = ChangeContext {
            read_at: read_at.wall,
            last_observed_at: before
                .as_ref()
                .map(|before| before.observed_at.plus_millis(clock_step_ms)),
            clock_step_ms,
            feed_complete_since: observation.feed.complete_since,
            had_notification: observation.feed.writes > 0,
        };
        let expectation = observation.expectation;
        if self.tombstones.was_gone_after(&id, read_at.monotonic) {
            return None;
        }
        // The group was removed while its nodes were being read.
        let group_entry = self.groups.get(group)?;
        // The prefix was excluded while the nodes were being read.
        if group_entry.prefixes.is_excluded(id.key.as_bytes()) {
            return None;
        }
        let max_hold = group_entry.max_hold;
        let transition = fold(
            id.clone(),
            before.as_deref(),
            tracked,
            read_at,
            max_hold,
            observation,
        );
        match &transition {
            Transition::Ignore => {}
            Transition::Remove(_) | Transition::ShowOnly(_) => {
                group_entry.recheck_timers.set(&id.key, None)
            }
            Transition::Store(
                tracked,
                Change::Appeared { lock }
                | Change::Renewed { lock }
                | Change::OwnerChanged { lock }
                | Change::Updated { lock },
            )
            | Transition::Touch(tracked, lock) => {
                let full_lease_ms = tracked.lead.full_lease_ms;
                let due = renewal_tracker::next_check_at(
                    lock,
                    full_lease_ms,
                    expectation,
                    max_hold,
                    read_at.wall,
                );
                let overdue = renewal_tracker::overdue_at(lock, expectation);
                let due = due.into_iter().chain(overdue).min();
                group_entry
                    .recheck_timers
                    .set(&id.key, due.map(|at| read_at.monotonic_at(at)));
            }
            Transition::Store(
                _,
                Change::Gone { .. } | Change::Lost { .. } | Change::Group { .. },
            ) => {}
        }
        let change = match transition {
            Transition::Ignore => None,
            Transition::Remove(change) => {
                self.tracked_locks.remove(&id);
                self.contention.remove(&id);
                self.local_renewals.remove(&id);
                // Polls overlap: the reply to an earlier one may still arrive.
                self.tombstones.record(id.clone(), read_at.monotonic);
                // There are no receivers unless some request waits for a lock.
                let _no_receivers = self.removals.send(id);
                Some(change)
            }
            Transition::ShowOnly(change) => Some(change),
            Transition::Store(tracked, change) => {
                self.tracked_locks.insert(id, tracked);
                Some(change)
            }
            Transition::Touch(tracked, lock) => {
                self.tracked_locks.insert(id, tracked);
                self.index.insert(lock);
                None
            }
        };
        if let Some(change) = &change {
            self.histories.record(change, context);
        }
        change
    }
}

/// Merges the evidence of a poll with that of the sensors. For a queue in both, the latter wins: it
/// includes this console's own waiters.
fn merge_evidence(mut polled: Vec<Evidence>, sensed: Vec<Evidence>) -> Vec<Evidence> {
    polled.retain(|polled| sensed.iter().all(|sensed| sensed.kind != polled.kind));
    polled.extend(sensed);
    polled
}
