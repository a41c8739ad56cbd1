//! The prefixes under which locks of a group were found, with what an admin decided about them. Kept
//! in memory and bounded; `server::prefixes` stores them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::domain::prefix::{self, PrefixSet};
use crate::domain::{
    Format, LockKey, LockPrefix, PrefixSettings, PrefixSource, PrefixState, Timestamp,
};

/// The maximum number of prefixes per group. Names with other prefixes are found by the scan.
pub const MAX_PREFIXES: usize = 1_000;

/// If all places are taken, a new prefix replaces one under which no lock was observed for this time.
const EVICT_AFTER: Duration = Duration::from_hours(24);
/// How often a place is searched for. Without this, each of many new prefixes would cause a search.
const EVICTION_INTERVAL: Duration = Duration::from_secs(1);

/// A prefix is followed while at most this many of its names were not locks, plus this many for each
/// lock. Otherwise a cache with a few locks would have all of its writes read.
const OTHERS_ALLOWED: u32 = 20;
const OTHERS_ALLOWED_PER_LOCK: u32 = 4;

/// Above this number, both counts of a prefix are halved, so that recent names count more.
const MAX_COUNT: u32 = 10_000;

/// The prefixes of a group. Shared by its scan, its feeds, the index and the operations; a group that
/// a reloaded configuration changed continues with the same ones.
pub struct LockPrefixes {
    table: RwLock<PrefixTable>,
    /// What the hot paths need of the states.
    rules: ArcSwap<PrefixRules>,
    /// Incremented when a state changes.
    version: watch::Sender<u64>,
    next_eviction_at: Mutex<Timestamp>,
}

#[derive(Default)]
struct PrefixTable {
    entries: HashMap<Vec<u8>, PrefixEntry>,
    /// Prefixes that were evicted and may still be stored.
    evicted: Vec<LockKey>,
    is_loaded: bool,
}

struct PrefixEntry {
    record: LockPrefix,
    /// Whether the stored row is older.
    is_unsaved: bool,
}

/// The prefixes with a state that an admin chose.
#[derive(Debug, Default)]
struct PrefixRules {
    pinned: PrefixSet,
    excluded: Arc<PrefixSet>,
}

/// What must be written to the database.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrefixChanges {
    /// New and changed prefixes.
    pub changed: Vec<LockPrefix>,
    /// Prefixes to delete.
    pub evicted: Vec<LockKey>,
}

/// Every place is taken by a prefix that an admin pinned, excluded or named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixesFull;

impl Default for LockPrefixes {
    fn default() -> Self {
        Self {
            table: RwLock::default(),
            rules: ArcSwap::default(),
            version: watch::Sender::new(0),
            next_eviction_at: Mutex::new(Timestamp::from_millis(0)),
        }
    }
}

impl LockPrefixes {
    /// Whether a new key with this name can be expected to be a lock: others with its prefix are, or
    /// an admin pinned a prefix of it.
    pub fn is_followed(&self, name: &[u8]) -> bool {
        let rules = self.rules.load();
        if rules.excluded.matches(name) {
            return false;
        }
        let prefix = prefix_of(name);
        let is_learned = || {
            let table = self.table.read();
            table.entries.get(prefix).is_some_and(is_followed)
        };
        rules.pinned.matches(name) || !prefix.is_empty() && is_learned()
    }

    /// Whether an admin excluded a prefix of the name.
    pub fn is_excluded(&self, name: &[u8]) -> bool {
        self.rules.load().excluded.matches(name)
    }

    /// The excluded prefixes.
    pub fn excluded(&self) -> Arc<PrefixSet> {
        Arc::clone(&self.rules.load().excluded)
    }

    /// The pinned prefixes.
    pub fn pinned(&self) -> Vec<Vec<u8>> {
        self.rules
            .load()
            .pinned
            .iter()
            .map(<[u8]>::to_vec)
            .collect()
    }

    /// Receives a new value when a prefix is pinned, excluded or reset.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Records that a key is a lock that was not known.
    pub fn record_lock(&self, key: &LockKey, format: Format, source: PrefixSource, now: Timestamp) {
        let prefix = prefix_of(key.as_bytes());
        if prefix.is_empty() || prefix.len() > LockPrefix::MAX_BYTES {
            return;
        }
        let mut table = self.table.write();
        if !table.entries.contains_key(prefix)
            && table.entries.len() >= MAX_PREFIXES
            && !self.evict_unused(&mut table, now)
        {
            return;
        }
        let entry = table.entries.entry(prefix.to_vec());
        let entry = entry.or_insert_with(|| PrefixEntry::new(LockKey::new(prefix), source));
        let record = &mut entry.record;
        if record.first_seen_at.is_none() {
            record.first_seen_at = Some(now);
            record.source = source;
        }
        record.last_seen_at = Some(now);
        record.locks += 1;
        if !record.formats.contains(&format) {
            record.formats.push(format);
        }
        halve_above_limit(record);
        entry.is_unsaved = true;
    }

    /// Records that a key is not a lock. Keys with an excluded prefix do not count: their values are
    /// not considered.
    pub fn record_other(&self, key: &LockKey) {
        if self.is_excluded(key.as_bytes()) {
            return;
        }
        let mut table = self.table.write();
        if let Some(entry) = table.entries.get_mut(prefix_of(key.as_bytes())) {
            entry.record.others += 1;
            halve_above_limit(&mut entry.record);
            entry.is_unsaved = true;
        }
    }

    /// Records that these locks still exist.
    pub fn record_existing<'a>(&self, keys: impl Iterator<Item = &'a LockKey>, now: Timestamp) {
        for key in keys {
            // Locked for each key, so that a reader never waits for all of them.
            let mut table = self.table.write();
            if let Some(entry) = table.entries.get_mut(prefix_of(key.as_bytes()))
                && entry.record.last_seen_at.is_none_or(|at| at < now)
            {
                entry.record.last_seen_at = Some(now);
                entry.is_unsaved = true;
            }
        }
    }

    /// All prefixes with something to show, in the order of their bytes.
    pub fn list(&self) -> Vec<LockPrefix> {
        let table = self.table.read();
        let shown = table
            .entries
            .values()
            .filter(|entry| entry.record.is_relevant());
        let with_rules = |entry: &PrefixEntry| LockPrefix {
            is_followed: self.follows(entry),
            ..entry.record.clone()
        };
        let mut list: Vec<LockPrefix> = shown.map(with_rules).collect();
        list.sort_unstable_by(|one, other| one.prefix.cmp(&other.prefix));
        list
    }

    /// One prefix; as if nothing was found under it, if it is not known.
    pub fn get(&self, prefix: &LockKey) -> LockPrefix {
        let table = self.table.read();
        match table.entries.get(prefix.as_bytes()) {
            Some(entry) => LockPrefix {
                is_followed: self.follows(entry),
                ..entry.record.clone()
            },
            None => LockPrefix::new(prefix.clone(), PrefixSource::Admin),
        }
    }

    /// Applies the decision of an admin. `change` has the prefix, its state and name, and who changed
    /// them.
    pub fn apply_settings(&self, change: &LockPrefix) -> Result<(), PrefixesFull> {
        let mut table = self.table.write();
        self.make_room(&mut table, &change.prefix)?;
        let entry = table.entries.entry(change.prefix.as_bytes().to_vec());
        let entry =
            entry.or_insert_with(|| PrefixEntry::new(change.prefix.clone(), PrefixSource::Admin));
        entry.adopt_settings(change);
        self.update_rules(&table);
        Ok(())
    }

    /// Checks that [`Self::apply_settings`] has room for the prefix.
    pub fn check_room(&self, prefix: &LockKey) -> Result<(), PrefixesFull> {
        let table = self.table.read();
        let is_evictable = |entry: &PrefixEntry| entry.is_evictable();
        let has_room = table.entries.len() < MAX_PREFIXES
            || table.entries.contains_key(prefix.as_bytes())
            || table.entries.values().any(is_evictable);
        has_room.then_some(()).ok_or(PrefixesFull)
    }

    /// Whether the stored prefixes were added.
    pub fn is_loaded(&self) -> bool {
        self.table.read().is_loaded
    }

    /// Adds the stored prefixes to those found since the start.
    pub fn add_stored(&self, stored: Vec<LockPrefix>) {
        let mut table = self.table.write();
        for record in stored {
            let room = table.entries.len() < MAX_PREFIXES;
            match table.entries.get_mut(record.prefix.as_bytes()) {
                Some(entry) => entry.merge_stored(record),
                None if room => {
                    let prefix = record.prefix.as_bytes().to_vec();
                    let entry = PrefixEntry {
                        record,
                        is_unsaved: false,
                    };
                    table.entries.insert(prefix, entry);
                }
                None => {}
            }
        }
        table.is_loaded = true;
        self.update_rules(&table);
    }

    /// Adopts decisions that another console stored.
    pub fn adopt_settings(&self, stored: Vec<LockPrefix>) {
        for change in stored {
            let known = self.get(&change.prefix);
            if change.changed_at > known.changed_at {
                // If there is no room, this console continues without the decision.
                let _full = self.apply_settings(&change);
            }
        }
    }

    /// What changed since the last call.
    pub fn take_changes(&self) -> PrefixChanges {
        let mut table = self.table.write();
        let mut evicted = std::mem::take(&mut table.evicted);
        // A prefix that was found again is written, not deleted.
        evicted.retain(|prefix| !table.entries.contains_key(prefix.as_bytes()));
        let unsaved = table.entries.values_mut().filter(|entry| entry.is_unsaved);
        let changed = unsaved.map(|entry| {
            entry.is_unsaved = false;
            entry.record.clone()
        });
        PrefixChanges {
            changed: changed.collect(),
            evicted,
        }
    }

    /// Marks changes that could not be written as changes again.
    pub fn return_changes(&self, changes: PrefixChanges) {
        let mut table = self.table.write();
        for record in changes.changed {
            if let Some(entry) = table.entries.get_mut(record.prefix.as_bytes()) {
                entry.is_unsaved = true;
            }
        }
        table.evicted.extend(changes.evicted);
        // Bounds the memory while the database is unavailable. A row that is not deleted expires.
        table.evicted.truncate(MAX_PREFIXES);
    }

    fn follows(&self, entry: &PrefixEntry) -> bool {
        let (rules, prefix) = (self.rules.load(), entry.record.prefix.as_bytes());
        !rules.excluded.matches(prefix) && (rules.pinned.matches(prefix) || is_followed(entry))
    }

    /// Removes a prefix under which no lock was observed for long. Returns whether there was one.
    fn evict_unused(&self, table: &mut PrefixTable, now: Timestamp) -> bool {
        let mut next_eviction_at = self.next_eviction_at.lock();
        if now < *next_eviction_at {
            return false;
        }
        let oldest = table.least_recent();
        let is_unused = oldest.filter(|record| {
            record
                .last_seen_at
                .is_none_or(|at| now.since(at) > EVICT_AFTER)
        });
        let Some(prefix) = is_unused.map(|record| record.prefix.clone()) else {
            *next_eviction_at = now.plus(EVICTION_INTERVAL);
            return false;
        };
        table.evict(prefix);
        true
    }

    /// Makes room for a prefix that an admin chose.
    fn make_room(&self, table: &mut PrefixTable, prefix: &LockKey) -> Result<(), PrefixesFull> {
        if table.entries.len() < MAX_PREFIXES || table.entries.contains_key(prefix.as_bytes()) {
            return Ok(());
        }
        let oldest = table.least_recent().map(|record| record.prefix.clone());
        table.evict(oldest.ok_or(PrefixesFull)?);
        Ok(())
    }

    fn update_rules(&self, table: &PrefixTable) {
        let with_state = |state: PrefixState| {
            let entries = table.entries.iter();
            let matching = entries.filter(move |(_, entry)| entry.record.state == state);
            PrefixSet::new(matching.map(|(prefix, _)| prefix.clone()))
        };
        let rules = PrefixRules {
            pinned: with_state(PrefixState::Pinned),
            excluded: Arc::new(with_state(PrefixState::Excluded)),
        };
        let before = self.rules.load();
        if before.pinned != rules.pinned || before.excluded != rules.excluded {
            self.rules.store(Arc::new(rules));
            self.version.send_modify(|version| *version += 1);
        }
    }
}

impl PrefixTable {
    /// The prefix that can be evicted and under which no lock was observed for the longest time.
    fn least_recent(&self) -> Option<&LockPrefix> {
        let entries = self.entries.values().filter(|entry| entry.is_evictable());
        let records = entries.map(|entry| &entry.record);
        records.min_by_key(|record| record.last_seen_at)
    }

    fn evict(&mut self, prefix: LockKey) {
        self.entries.remove(prefix.as_bytes());
        self.evicted.push(prefix);
    }
}

impl PrefixEntry {
    fn new(prefix: LockKey, source: PrefixSource) -> Self {
        Self {
            record: LockPrefix::new(prefix, source),
            is_unsaved: true,
        }
    }

    /// Whether the prefix was only learned.
    fn is_evictable(&self) -> bool {
        self.record.state == PrefixState::Learned && self.record.name.is_none()
    }

    fn adopt_settings(&mut self, change: &LockPrefix) {
        let record = &mut self.record;
        record.state = change.state;
        record.name.clone_from(&change.name);
        record.changed_by.clone_from(&change.changed_by);
        record.changed_at = change.changed_at;
    }

    /// Adds what an earlier run found.
    fn merge_stored(&mut self, stored: LockPrefix) {
        if stored.changed_at > self.record.changed_at {
            self.adopt_settings(&stored);
        }
        let record = &mut self.record;
        if stored.first_seen_at.is_some() {
            record.source = stored.source;
            record.first_seen_at = stored.first_seen_at;
        }
        record.last_seen_at = record.last_seen_at.max(stored.last_seen_at);
        record.locks = record.locks.saturating_add(stored.locks);
        record.others = record.others.saturating_add(stored.others);
        for format in stored.formats {
            if !record.formats.contains(&format) {
                record.formats.push(format);
            }
        }
        halve_above_limit(record);
        self.is_unsaved = true;
    }
}

/// Whether enough of the names with a prefix were locks.
fn is_followed(entry: &PrefixEntry) -> bool {
    let LockPrefix { locks, others, .. } = entry.record;
    let allowed = locks.saturating_mul(OTHERS_ALLOWED_PER_LOCK);
    locks > 0 && others <= allowed.saturating_add(OTHERS_ALLOWED)
}

fn halve_above_limit(record: &mut LockPrefix) {
    if record.locks.max(record.others) > MAX_COUNT {
        record.locks = record.locks.div_ceil(2);
        record.others /= 2;
    }
}

/// The part of a name before the id; empty for names in which it cannot be told.
fn prefix_of(name: &[u8]) -> &[u8] {
    std::str::from_utf8(name).map_or(&[], |name| prefix::key_prefix(name).as_bytes())
}

/// The state, the name and the author of a decision, to apply and to store.
pub fn settings_change(
    prefix: &LockKey,
    settings: PrefixSettings,
    changed_by: &str,
    changed_at: Timestamp,
) -> LockPrefix {
    LockPrefix {
        state: settings.state,
        name: settings.name,
        changed_by: Some(changed_by.to_owned()),
        changed_at: Some(changed_at),
        ..LockPrefix::new(prefix.clone(), PrefixSource::Admin)
    }
}

#[cfg(test)]
mod tests;
