//! Records that are not written yet.

use std::collections::HashMap;

use super::codes::owner_code;
use super::resumption::Resumption;
use crate::domain::{LockId, RecordedHold, Timestamp};
use crate::server::index::{HistoryRecord, OpenHoldRecord};

/// Renewed holds that wait. Further ones are written when they end.
const MAX_RENEWED: usize = 100_000;
/// Renewed holds per batch. With more renewals than that, the stored renewals of a current hold
/// are some seconds old.
const MAX_RENEWED_PER_BATCH: usize = 500;

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

/// Records in the order in which they are written.
#[derive(Default)]
pub(super) struct Pending {
    started: HashMap<HoldKey, OpenHoldRecord>,
    renewed: HashMap<HoldKey, OpenHoldRecord>,
    ended: Vec<EndedHold>,
    others: Vec<HistoryRecord>,
    resumed_rows: Vec<i64>,
    resumption: Resumption,
}

/// A hold that ended.
#[derive(Clone, Debug)]
pub(super) struct EndedHold {
    pub hold: RecordedHold,
    /// Whether its start was written before.
    pub was_open: bool,
}

/// Records that are written in one transaction.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    /// When the batch was made. All earlier changes are in it or in earlier ones.
    pub at: Timestamp,
    /// Current holds, new and renewed ones.
    pub open: Vec<OpenHoldRecord>,
    /// Holds that ended.
    pub ended: Vec<EndedHold>,
    /// Flags, nodes and removed groups.
    pub others: Vec<HistoryRecord>,
    /// Ended holds that continue.
    pub resumed_rows: Vec<i64>,
}

impl Pending {
    /// Adds a record.
    pub fn add(&mut self, record: HistoryRecord) {
        match record {
            HistoryRecord::HoldStarted(mut record) => {
                let key = HoldKey::of(&record.hold);
                match self.resumption.resume(&key, &mut record) {
                    Some(row_id) => self.resumed_rows.push(row_id),
                    None => self.resumption.extend(&key, &mut record.hold),
                }
                self.renewed.remove(&key);
                self.started.insert(key, record);
            }
            HistoryRecord::HoldRenewed(mut record) => {
                let key = HoldKey::of(&record.hold);
                self.resumption.extend(&key, &mut record.hold);
                if let Some(started) = self.started.get_mut(&key) {
                    *started = record;
                } else if self.renewed.len() < MAX_RENEWED || self.renewed.contains_key(&key) {
                    self.renewed.insert(key, record);
                }
            }
            HistoryRecord::HoldEnded(mut hold) => {
                let key = HoldKey::of(&hold);
                self.resumption.extend(&key, &mut hold);
                self.resumption.forget(&key);
                self.renewed.remove(&key);
                let was_open = self.started.remove(&key).is_none();
                self.ended.push(EndedHold { hold, was_open });
            }
            other => self.others.push(other),
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

    /// Takes all records, but not all renewals.
    pub fn take_batch(&mut self, at: Timestamp) -> Batch {
        let some = self.renewed.keys().take(MAX_RENEWED_PER_BATCH).cloned();
        let keys: Vec<HoldKey> = some.collect();
        let renewed = keys.iter().filter_map(|key| self.renewed.remove(key));
        let mut open: Vec<OpenHoldRecord> = renewed.collect();
        open.extend(std::mem::take(&mut self.started).into_values());
        Batch {
            at,
            open,
            ended: std::mem::take(&mut self.ended),
            others: std::mem::take(&mut self.others),
            resumed_rows: std::mem::take(&mut self.resumed_rows),
        }
    }

    /// Discards all records.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
