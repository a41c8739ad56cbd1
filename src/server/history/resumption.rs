//! Holds that lasted when the recording stopped: each ends there, unless an observation after the
//! gap proves that the same hold continues.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::continuity::is_same_hold;
use super::open_hold::OpenHold;
use super::pending::HoldKey;
use crate::domain::{RecordedHold, Timestamp};
use crate::server::index::OpenHoldRecord;

/// A lock that is observed later than this after the gap, as on a node that was down, starts
/// another hold.
const MAX_AGE: Duration = Duration::from_mins(10);

/// The difference between the starts of one hold that two consoles have observed. The recorded
/// start does not move when another console continues the recording.
const START_JITTER_MS: i64 = 1_000;

/// A hold that was ended at the start of the gap.
#[derive(Clone, Debug)]
pub(super) struct InterruptedHold {
    /// The hold as it was recorded last.
    pub open: OpenHold,
    /// The row of the ended hold.
    pub row_id: i64,
}

/// The holds that may continue, and those that do.
#[derive(Default)]
pub(super) struct Resumption {
    gap_from: Option<Timestamp>,
    interrupted: HashMap<HoldKey, InterruptedHold>,
    expires_at: Option<Instant>,
    /// The stored starts of holds that continue. Their later records have the time at which they
    /// were observed again.
    continued: HashMap<HoldKey, OpenHold>,
}

impl Resumption {
    /// Sets the holds that ended at the start of a gap.
    pub fn set_interrupted(
        &mut self,
        gap_from: Timestamp,
        holds: HashMap<HoldKey, InterruptedHold>,
    ) {
        self.gap_from = Some(gap_from);
        self.interrupted = holds;
        self.expires_at = Some(Instant::now() + MAX_AGE);
    }

    /// Extends the record of a hold that continues to its stored start. Returns the row of its
    /// ended part, which is to be deleted, when the hold is observed again for the first time.
    pub fn resume(&mut self, key: &HoldKey, record: &mut OpenHoldRecord) -> Option<i64> {
        self.forget_expired();
        let gap_from = self.gap_from?;
        let InterruptedHold { open, row_id } = self.interrupted.remove(key)?;
        if !is_same_hold(&open, record, gap_from) {
            return None;
        }
        // A hold that this process has observed for longer is complete already.
        self.continued.remove(key);
        let started_at = record.hold.hold.started_at;
        if started_at.millis() + START_JITTER_MS > open.started_at {
            // What an earlier process counted is added to all later records.
            let stored = match started_at > gap_from {
                true => open,
                false => OpenHold {
                    renewals: 0,
                    attempts: None,
                    ..open
                },
            };
            stored.extend(&mut record.hold);
            self.continued.insert(key.clone(), stored);
        }
        Some(row_id)
    }

    /// Extends a later record of a hold.
    pub fn extend(&self, key: &HoldKey, hold: &mut RecordedHold) {
        if let Some(open) = self.continued.get(key) {
            open.extend(hold);
        }
    }

    /// Forgets a hold that has ended.
    pub fn forget(&mut self, key: &HoldKey) {
        self.continued.remove(key);
        self.interrupted.remove(key);
    }

    fn forget_expired(&mut self) {
        if self.expires_at.is_some_and(|at| Instant::now() >= at) {
            self.interrupted = HashMap::new();
            self.expires_at = None;
        }
    }
}
