//! Statistics of the renewals of a lock.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Timestamp;

/// The source of renewal statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RenewalSource {
    /// Change notifications of the server. Every renewal is counted.
    Feed,
    /// Polling. Several renewals between two polls count once.
    Poll,
    /// Extends through this console.
    Api,
}

/// Statistics of the renewals since the owner was first observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RenewalStats {
    /// The number of renewals.
    pub count: u32,
    /// Renewals per minute, between the first and the last one; null before two were observed.
    pub per_minute: Option<f64>,
    /// Average interval between renewals in milliseconds; null before two renewals were observed.
    pub interval_ms: Option<u64>,
    /// Standard deviation of the interval in milliseconds; null before three renewals were
    /// observed.
    #[serde(default)]
    pub jitter_ms: Option<u64>,
    /// The most recent intervals in milliseconds, the latest last; at most eight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent_intervals_ms: Vec<u32>,
    /// The remaining lease in milliseconds immediately before the last renewal. Null if no renewal
    /// was observed or the lock had no expiry.
    #[serde(default)]
    pub margin_ms: Option<u64>,
    /// The smallest `margin_ms` so far.
    #[serde(default)]
    pub min_margin_ms: Option<u64>,
    /// Renewals that were expected from the owner's interval and were not observed.
    #[serde(default)]
    pub missed_renewals: u32,
    /// When the last renewal was observed; null if none was.
    pub last_at: Option<Timestamp>,
    /// Changes of owner per minute, for locks that change owner too fast to read each one. It is
    /// half the number of change notifications, because an acquire and a release are one each.
    #[serde(default)]
    pub ownership_changes_per_minute: Option<f64>,
    /// How the renewals were observed.
    pub source: RenewalSource,
}

/// The maximum number of recent intervals that are kept.
pub const MAX_RECENT_INTERVALS: usize = 8;

/// The time after a renewal at which the next one is late, for this interval. The flag `at-risk` and
/// the advice before a release use the same tolerance: half an interval, and a second for polling.
pub const fn late_after_ms(interval_ms: u64) -> u64 {
    (interval_ms.saturating_mul(3) / 2).saturating_add(1_001)
}

impl RenewalStats {
    /// Records `count` renewals with the same interval.
    pub fn record_intervals(&mut self, count: u32, interval_ms: u32) {
        let count = usize::try_from(count)
            .unwrap_or(MAX_RECENT_INTERVALS)
            .min(MAX_RECENT_INTERVALS);
        let surplus = (self.recent_intervals_ms.len() + count).saturating_sub(MAX_RECENT_INTERVALS);
        self.recent_intervals_ms.drain(..surplus);
        self.recent_intervals_ms
            .extend(std::iter::repeat_n(interval_ms, count));
    }

    /// Statistics without renewals.
    pub fn empty(source: RenewalSource) -> Self {
        Self {
            count: 0,
            per_minute: None,
            interval_ms: None,
            jitter_ms: None,
            recent_intervals_ms: Vec::new(),
            margin_ms: None,
            min_margin_ms: None,
            missed_renewals: 0,
            last_at: None,
            ownership_changes_per_minute: None,
            source,
        }
    }
}
