//! Polls: reads some keys from all nodes and reports the result, unless it shows a change in
//! progress.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::super::merge::{KeyObservation, merge};
use super::super::report::Report;
use super::{MAX_KEYS_PER_POLL, Watcher};
use crate::domain::quorum::{Judgement, judge};
use crate::domain::{
    Format, LockId, LockKey, Mode, NodeState, NodeView, Observation, PrefixSource, Timestamp,
    Verdict,
};
use crate::server::clock::ClockReading;
use crate::server::stores::{CallError, LockReading, NodeReading, ReadCause};

/// A lock read during a change of owner is read again after this time before it is reported as
/// split or partial.
const SETTLE_DELAY: Duration = Duration::from_millis(60);
/// Unanswered keys are retried in batches of this size.
const RETRY_BATCH_SIZE: usize = 500;
/// Bounds the keys waiting for a retry. One poll may exceed it by its own number of keys.
const MAX_UNANSWERED: usize = 200_000;
/// A node that has been down for longer is not waited for: the scan finds its keys when it is back.
const RECOVERY_WINDOW_MS: i64 = 30_000;
/// Bounds the keys known not to be locks.
const MAX_REJECTED: usize = 200_000;

/// What notifications say about a key.
#[derive(Clone, Copy, Default)]
pub(super) struct KeyActivity {
    /// The number of writes.
    pub(super) writes: u32,
    /// The rate of ownership changes, for hot keys.
    pub(super) ownership_changes_per_minute: Option<f64>,
}

/// A lock that was read during a change of owner.
pub(super) struct UnsettledLock {
    until: Instant,
    /// Writes that were notified but not reported yet.
    writes: u32,
}

impl Watcher {
    /// Reads some keys from all nodes and reports the result. Returns false when the observer has
    /// stopped.
    pub(super) async fn poll(&mut self, keys: &[LockKey]) -> bool {
        self.poll_with(keys, &HashMap::new()).await
    }

    /// The same for keys with notifications.
    pub(super) async fn poll_changed(&mut self, activity: &HashMap<LockKey, KeyActivity>) -> bool {
        let keys: Vec<LockKey> = activity.keys().cloned().collect();
        for keys in keys.chunks(MAX_KEYS_PER_POLL) {
            if !self.poll_with(keys, activity).await {
                return false;
            }
        }
        true
    }

    async fn poll_with(
        &mut self,
        keys: &[LockKey],
        activity: &HashMap<LockKey, KeyActivity>,
    ) -> bool {
        if keys.is_empty() {
            return true;
        }
        let (read_at, observations) = self.read_keys(keys, activity).await;
        let now = Instant::now();
        let mut settled = Vec::with_capacity(observations.len());
        let mut deferred = Vec::new();
        for mut observation in observations {
            let before = self.unsettled.remove(&observation.key);
            // Writes that were notified before a deferred report are still to be counted.
            let carried = before.as_ref().map_or(0, |before| before.writes);
            observation.feed.writes = observation.feed.writes.saturating_add(carried);
            // A lock is deferred once: the time of its first reading counts.
            let until = before.map_or(now + SETTLE_DELAY, |before| before.until);
            if self.is_transient(&observation) && until > now {
                let unsettled = UnsettledLock {
                    until,
                    writes: observation.feed.writes,
                };
                deferred.push(observation.key.clone());
                self.unsettled.insert(observation.key, unsettled);
            } else {
                settled.push(observation);
            }
        }
        if !self.report(read_at, settled).await {
            return false;
        }
        if self.is_long_running || deferred.is_empty() {
            return true;
        }
        // A one-shot scan has no later round, so it waits here.
        sleep(SETTLE_DELAY).await;
        self.unsettled.clear();
        let (read_at, observations) = self.read_keys(&deferred, activity).await;
        self.report(read_at, observations).await
    }

    async fn read_keys(
        &mut self,
        keys: &[LockKey],
        activity: &HashMap<LockKey, KeyActivity>,
    ) -> (ClockReading, Vec<KeyObservation>) {
        let known_formats;
        let cause = if keys.iter().all(|key| activity.contains_key(key)) {
            known_formats = self.known_formats(keys);
            ReadCause::Written {
                known_formats: &known_formats,
            }
        } else {
            ReadCause::Routine
        };
        let reading = self.index.read_locks(&self.group, keys, cause).await;
        self.record_missing_nodes(&reading);
        self.record_unanswered_keys(&reading, keys);
        self.record_rejected_keys(&reading, keys);
        let has_reply = reading.nodes.iter().any(|node| node.result.is_ok());
        let read_at = reading.requested_at;
        let mut observations = merge(reading, keys);
        // Read after the poll, so that a flush during the poll counts as a gap.
        let feed = self.group.feed_coverage();
        let (group, index) = (&self.group.config.name, self.index.snapshot());
        for observation in &mut observations {
            let feed_since = feed.complete_since(&observation.key);
            observation.feed.complete_since = feed_since.map(|since| read_at.wall_at(since));
            if let Some(activity) = activity.get(&observation.key) {
                observation.feed.writes = activity.writes;
                observation.feed.ownership_changes_per_minute =
                    activity.ownership_changes_per_minute;
            }
            if let Some(info) = observation.format_info {
                self.rejected.remove(&observation.key);
                if !index.contains_key(group, &observation.key) {
                    let source = self.source_of(&observation.key, activity);
                    let prefixes = self.names.prefixes();
                    prefixes.record_lock(&observation.key, info.format, source, read_at.wall);
                }
            } else if has_reply && !self.unanswered.contains(&observation.key) {
                self.names.prefixes().record_other(&observation.key);
                self.non_locks.insert(observation.key.clone());
            }
        }
        (read_at, observations)
    }

    /// The formats of the keys that are locks, as last observed.
    fn known_formats(&self, keys: &[LockKey]) -> HashMap<LockKey, Format> {
        let (index, group) = (self.index.snapshot(), &self.group.config.name);
        let known_format = |key: &LockKey| {
            let id = LockId {
                group: group.clone(),
                key: key.clone(),
            };
            let format = index.lock(&id)?.format;
            Some((id.key, format))
        };
        keys.iter().filter_map(known_format).collect()
    }

    /// How a new lock was found.
    fn source_of(&self, key: &LockKey, activity: &HashMap<LockKey, KeyActivity>) -> PrefixSource {
        // A notified lock that is read a second time has no activity of its own.
        let unsettled = self.unsettled.get(key);
        if self.names.was_just_found(key) {
            PrefixSource::Scan
        } else if activity.contains_key(key) || unsettled.is_some_and(|lock| lock.writes > 0) {
            PrefixSource::Feed
        } else {
            PrefixSource::Operation
        }
    }

    pub(super) fn has_unsettled(&self) -> bool {
        !self.unsettled.is_empty()
    }

    /// When the first unsettled lock is read again.
    pub(super) fn next_unsettled_at(&self) -> Instant {
        let deadlines = self.unsettled.values().map(|unsettled| unsettled.until);
        deadlines.min().unwrap_or_else(Instant::now)
    }

    /// Reads unsettled locks again.
    pub(super) async fn poll_unsettled(&mut self) -> bool {
        let now = Instant::now();
        let is_due = |(_, unsettled): &(&LockKey, &UnsettledLock)| unsettled.until <= now;
        let due = self.unsettled.iter().filter(is_due);
        let keys: Vec<LockKey> = due.map(|(key, _)| key.clone()).collect();
        self.poll(&keys).await
    }

    fn record_missing_nodes(&mut self, reading: &LockReading) {
        let now = self.index.now();
        let missing = reading.nodes.iter().filter(|node| node.result.is_err());
        self.last_missed_at
            .extend(missing.map(|node| (node.node.clone(), now)));
    }

    /// Keeps new keys that no reachable node returned and that may exist on a node that did not
    /// reply. Neither notifications nor the scan may return them again for a minute. Known locks
    /// are not kept: all of them are read again once a node is back.
    fn record_unanswered_keys(&mut self, reading: &LockReading, keys: &[LockKey]) {
        let may_be_on_missing_node = self.may_have_missed_key(reading);
        let mut is_answered = vec![false; keys.len()];
        for node in &reading.nodes {
            let Ok(key_readings) = &node.result else {
                continue;
            };
            for (index, key_reading) in node
                .resolved_key_indexes(keys.len())
                .into_iter()
                .zip(key_readings)
            {
                if let Some(is_answered) = is_answered.get_mut(index) {
                    *is_answered |= key_reading.is_present() || !may_be_on_missing_node;
                }
            }
        }
        let mut unanswered = BTreeSet::new();
        for (key, is_answered) in keys.iter().zip(is_answered) {
            if is_answered {
                self.unanswered.remove(key);
            } else {
                unanswered.insert(key.clone());
            }
        }
        // Bounds the memory. Keys that are not kept here are found again by a later scan pass.
        if unanswered.is_empty() || self.unanswered.len() >= MAX_UNANSWERED {
            return;
        }
        let group = &self.group.config.name;
        let index = self.index.snapshot();
        unanswered.retain(|key| !index.contains_key(group, key));
        self.unanswered.append(&mut unanswered);
    }

    /// Whether a node that serves every key did not reply to this poll but is expected to reply to
    /// a later one.
    fn may_have_missed_key(&self, reading: &LockReading) -> bool {
        let has_no_reply = |node: &NodeReading| {
            let error = node.result.as_ref().err();
            node.key_indexes.is_none()
                // A node that rejected the command would reject it again.
                && error.is_some_and(|error| !matches!(error, CallError::Rejected { .. }))
        };
        let unanswered: Vec<&NodeReading> = reading
            .nodes
            .iter()
            .filter(|node| has_no_reply(node))
            .collect();
        if unanswered.is_empty() {
            return false;
        }
        let now = self.index.now();
        let may_recover = |node: &NodeView| {
            let is_recent = |since: Timestamp| now.millis_since(since) < RECOVERY_WINDOW_MS;
            node.state == NodeState::Up || node.since.is_none_or(is_recent)
        };
        let mut nodes = self.group.node_views().into_iter();
        nodes.any(|node| {
            unanswered.iter().any(|reply| reply.node == node.name) && may_recover(&node)
        })
    }

    /// Retries unanswered keys in small batches: the size of the first batch may have caused the
    /// timeout.
    pub(super) async fn retry_unanswered(&mut self) -> bool {
        let is_up = |node: &NodeView| node.state == NodeState::Up;
        if self.unanswered.is_empty() || !self.group.node_views().iter().any(is_up) {
            return true;
        }
        let first = self.unanswered.iter().take(MAX_KEYS_PER_POLL);
        let keys: Vec<LockKey> = first.cloned().collect();
        for keys in keys.chunks(RETRY_BATCH_SIZE) {
            if !self.poll(keys).await {
                return false;
            }
        }
        true
    }

    /// Records every existing key as not being a lock; the caller removes those that are
    /// recognised. An absent key says nothing about its name.
    fn record_rejected_keys(&mut self, reading: &LockReading, keys: &[LockKey]) {
        if self.rejected.len() >= MAX_REJECTED {
            return;
        }
        for node in &reading.nodes {
            let Ok(key_readings) = &node.result else {
                continue;
            };
            let indexes = node.resolved_key_indexes(keys.len()).into_iter();
            let existing = indexes
                .zip(key_readings)
                .filter(|(_, key_reading)| key_reading.is_present());
            let names = existing.filter_map(|(index, _)| keys.get(index).cloned());
            self.rejected.extend(names);
        }
    }

    async fn report(&self, read_at: ClockReading, observations: Vec<KeyObservation>) -> bool {
        let report = Report::KeysRead {
            group: self.group.config.name.clone(),
            read_at,
            observations,
            reply: None,
        };
        self.index.reports.send(report).await.is_ok()
    }

    /// Whether a lock is newly split or partial: the nodes may have been read between two steps of
    /// one acquire or release.
    fn is_transient(&self, observation: &KeyObservation) -> bool {
        let node_observations: Vec<&Observation> = observation
            .nodes
            .iter()
            .map(|node| &node.observation)
            .collect();
        let mode = observation
            .format_info
            .map_or(Mode::Exclusive, |info| info.mode);
        match judge(&node_observations, mode) {
            Judgement::Observed(observed) => match observed.verdict {
                Verdict::Split | Verdict::Partial => {
                    let id = LockId {
                        group: self.group.config.name.clone(),
                        key: observation.key.clone(),
                    };
                    let index = self.index.snapshot();
                    index.lock(&id).map(|lock| lock.verdict) != Some(observed.verdict)
                }
                Verdict::Held => observed.is_split,
                Verdict::Unknown => false,
            },
            Judgement::NotObserved | Judgement::Undetermined => false,
        }
    }
}
