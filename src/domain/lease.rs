//! The time left before a lock expires by itself.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Timestamp;

/// The time left before a lock expires by itself.
///
/// On the wire it is two fields, both null for a lock that never expires: `lease_ms` (left when it was observed) and
/// `expires_at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "LeaseShape", into = "LeaseShape")]
pub enum Lease {
    /// The lock goes away by itself.
    Expires {
        /// When, on the observer's clock.
        at: Timestamp,
        /// Milliseconds left when it was observed; 0 for a legacy lock that is past its own time.
        left_ms: u64,
    },
    /// The key has no TTL: only a release ends it.
    Never,
}

/// How a lease is written in JSON.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct LeaseShape {
    /// Milliseconds left when observed; null for a lock without expiry.
    #[serde(default)]
    lease_ms: Option<u64>,
    /// When the lock expires by itself; null for a lock without expiry.
    #[serde(default)]
    expires_at: Option<Timestamp>,
}

impl utoipa::PartialSchema for Lease {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        LeaseShape::schema()
    }
}

impl ToSchema for Lease {}

impl From<LeaseShape> for Lease {
    fn from(shape: LeaseShape) -> Self {
        match (shape.expires_at, shape.lease_ms) {
            (Some(at), left_ms) => Self::Expires {
                at,
                left_ms: left_ms.unwrap_or(0),
            },
            (None, _) => Self::Never,
        }
    }
}

impl From<Lease> for LeaseShape {
    fn from(lease: Lease) -> Self {
        match lease {
            Lease::Expires { at, left_ms } => Self {
                lease_ms: Some(left_ms),
                expires_at: Some(at),
            },
            Lease::Never => Self {
                lease_ms: None,
                expires_at: None,
            },
        }
    }
}

impl Lease {
    /// A lease that ends at `at`, seen at `observed_at`.
    pub fn until(at: Timestamp, observed_at: Timestamp) -> Self {
        Self::Expires {
            at,
            left_ms: u64::try_from(at.millis_since(observed_at)).unwrap_or(0),
        }
    }

    /// Milliseconds left at `now`, 0 once it is over; nothing for a lock that never expires.
    pub fn remaining_ms(self, now: Timestamp) -> Option<u64> {
        match self {
            Self::Expires { at, .. } => Some(u64::try_from(at.millis_since(now)).unwrap_or(0)),
            Self::Never => None,
        }
    }

    /// The same on a clock that was set by so many milliseconds.
    pub fn shifted(self, ms: i64) -> Self {
        match self {
            Self::Expires { at, left_ms } => Self::Expires {
                at: at.plus_millis(ms),
                left_ms,
            },
            Self::Never => Self::Never,
        }
    }

    /// When it ends; nothing for a lock that never expires.
    pub fn expires_at(self) -> Option<Timestamp> {
        match self {
            Self::Expires { at, .. } => Some(at),
            Self::Never => None,
        }
    }

    /// The one that ends later is the greater; never is the greatest.
    pub fn later(&self, other: &Self) -> Ordering {
        match (self.expires_at(), other.expires_at()) {
            (Some(mine), Some(theirs)) => mine.cmp(&theirs),
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (None, None) => Ordering::Equal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_without_end_is_null_and_comes_back() {
        assert_eq!(
            serde_json::to_string(&Lease::Never).unwrap(),
            r#"{"lease_ms":null,"expires_at":null}"#
        );
        assert_eq!(serde_json::from_str::<Lease>("{}").unwrap(), Lease::Never);
    }
}
