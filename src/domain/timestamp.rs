//! A moment, in milliseconds since the Unix epoch, written as RFC 3339 UTC on the wire.

use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A moment in milliseconds since the Unix epoch. Nobody here asks what time it is: moments are handed in.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, format = DateTime)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `ms` milliseconds after the Unix epoch.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Time from `earlier` to this moment; nothing when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Milliseconds from `earlier` to this moment, negative when `earlier` is later.
    pub const fn millis_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment `span` later.
    pub fn plus(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// The moment `ms` milliseconds later (earlier when negative).
    pub const fn plus_millis(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        /// The last millisecond of the year 9999. A lease beyond it is one that nobody will live to see end; RFC 3339 has no
        /// larger year, and the largest moment says "far away" well enough.
        const LAST_MS: u64 = 253_402_300_799_999;
        let ms = u64::try_from(self.0).unwrap_or(0).min(LAST_MS);
        let moment = UNIX_EPOCH + Duration::from_millis(ms);
        humantime::format_rfc3339_millis(moment).fmt(f)
    }
}

impl From<Timestamp> for String {
    fn from(moment: Timestamp) -> Self {
        moment.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = humantime::TimestampError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let moment = humantime::parse_rfc3339(&text)?;
        let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_survives_the_wire() {
        let moment = Timestamp::from_millis(1_795_200_485_556);
        let json = serde_json::to_string(&moment).unwrap();
        assert_eq!(json, "\"2026-11-20T18:48:05.556Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), moment);
    }

    #[test]
    fn a_moment_beyond_the_calendar_is_still_written() {
        assert!(
            Timestamp::from_millis(i64::MAX)
                .to_string()
                .starts_with("9999-12-31")
        );
    }
}
