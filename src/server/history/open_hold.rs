//! A hold that has not ended, as it is stored.

use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::codes::Code as _;
use crate::domain::{RecordedHold, StartSource, Timestamp};
use crate::server::index::OpenHoldRecord;

/// The stored fields of an open hold that a later observation is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenHold {
    pub started_at: i64,
    pub start_source: i64,
    pub uncertainty_ms: Option<i64>,
    pub expires_at: Option<i64>,
    pub renewals: i64,
    pub min_margin_ms: Option<i64>,
    pub attempts: Option<i64>,
}

impl OpenHold {
    /// The columns of [`Self::from_row`].
    pub const COLUMNS: &str =
        "started_at, start_source, uncertainty_ms, expires_at, renewals, min_margin_ms, attempts";

    /// Reads a row.
    pub fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            started_at: row.try_get("started_at")?,
            start_source: row.try_get("start_source")?,
            uncertainty_ms: row.try_get("uncertainty_ms")?,
            expires_at: row.try_get("expires_at")?,
            renewals: row.try_get("renewals")?,
            min_margin_ms: row.try_get("min_margin_ms")?,
            attempts: row.try_get("attempts")?,
        })
    }

    /// Creates the fields of an observed hold.
    pub fn from_record(record: &OpenHoldRecord) -> Self {
        let hold = &record.hold.hold;
        Self {
            started_at: hold.started_at.millis(),
            start_source: hold.started_at_source.code(),
            uncertainty_ms: hold.started_at_uncertainty_ms.map(to_i64),
            expires_at: record.expires_at.map(Timestamp::millis),
            renewals: hold.renewal_count.into(),
            min_margin_ms: record.hold.min_margin_ms.map(to_i64),
            attempts: record.hold.attempts.map(to_i64),
        }
    }

    /// Extends a later observation of the same hold to the start that is stored.
    pub fn extend(&self, later: &mut RecordedHold) {
        let hold = &mut later.hold;
        hold.started_at = Timestamp::from_millis(self.started_at);
        hold.started_at_source =
            StartSource::from_code(self.start_source).unwrap_or(StartSource::FirstSeen);
        hold.started_at_uncertainty_ms = self.uncertainty_ms.and_then(to_u64);
        let renewals = u32::try_from(self.renewals).unwrap_or(u32::MAX);
        hold.renewal_count = hold.renewal_count.saturating_add(renewals);
        let margin = self.min_margin_ms.and_then(to_u64);
        later.min_margin_ms = later.min_margin_ms.into_iter().chain(margin).min();
        let attempts = self.attempts.and_then(to_u64);
        let both = later.attempts.into_iter().chain(attempts);
        later.attempts = both.reduce(u64::saturating_add);
    }
}

pub(super) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn to_u64(number: i64) -> Option<u64> {
    u64::try_from(number).ok()
}
