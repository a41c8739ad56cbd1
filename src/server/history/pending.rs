//! Records that are not written yet.

use std::collections::{HashMap, VecDeque};

use super::codes::owner_code;
use super::resumption::Resumption;
use crate::domain::{LockId, RecordedHold, Timestamp};
use crate::server::index::{HistoryRecord, OpenHoldRecord};

/// Renewed holds that wait. Further ones are written when they end.
const MAX_RENEWED: usize = 100_000;
/// Renewed holds per batch. With more renewals than that, the stored renewals of a current hold
/// are some seconds old.
const MAX_RENEWED_PER_BATCH: usize = 500;
/// Other records per batch. After a gap the console reports all of its locks at once; 100,000 of
/// them in one transaction may take longer than the storage waits for a commit.
const MAX_RECORDS_PER_BATCH: usize = 2_000;

/// Identifies a hold: an owner has one at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct HoldKey {
    pub id: LockId,
    pub owner: i64,
}

impl HoldKey {
    pub fn of(hold: &RecordedHold) -> Self {
        Self {
            id: hold.id.clone(),
            owner: owner_code(&hold.hold.fingerprint),
        }
    }
}

/// Records that wait.
#[derive(Default)]
pub(super) struct Pending {
    started: HashMap<HoldKey, StartedHold>,
    renewed: HashMap<HoldKey, OpenHoldRecord>,
    ended: VecDeque<EndedHold>,
    others: VecDeque<HistoryRecord>,
    resumption: Resumption,
}

/// A hold that began, or continues after a gap.
struct StartedHold {
    record: OpenHoldRecord,
    /// The row of its part before a gap, which is deleted when the hold is written.
    resumed_row: Option<i64>,
}

/// A hold that ended.
#[derive(Clone, Debug)]
pub(super) struct EndedHold {
    pub hold: RecordedHold,
    /// Whether its start was written before.
    pub was_open: bool,
    /// The row of its part before a gap, if its continuation was not written before.
    resumed_row: Option<i64>,
}

/// Records that are written in one transaction.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    /// When the batch was made.
    pub at: Timestamp,
    /// Whether all changes before `at` are in it or in earlier ones.
    pub is_complete: bool,
    /// Current holds, new and renewed ones.
    pub open: Vec<OpenHoldRecord>,
    /// Holds that ended.
    pub ended: Vec<EndedHold>,
    /// Flags, nodes and removed groups.
    pub others: Vec<HistoryRecord>,
    /// The rows of ended holds that continue, and are in this batch.
    pub resumed_rows: Vec<i64>,
}

impl Pending {
    /// Adds a record.
    pub fn add(&mut self, record: HistoryRecord) {
        match record {
            HistoryRecord::HoldStarted(mut record) => {
                let key = HoldKey::of(&record.hold);
                let resumed_row = self.resumption.resume(&key, &mut record);
                if resumed_row.is_none() {
                    self.resumption.extend(&key, &mut record.hold);
                }
                self.renewed.remove(&key);
                // A hold that is reported again before it is written continues the same row.
                let earlier = self.started.remove(&key);
                let earlier_row = earlier.and_then(|started| started.resumed_row);
                let started = StartedHold {
                    record,
                    resumed_row: resumed_row.or(earlier_row),
                };
                self.started.insert(key, started);
            }
            HistoryRecord::HoldRenewed(mut record) => {
                let key = HoldKey::of(&record.hold);
                self.resumption.extend(&key, &mut record.hold);
                if let Some(started) = self.started.get_mut(&key) {
                    started.record = record;
                } else if self.renewed.len() < MAX_RENEWED || self.renewed.contains_key(&key) {
                    self.renewed.insert(key, record);
                }
            }
            HistoryRecord::HoldEnded(mut hold) => {
                let key = HoldKey::of(&hold);
                self.resumption.extend(&key, &mut hold);
                self.resumption.forget(&key);
                self.renewed.remove(&key);
                let started = self.started.remove(&key);
                self.ended.push_back(EndedHold {
                    hold,
                    was_open: started.is_none(),
                    resumed_row: started.and_then(|started| started.resumed_row),
                });
            }
            other => self.others.push_back(other),
        }
    }

    /// The holds that may continue after a gap.
    pub fn resumption(&mut self) -> &mut Resumption {
        &mut self.resumption
    }

    /// The number of rows that must be written.
    pub fn len(&self) -> usize {
        self.started.len() + self.ended.len() + self.others.len()
    }

    /// Takes records, at most [`MAX_RECORDS_PER_BATCH`] and [`MAX_RENEWED_PER_BATCH`] renewals.
    /// Ends come before starts: an owner that releases a lock and acquires it again has one open
    /// hold. Flags and forced releases concern holds that are written before.
    pub fn take_batch(&mut self, at: Timestamp) -> Batch {
        let renewed = take_some(&mut self.renewed, MAX_RENEWED_PER_BATCH);
        let mut free = MAX_RECORDS_PER_BATCH;
        let ended: Vec<EndedHold> = take_first(&mut self.ended, &mut free);
        let started = take_some(&mut self.started, free);
        free -= started.len();
        let others = take_first(&mut self.others, &mut free);
        let resumed_ended = ended.iter().filter_map(|ended| ended.resumed_row);
        let resumed = started.iter().filter_map(|started| started.resumed_row);
        Batch {
            at,
            is_complete: self.len() == 0,
            resumed_rows: resumed_ended.chain(resumed).collect(),
            open: renewed
                .into_iter()
                .chain(started.into_iter().map(|started| started.record))
                .collect(),
            ended,
            others,
        }
    }

    /// Discards all records.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Removes at most `max` values, in no order.
fn take_some<T>(records: &mut HashMap<HoldKey, T>, max: usize) -> Vec<T> {
    let keys: Vec<HoldKey> = records.keys().take(max).cloned().collect();
    keys.iter().filter_map(|key| records.remove(key)).collect()
}

/// Removes the first `free` records, and subtracts their number.
fn take_first<T>(records: &mut VecDeque<T>, free: &mut usize) -> Vec<T> {
    let taken: Vec<T> = records.drain(..records.len().min(*free)).collect();
    *free -= taken.len();
    taken
}
