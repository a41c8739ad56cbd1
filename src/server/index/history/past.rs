//! One lock: who has it, and who had it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::beats::Beats;
use super::holds::{Ended, Open, Who};
use super::usual::{Expected, Limit};
use super::{MOST_AT_ONCE, MOST_HOLDS_OF_A_LOCK, Seen};
use crate::domain::{Beat, Hold, HowEnded, Lock, Mode, Owner, Timestamp, Usual, UsualOf};

/// A forced release and the look that shows it lie within this time.
const FORCED_WITHIN_MS: i64 = 10_000;

/// How the first owner that a lock shows came to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// Nobody had it.
    ToTheLock,
    /// Another one had it.
    AfterAnother,
    /// It was there before.
    Earlier,
}

/// A lock's past.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// The latest last.
    ended: VecDeque<Ended>,
    open: Vec<Open>,
    changed_at: Option<Timestamp>,
    limit: Limit,
    beats: Beats,
}

impl Past {
    /// The lock is seen. Tells how long those holds lasted that ended and are known well enough to learn from.
    pub(super) fn shown(
        &mut self,
        lock: &Lock,
        came: Came,
        seen: Seen,
        absent_since: Option<Timestamp>,
        mut label: impl FnMut(&str) -> Arc<str>,
    ) -> Vec<u64> {
        self.shift(seen.stepped_ms);
        let now = owners(lock);
        let others_had_it = !self.open.is_empty();
        // Who had an exclusive lock and shows it still has it as long as nobody else has the quorum.
        let still = lock.owners.iter().filter(|_| lock.owner.is_none());
        let still: Vec<Who> = still
            .filter_map(|owner| Who::of(&owner.fingerprint))
            .collect();
        let is_there =
            |open: &Open| now.iter().any(|(who, _)| *who == open.who) || still.contains(&open.who);
        let leaving: Vec<Open> = self.open.extract_if(.., |open| !is_there(open)).collect();
        let lasted = leaving
            .into_iter()
            .filter_map(|open| {
                let (how, until) = open.left(lock, seen);
                self.end(open, how, until)
            })
            .collect();
        let last_ended = self.ended.back().map(|ended| ended.until);
        for (n, (who, owner)) in now.into_iter().enumerate() {
            let holder = lock.holder(&owner.fingerprint);
            if let Some(open) = self.open.iter_mut().find(|open| open.who == who) {
                let before = (open.renewals, open.expires_at);
                open.goes_on(lock, holder, seen.asked_at);
                if lock.mode == Mode::Exclusive && open.renewals > before.0 {
                    self.beats.of(open, before.1, lock, seen.asked_at);
                }
                continue;
            }
            let joined = others_had_it && (n > 0 || came == Came::Earlier);
            let absent_since = match came {
                Came::ToTheLock => absent_since.max(last_ended),
                Came::AfterAnother => seen.before,
                Came::Earlier => seen.before.filter(|_| joined),
            };
            // Before the clock was set back: how long ago that is, is not known.
            let absent_since = absent_since.filter(|since| *since <= seen.asked_at);
            // It was not there at a moment since which nothing is missed, and now something is told: it came just now.
            let absent_since = match (absent_since, seen.fed_since) {
                (Some(absent), Some(fed)) if seen.told && absent >= fed => Some(seen.asked_at),
                (absent_since, _) => absent_since,
            };
            let from = match holder {
                Some(holder) => holder.acquired_at,
                None if joined => seen.asked_at,
                None => lock.acquired_at,
            };
            let within = absent_since.map(|since| from.millis_since(since).max(0));
            let mut open = Open::begin(who, from, lock.acquired_at_is, within);
            open.label = owner.label.as_deref().map(&mut label);
            open.goes_on(lock, holder, seen.asked_at);
            if self.open.is_empty() {
                // Nearly always it is one; a list makes room for four.
                self.open.reserve_exact(1);
            }
            self.open.push(open);
        }
        self.changed_at = Some(seen.asked_at);
        lasted
    }

    /// The wall clock was set by so many milliseconds. Holds that ended stay where they are.
    pub(super) fn shift(&mut self, ms: i64) {
        for open in &mut self.open {
            open.shift(ms);
        }
    }

    /// The lock is not seen any more.
    pub(super) fn gone(&mut self, how: HowEnded, at: Timestamp) -> Vec<u64> {
        self.changed_at = Some(at);
        let lasted = std::mem::take(&mut self.open).into_iter().map(|open| {
            let until = match how {
                HowEnded::Expired => open.expires_at.map_or(at, |expires| expires.min(at)),
                HowEnded::Released | HowEnded::Forced | HowEnded::TakenOver | HowEnded::Unknown => {
                    at
                }
            };
            self.end(open, how, until)
        });
        lasted.flatten().collect()
    }

    /// The owner's lock was released by force.
    pub(super) fn forced(&mut self, who: Who, at: Timestamp) {
        if let Some(open) = self.open.iter_mut().find(|open| open.who == who) {
            open.forced_at = Some(at);
            return;
        }
        let last = self.ended.iter_mut().rfind(|ended| ended.who == who);
        if let Some(last) = last
            && last.until.millis_since(at).abs() <= FORCED_WITHIN_MS
        {
            last.how = HowEnded::Forced;
            self.limit.forget();
        }
    }

    fn end(&mut self, open: Open, how: HowEnded, until: Timestamp) -> Option<u64> {
        if !open.was_held {
            return None;
        }
        let ended = open.end(how, until);
        let lasted = ended.tells_what_is_usual();
        while self.ended.len() >= MOST_HOLDS_OF_A_LOCK {
            self.ended.pop_front();
        }
        if self.ended.is_empty() {
            // Most locks have few holds; the room doubles from here.
            self.ended.reserve_exact(1);
        }
        self.ended.push_back(ended);
        self.limit.forget();
        lasted
    }

    /// Forgets holds that ended before. Whether anything is left.
    pub(super) fn forget_before(&mut self, oldest: Timestamp) -> bool {
        self.beats.forget_before(oldest);
        let before = self.ended.len();
        self.ended.retain(|ended| ended.until >= oldest);
        if self.ended.len() < before {
            self.ended.shrink_to_fit();
            self.limit.forget();
        }
        !self.ended.is_empty() || !self.open.is_empty()
    }

    /// How many holds are kept.
    pub(super) fn len(&self) -> usize {
        self.ended.len()
    }

    /// Whether anybody has it.
    pub(super) fn is_held(&self) -> bool {
        !self.open.is_empty()
    }

    /// Those that go first: nobody has them, and they changed longest ago.
    pub(super) fn rank(&self) -> (bool, Timestamp) {
        let never = Timestamp::from_millis(0);
        (self.is_held(), self.changed_at.unwrap_or(never))
    }

    /// The holds, the latest first.
    pub(super) fn tell(&self, oldest: Timestamp) -> Vec<Hold> {
        let mut open: Vec<&Open> = self.open.iter().filter(|open| open.was_held).collect();
        open.sort_by_key(|open| std::cmp::Reverse(open.from));
        let ended = self.ended.iter().rev();
        let ended = ended.filter(|ended| ended.until >= oldest).map(Ended::tell);
        open.into_iter().map(Open::tell).chain(ended).collect()
    }

    /// The latest renewals.
    pub(super) fn beats(&self) -> Vec<Beat> {
        self.beats.tell()
    }

    fn lasted_ms(&self) -> Vec<u64> {
        let lasted = self.ended.iter().filter_map(Ended::tells_what_is_usual);
        lasted.collect()
    }

    /// What is usual for this lock.
    pub(super) fn usual(&self) -> Option<Usual> {
        Usual::of(&mut self.lasted_ms(), UsualOf::Lock)
    }

    /// Whether it has enough holds of its own to tell.
    pub(super) fn has_enough(&mut self) -> bool {
        self.ended.len() >= Usual::ENOUGH && self.expected().is_some()
    }

    /// What is expected of a hold, by its own holds.
    pub(super) fn expected(&mut self) -> Option<Expected> {
        let Self { limit, ended, .. } = self;
        limit.get(|| {
            let lasted = ended.iter().filter_map(Ended::tells_what_is_usual);
            lasted.collect()
        })
    }
}

/// Whose holds a lock shows.
fn owners(lock: &Lock) -> Vec<(Who, &Owner)> {
    let lead = lock.owner.as_ref().or(lock.owners.first());
    let owners: Vec<&Owner> = match lock.mode {
        Mode::Exclusive => lead.into_iter().collect(),
        Mode::Shared => lock.owners.iter().take(MOST_AT_ONCE).collect(),
    };
    let known = owners.into_iter();
    known
        .filter_map(|owner| Some((Who::of(&owner.fingerprint)?, owner)))
        .collect()
}
