//! Debounces flags: a flag is reported after it has been raised for a minimum time.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::domain::{Confidence, Flag, GoneReason, Lock, LockId};

/// The raised flags of all locks.
pub(super) struct FlagDebouncer {
    watched_flags: Vec<Flag>,
    /// How long a flag must be raised before it is reported.
    delay: Duration,
    flags: HashMap<LockId, BTreeMap<Flag, RaisedFlag>>,
    /// Flags that are not reported yet, the one raised longest ago first.
    pending: VecDeque<(Instant, LockId, Flag)>,
}

struct RaisedFlag {
    since: Instant,
    is_reported: bool,
}

/// The end of a reported flag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClearedFlag {
    pub(super) id: LockId,
    pub(super) flag: Flag,
    /// Why the lock ended, if it did.
    pub(super) end_reason: Option<GoneReason>,
}

impl FlagDebouncer {
    pub(super) fn new(watched_flags: Vec<Flag>, delay: Duration) -> Self {
        Self {
            watched_flags,
            delay,
            flags: HashMap::new(),
            pending: VecDeque::new(),
        }
    }

    /// Updates the flags of a lock. Returns the reported flags that were cleared.
    pub(super) fn update(&mut self, lock: &Lock, now: Instant) -> Vec<ClearedFlag> {
        let is_sure = lock.confidence != Confidence::Possible;
        let has = |flag: &Flag| is_sure && lock.has_flag(*flag);
        if !self.flags.contains_key(&lock.id) && !self.watched_flags.iter().any(has) {
            return Vec::new();
        }
        let raised = self.flags.entry(lock.id.clone()).or_default();
        for flag in self.watched_flags.iter().filter(|flag| has(flag)) {
            raised.entry(*flag).or_insert_with(|| {
                self.pending.push_back((now, lock.id.clone(), *flag));
                RaisedFlag {
                    since: now,
                    is_reported: false,
                }
            });
        }
        let mut cleared = Vec::new();
        raised.retain(|flag, flag_state| {
            let is_raised = has(flag);
            if !is_raised && flag_state.is_reported {
                cleared.push(ClearedFlag {
                    id: lock.id.clone(),
                    flag: *flag,
                    end_reason: None,
                });
            }
            is_raised
        });
        if raised.is_empty() {
            self.flags.remove(&lock.id);
        }
        cleared
    }

    /// Removes a lock. Returns its reported flags.
    pub(super) fn remove(&mut self, id: &LockId, end_reason: GoneReason) -> Vec<ClearedFlag> {
        let raised = self.flags.remove(id).unwrap_or_default();
        let reported = raised
            .into_iter()
            .filter(|(_, flag_state)| flag_state.is_reported);
        let cleared = reported.map(|(flag, _)| ClearedFlag {
            id: id.clone(),
            flag,
            end_reason: Some(end_reason),
        });
        cleared.collect()
    }

    /// Removes all locks but these, for unknown reasons. Returns their reported flags.
    pub(super) fn retain_existing(&mut self, existing: &HashSet<&LockId>) -> Vec<ClearedFlag> {
        let others = self.flags.keys().filter(|id| !existing.contains(id));
        let others: Vec<LockId> = others.cloned().collect();
        let cleared = others.iter().map(|id| self.remove(id, GoneReason::Unknown));
        cleared.flatten().collect()
    }

    /// When the next flag is due, if it stays raised.
    pub(super) fn next_due_at(&self) -> Option<Instant> {
        self.pending.front().map(|(since, ..)| *since + self.delay)
    }

    /// Takes the flags that have been raised for long enough and marks them as reported.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<(LockId, Flag)> {
        let mut due = Vec::new();
        while self.next_due_at().is_some_and(|at| at <= now)
            && let Some((since, id, flag)) = self.pending.pop_front()
        {
            let flags = self.flags.get_mut(&id);
            let flag_state = flags.and_then(|flags| flags.get_mut(&flag));
            // A flag that was cleared and raised again has a later entry in the queue.
            if let Some(flag_state) =
                flag_state.filter(|flag_state| flag_state.since == since && !flag_state.is_reported)
            {
                flag_state.is_reported = true;
                due.push((id, flag));
            }
        }
        due
    }
}

#[cfg(test)]
mod tests;
