//! Timestamps in milliseconds since the Unix epoch, serialised as RFC 3339 in UTC.

use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A time in milliseconds since the Unix epoch. The domain layer never reads a clock; callers pass
/// the current time.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, format = DateTime)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The time `ms` milliseconds after the Unix epoch.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The milliseconds since `earlier`; negative if `earlier` is later.
    pub const fn millis_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time `span` later.
    pub fn plus(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// The time `ms` milliseconds later, or earlier if `ms` is negative.
    pub const fn plus_millis(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        /// The last millisecond of the year 9999, the largest year in RFC 3339. Later times, such
        /// as very long leases, are clamped.
        const LAST_MS: u64 = 253_402_300_799_999;
        let ms = u64::try_from(self.0).unwrap_or(0).min(LAST_MS);
        let time = UNIX_EPOCH + Duration::from_millis(ms);
        humantime::format_rfc3339_millis(time).fmt(f)
    }
}

impl From<Timestamp> for String {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = humantime::TimestampError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let time = humantime::parse_rfc3339(&text)?;
        // Times before the epoch are clamped to it.
        let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self(
            i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_round_trips_through_json() {
        let moment = Timestamp::from_millis(1_795_200_485_556);
        let json = serde_json::to_string(&moment).unwrap();
        assert_eq!(json, "\"2026-11-20T18:48:05.556Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), moment);
    }

    #[test]
    fn a_timestamp_after_the_year_9999_is_clamped() {
        assert!(
            Timestamp::from_millis(i64::MAX)
                .to_string()
                .starts_with("9999-12-31")
        );
    }
}
