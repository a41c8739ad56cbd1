//! Which flags stand, since when, and which of them were told: the rule by which a flag is news.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::domain::{Confidence, Ending, Flag, Lock, LockId};

/// The flags that stand.
pub(super) struct Standing {
    wanted: Vec<Flag>,
    /// A flag is news once it has stood for so long.
    settle: Duration,
    flags: HashMap<LockId, BTreeMap<Flag, Stands>>,
    /// Those that are not told yet, the one that stands longest first.
    untold: VecDeque<(Instant, LockId, Flag)>,
}

struct Stands {
    since: Instant,
    is_told: bool,
}

/// A flag that was told does not stand any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fell {
    pub(super) id: LockId,
    pub(super) flag: Flag,
    /// How its lock went away, if it did.
    pub(super) ended: Option<Ending>,
}

impl Standing {
    pub(super) fn new(wanted: Vec<Flag>, settle: Duration) -> Self {
        Self {
            wanted,
            settle,
            flags: HashMap::new(),
            untold: VecDeque::new(),
        }
    }

    /// A lock is as it is now; which flags that were told it lost.
    pub(super) fn see(&mut self, lock: &Lock, now: Instant) -> Vec<Fell> {
        let is_sure = lock.confidence != Confidence::Possible;
        let has = |flag: &Flag| is_sure && lock.has(*flag);
        if !self.flags.contains_key(&lock.id) && !self.wanted.iter().any(has) {
            return Vec::new();
        }
        let stand = self.flags.entry(lock.id.clone()).or_default();
        for flag in self.wanted.iter().filter(|flag| has(flag)) {
            stand.entry(*flag).or_insert_with(|| {
                self.untold.push_back((now, lock.id.clone(), *flag));
                Stands {
                    since: now,
                    is_told: false,
                }
            });
        }
        let mut fell = Vec::new();
        stand.retain(|flag, stands| {
            let stays = has(flag);
            if !stays && stands.is_told {
                fell.push(Fell {
                    id: lock.id.clone(),
                    flag: *flag,
                    ended: None,
                });
            }
            stays
        });
        if stand.is_empty() {
            self.flags.remove(&lock.id);
        }
        fell
    }

    /// A lock is not there any more; which flags that were told went with it.
    pub(super) fn gone(&mut self, id: &LockId, ending: Ending) -> Vec<Fell> {
        let stood = self.flags.remove(id).unwrap_or_default();
        let told = stood.into_iter().filter(|(_, stands)| stands.is_told);
        let fell = told.map(|(flag, _)| Fell {
            id: id.clone(),
            flag,
            ended: Some(ending),
        });
        fell.collect()
    }

    /// These locks are all there are; which flags that were told went with the others, nobody knows how.
    pub(super) fn only(&mut self, there: &HashSet<&LockId>) -> Vec<Fell> {
        let others = self.flags.keys().filter(|id| !there.contains(id));
        let others: Vec<LockId> = others.cloned().collect();
        let fell = others.iter().map(|id| self.gone(id, Ending::Unknown));
        fell.flatten().collect()
    }

    /// When the next flag becomes news, if it goes on standing.
    pub(super) fn ripe_at(&self) -> Option<Instant> {
        self.untold.front().map(|(since, ..)| *since + self.settle)
    }

    /// The flags that have stood for long enough and were not told before: they are told from now on.
    pub(super) fn ripe(&mut self, now: Instant) -> Vec<(LockId, Flag)> {
        let mut ripe = Vec::new();
        while self.ripe_at().is_some_and(|at| at <= now)
            && let Some((since, id, flag)) = self.untold.pop_front()
        {
            let flags = self.flags.get_mut(&id);
            let stands = flags.and_then(|flags| flags.get_mut(&flag));
            // One that fell and stands again has a place further back.
            if let Some(stands) = stands.filter(|stands| stands.since == since && !stands.is_told) {
                stands.is_told = true;
                ripe.push((id, flag));
            }
        }
        ripe
    }
}

#[cfg(test)]
#[path = "standing_tests.rs"]
mod tests;
