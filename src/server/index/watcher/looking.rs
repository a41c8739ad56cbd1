//! Looks: all nodes are asked about some keys, and what they say is reported unless it is the middle of a change.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::super::merge::Entry;
use super::super::report::Report;
use super::{KEYS_AT_ONCE, Watcher};
use crate::domain::quorum::{Judgement, judge};
use crate::domain::{Answer, LockKey, Mode, NodeState, NodeView, Timestamp, Verdict};
use crate::server::clock::Moment;
use crate::server::nodes::trouble::Missed;
use crate::server::nodes::{Look, NodeLook};

/// A lock caught in the middle of a change of owners is looked at once more after this time before it is called split or partial.
const SETTLE: Duration = Duration::from_millis(60);
/// So many names are asked about together that went unanswered when they were asked about with more.
const FEWER_AT_ONCE: usize = 500;
/// So many of them wait for that, and about as many more as one look asks for.
const MOST_UNANSWERED: usize = 200_000;
/// A node that stopped answering this many milliseconds ago is gone: when it is back, its scan finds what it has.
const EXPECTED_BACK_MS: i64 = 30_000;
/// More names that are no locks are not kept in mind.
const MOST_REJECTED: usize = 200_000;

/// What nodes told of a key.
#[derive(Clone, Copy, Default)]
pub(super) struct News {
    /// How many writes.
    pub(super) writes: u32,
    /// Where it changes hands too fast to look at each time: how often.
    pub(super) hand_overs_per_minute: Option<f64>,
}

/// A lock that was caught in the middle of a change.
pub(super) struct Unsettled {
    until: Instant,
    /// What was told of it and is not reported yet.
    writes: u32,
}

impl Watcher {
    /// Asks all nodes about some keys and reports what they say. False when nobody listens any more.
    pub(super) async fn look(&mut self, keys: &[LockKey]) -> bool {
        self.look_with(keys, &HashMap::new()).await
    }

    /// The same for keys of which nodes told.
    pub(super) async fn look_at_news(&mut self, news: &HashMap<LockKey, News>) -> bool {
        let keys: Vec<LockKey> = news.keys().cloned().collect();
        for keys in keys.chunks(KEYS_AT_ONCE) {
            if !self.look_with(keys, news).await {
                return false;
            }
        }
        true
    }

    async fn look_with(&mut self, keys: &[LockKey], news: &HashMap<LockKey, News>) -> bool {
        if keys.is_empty() {
            return true;
        }
        let (asked, entries) = self.ask(keys, news).await;
        let now = Instant::now();
        let mut settled = Vec::with_capacity(entries.len());
        let mut again = Vec::new();
        for mut entry in entries {
            let before = self.unsettled.remove(&entry.key);
            let carried = before.as_ref().map_or(0, |before| before.writes);
            entry.watched.writes = entry.watched.writes.saturating_add(carried);
            let until = before.map_or(now + SETTLE, |before| before.until);
            if self.is_unsettled(&entry) && until > now {
                let unsettled = Unsettled {
                    until,
                    writes: entry.watched.writes,
                };
                again.push(entry.key.clone());
                self.unsettled.insert(entry.key, unsettled);
            } else {
                settled.push(entry);
            }
        }
        if !self.report(asked, settled).await {
            return false;
        }
        if self.can_come_back || again.is_empty() {
            return true;
        }
        sleep(SETTLE).await;
        self.unsettled.clear();
        let (asked, entries) = self.ask(&again, news).await;
        self.report(asked, entries).await
    }

    async fn ask(
        &mut self,
        keys: &[LockKey],
        news: &HashMap<LockKey, News>,
    ) -> (Moment, Vec<Entry>) {
        let look = self.group.look(keys).await;
        self.note_missed(&look);
        self.note_unanswered(&look, keys);
        self.note_rejected(&look, keys);
        let nodes_seen = look.nodes.iter().any(|node| node.seen.is_ok());
        let asked = look.asked;
        let mut entries = self.index.merged(&self.group, look, keys);
        // Asked after the look: a flush that came in between is a gap.
        let fed = self.group.fed();
        for entry in &mut entries {
            let fed_since = fed.since(&entry.key);
            entry.watched.fed_since = fed_since.map(|since| asked.wall_at(since));
            if let Some(news) = news.get(&entry.key) {
                entry.watched.writes = news.writes;
                entry.watched.hand_overs_per_minute = news.hand_overs_per_minute;
            }
            if entry.told.is_some() {
                self.rejected.remove(&entry.key);
            } else if nodes_seen && !self.unanswered.contains(&entry.key) {
                self.passed_over.insert(entry.key.clone());
            }
        }
        (asked, entries)
    }

    pub(super) fn has_unsettled(&self) -> bool {
        !self.unsettled.is_empty()
    }

    /// When the first of the locks that were caught in the middle of a change is looked at again.
    pub(super) fn wakes_at(&self) -> Instant {
        let untils = self.unsettled.values().map(|unsettled| unsettled.until);
        untils.min().unwrap_or_else(Instant::now)
    }

    /// Looks again at locks that were caught in the middle of a change.
    pub(super) async fn look_at_unsettled(&mut self) -> bool {
        let now = Instant::now();
        let is_over = |(_, unsettled): &(&LockKey, &Unsettled)| unsettled.until <= now;
        let over = self.unsettled.iter().filter(is_over);
        let keys: Vec<LockKey> = over.map(|(key, _)| key.clone()).collect();
        self.look(&keys).await
    }

    fn note_missed(&mut self, look: &Look) {
        let now = self.index.now();
        let missed = look.nodes.iter().filter(|node| node.seen.is_err());
        self.missed
            .extend(missed.map(|node| (node.node.clone(), now)));
    }

    /// Keeps the new names of which no node said anything, or that may lie on a node that left them unanswered and that no
    /// other node has. Neither a node nor the scan may tell of them again for a minute, and of locks that are known
    /// everything is looked at once a node is back.
    fn note_unanswered(&mut self, look: &Look, keys: &[LockKey]) {
        let may_be_elsewhere = self.may_answer_yet(look);
        let mut is_answered = vec![false; keys.len()];
        for node in &look.nodes {
            let Ok(seen) = &node.seen else { continue };
            for (place, seen) in node.places(keys.len()).into_iter().zip(seen) {
                if let Some(is_answered) = is_answered.get_mut(place) {
                    *is_answered |= seen.is_some() || !may_be_elsewhere;
                }
            }
        }
        let mut silent = BTreeSet::new();
        for (key, is_answered) in keys.iter().zip(is_answered) {
            if is_answered {
                self.unanswered.remove(key);
            } else {
                silent.insert(key.clone());
            }
        }
        if silent.is_empty() || self.unanswered.len() >= MOST_UNANSWERED {
            return;
        }
        let group = &self.group.config.name;
        let index = self.index.snapshot();
        silent.retain(|key| !index.has(group, key));
        self.unanswered.append(&mut silent);
    }

    /// Whether a node that is asked about every key left this look unanswered and is expected to answer another one.
    fn may_answer_yet(&self, look: &Look) -> bool {
        let is_silent = |node: &NodeLook| {
            let missed = node.seen.as_ref().err();
            node.about.is_none()
                && missed.is_some_and(|missed| !matches!(missed, Missed::Refused { .. }))
        };
        let silent: Vec<&NodeLook> = look.nodes.iter().filter(|node| is_silent(node)).collect();
        if silent.is_empty() {
            return false;
        }
        let now = self.index.now();
        let is_expected = |node: &NodeView| {
            let is_fresh = |since: Timestamp| now.millis_since(since) < EXPECTED_BACK_MS;
            node.state == NodeState::Up || node.since.is_none_or(is_fresh)
        };
        let mut nodes = self.group.nodes().into_iter();
        nodes.any(|node| silent.iter().any(|look| look.node == node.name) && is_expected(&node))
    }

    /// Asks again about names that went unanswered, a few at a time: as many as before may be what kept it from
    /// answering.
    pub(super) async fn look_at_unanswered_names(&mut self) -> bool {
        let is_up = |node: &NodeView| node.state == NodeState::Up;
        if self.unanswered.is_empty() || !self.group.nodes().iter().any(is_up) {
            return true;
        }
        let first = self.unanswered.iter().take(KEYS_AT_ONCE);
        let keys: Vec<LockKey> = first.cloned().collect();
        for keys in keys.chunks(FEWER_AT_ONCE) {
            if !self.look(keys).await {
                return false;
            }
        }
        true
    }

    /// Takes every key that is there for no lock; those that are taken for one after all are put right by the caller. A
    /// key that is not there says nothing about its name.
    fn note_rejected(&mut self, look: &Look, keys: &[LockKey]) {
        if self.rejected.len() >= MOST_REJECTED {
            return;
        }
        for node in &look.nodes {
            let Ok(seen) = &node.seen else { continue };
            let about = node.places(keys.len()).into_iter();
            let there = about.zip(seen).filter(|(_, seen)| seen.is_some());
            let names = there.filter_map(|(place, _)| keys.get(place).cloned());
            self.rejected.extend(names);
        }
    }

    async fn report(&self, asked: Moment, entries: Vec<Entry>) -> bool {
        let report = Report::Looked {
            group: self.group.config.name.clone(),
            asked,
            entries,
            reply: None,
        };
        self.index.reports.send(report).await.is_ok()
    }

    /// Newly split or partial: the nodes may have been asked between two steps of one acquire or release.
    fn is_unsettled(&self, entry: &Entry) -> bool {
        let answers: Vec<&Answer> = entry.nodes.iter().map(|node| &node.answer).collect();
        let mode = entry.told.map_or(Mode::Exclusive, |told| told.mode);
        match judge(&answers, mode) {
            Judgement::Seen(seen) => match seen.verdict {
                Verdict::Split | Verdict::Partial => {
                    let id = crate::domain::LockId {
                        group: self.group.config.name.clone(),
                        key: entry.key.clone(),
                    };
                    let index = self.index.snapshot();
                    index.lock(&id).map(|lock| lock.verdict) != Some(seen.verdict)
                }
                Verdict::Held => seen.is_split,
                Verdict::Unknown => false,
            },
            Judgement::NotObserved | Judgement::CannotTell => false,
        }
    }
}
